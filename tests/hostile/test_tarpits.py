"""Endpoints that accept and never answer: a real worker, real sockets, and nobody else who waits for them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from ipaddress import ip_network

import pytest
from msgspec.structs import replace

from openslot.domains.webhooks import reactions
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from openslot.platform.jobs import places
from openslot.runtime import open_runtime
from tests.hostile.support import add_owner, happen, until, working
from tests.support.parts import LONG
from tests.support.receiver import receiving

pytestmark = pytest.mark.rest("many tarpits: tests/domains/webhooks/test_holding_up.py has one in make test")

TIMED_OUT = "select count(*) from webhook_deliveries where error is not null"

PLACES, TARPITS_EACH, HEALTHY_EVENTS = (24, 6, 40) if LONG else (12, 3, 20)


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """Open a runtime with few places, on the real clock, that may send to loopback."""
    allowed = Networks((ip_network("127.0.0.0/8"),))
    async with open_runtime(replace(settings, outbound_allow=allowed, worker_concurrency=PLACES)) as opened:
        yield opened


class Tarpit:
    """A server that takes every request and never answers."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: Counter[str] = Counter()
        self.inside = self.most_inside = 0

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep one request waiting until the other side gives up."""
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        with suppress(OSError):
            self.asked[(await reader.readline()).split()[1].decode()] += 1
            await reader.read()
        self.inside -= 1
        writer.transport.abort()


@asynccontextmanager
async def besieged(runtime: Runtime, *, owners: int) -> AsyncIterator[Tarpit]:
    """Give many owners many endpoints that hang, and let two things happen to each owner."""
    pit = Tarpit()
    server = await asyncio.start_server(pit.take, "127.0.0.1", 0)
    pit.port = server.sockets[0].getsockname()[1]
    for number in range(owners):
        urls = (f"http://127.0.0.1:{pit.port}/{number}/{each}" for each in range(TARPITS_EACH))
        owner = await add_owner(runtime, f"hostile{number}", *urls)
        for event in range(2):
            await happen(runtime, owner, event)
    try:
        yield pit
    finally:
        server.close()


@pytest.fixture
def endless_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a tarpit hang longer than the slowest machine takes for a test."""
    monkeypatch.setattr(reactions, "ANSWER_WITHIN", timedelta(minutes=10))


@pytest.mark.usefixtures("endless_patience")
async def test_deliveries_to_one_who_answers_arrive_while_as_many_tarpits_hang_as_can(runtime: Runtime) -> None:
    async with receiving() as healthy, working(runtime):
        owner = await add_owner(runtime, "healthy", healthy.url)
        await happen(runtime, owner, 0)
        await until(lambda: len(healthy.got) == 1)
        async with besieged(runtime, owners=PLACES) as pit:
            await until(lambda: pit.inside == PLACES // 2)
            for number in range(1, HEALTHY_EVENTS):
                await happen(runtime, owner, number)
            await until(lambda: len(healthy.got) == HEALTHY_EVENTS)

            assert await runtime.pool.fetchval(TIMED_OUT) == 0, "every tarpit that was asked still hangs"
            assert pit.most_inside == PLACES // 2


@pytest.mark.usefixtures("endless_patience")
async def test_the_first_delivery_to_a_new_endpoint_does_not_wait_for_tarpits_of_others(runtime: Runtime) -> None:
    hostile = PLACES // 2 - 1
    async with besieged(runtime, owners=hostile) as pit, receiving() as healthy, working(runtime):
        await until(lambda: pit.inside == hostile)
        owner = await add_owner(runtime, "newcomer", healthy.url)
        for number in range(HEALTHY_EVENTS):
            await happen(runtime, owner, number)
        await until(lambda: len(healthy.got) == HEALTHY_EVENTS)

        assert await runtime.pool.fetchval(TIMED_OUT) == 0, "every tarpit that was asked still hangs"
        assert pit.inside == hostile, "each owner has one place for all of its tarpits"


async def test_every_tarpit_has_its_try_and_those_that_wait_lose_none(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reactions, "ANSWER_WITHIN", timedelta(milliseconds=300))
    monkeypatch.setattr(places, "HANGING_GUESS", timedelta(milliseconds=300))
    async with besieged(runtime, owners=4) as pit, working(runtime):
        await until(lambda: len(pit.asked) == 4 * TARPITS_EACH)
        # Whoever was turned away has not lost a try by it.
        tries = """
            select count(*) from effects f where reaction = 'webhooks.send' and state = 'queued' and attempts <>
                (select count(*) from webhook_deliveries d where d.effect_id = f.id)"""
        assert await runtime.pool.fetchval(tries) == 0
