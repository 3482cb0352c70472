"""Every pair of those who change a host's time, at the same moment and on the same time: no booking loses its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import httpx2
import pytest

from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from tests.domains.bookings import rounds, writers
from tests.domains.bookings.rounds import PARTS, WEEKS, Need, Round, Writer, find_faults, meet, prepare
from tests.domains.bookings.writers import (
    ALL,
    BOOKERS,
    WRITERS,
    book,
    book_with_hold,
    cancel,
    cancel_all,
    confirm,
    drop,
    edit,
    hold,
    leave,
    reschedule,
)
from tests.support.clocks import real_clock as clock
from tests.support.live import connect
from tests.support.parts import LONG, how_many
from tests.support.races import WebPair, find_disorder, split_pairs
from tests.support.wait_list import forget_offers

__all__ = ["clock"]

# Rounds of each pair, and pairs in a test: what is looked through after a pair grows with the rounds before it.
ROUNDS, PAIRS = (4, 100) if LONG else (1, 150)
ANSWERS = {200, 303, 400, 404, 409, 410}
OF_GROUPS = [each for each, needs in WRITERS.items() if not needs & {Need.SERIES, Need.WEEKS}]
OF_DURATIONS = [each for each, needs in WRITERS.items() if needs <= {Need.HOLD, Need.BOOKING, Need.TEAM}]
# Each of these meets each other one in `make test`.
CORE: list[Writer] = [book, book_with_hold, hold, drop, writers.expire, reschedule, cancel, edit, leave]
KINDS: dict[str, tuple[list[Writer], dict[str, Any]]] = {
    "core": (CORE, {}),
    "single": (list(WRITERS), {}),
    "group": (OF_GROUPS, {"seats": 2}),
    "durations": (OF_DURATIONS, {"durations": (15, 30, 60)}),
    "one address": (list(BOOKERS), {"is_limited": True}),
}
NOT_CORE = pytest.mark.rest("every pair, not only those of the core writers")
TESTED = [
    pytest.param(changes, pairs, id=f"{kind} {part}", marks=() if kind == "core" else NOT_CORE)
    for kind, (of_kind, changes) in KINDS.items()
    for part, pairs in split_pairs(of_kind, PAIRS).items()
]


@pytest.fixture
def settings(web_pair: WebPair) -> Settings:
    """Settings of the two web processes."""
    return web_pair.settings


@pytest.fixture
async def clients(web_pair: WebPair) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """One client for each of two web processes."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connect(url, timeout=60)) for url in web_pair.urls]


async def prepare_for(runtime: Runtime, clients: list[httpx2.AsyncClient], *pair: Writer, **kind: Any) -> Round:
    return await prepare(runtime, clients, set(chain.from_iterable(WRITERS[each] for each in pair)), **kind)


@pytest.mark.spread
@pytest.mark.parametrize(("changes", "pairs"), TESTED)
async def test_no_pair_of_writers_costs_a_booking_its_time(
    runtime: Runtime,
    clients: list[httpx2.AsyncClient],
    changes: dict[str, Any],
    pairs: list[tuple[Writer, Writer]],
    postgres_log: Path,
) -> None:
    for one, other in pairs:
        made = await asyncio.gather(*(prepare_for(runtime, clients, one, other, **changes) for _ in range(ROUNDS)))
        statuses = [await meet(at, one, other) for at in made]

        names = f"{one.__name__} and {other.__name__} answered {statuses}"
        assert set(chain.from_iterable(statuses)) <= ANSWERS, names
        assert await find_faults(runtime) == {}, names
        # So that the jobs of later pairs have little to do.
        await forget_offers(runtime)
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


@pytest.mark.parametrize("other", [confirm, writers.decline, writers.withdraw, writers.lapse])
async def test_of_two_answers_one_counts(runtime: Runtime, clients: list[httpx2.AsyncClient], other: Writer) -> None:
    for _ in range(how_many(12, long=48)):
        at = await prepare_for(runtime, clients, confirm, other)
        await meet(at, confirm, other)

        types = await runtime.pool.fetch("select type from events where subject_id = $1 order by no", at.asked.id)
        assert len(types) == 2, types
        assert types[0]["type"] == "booking.requested"
        told = types[1]["type"] == "booking.created"
        status = await runtime.pool.fetchval("select status from bookings where id = $1", at.asked.id)
        assert (status == "CONFIRMED") is told
    assert await find_disorder(runtime.pool) == {}


@pytest.mark.rest("lets several write at once, as the pairs of writers do")
@pytest.mark.parametrize("send", [book_with_hold, writers.book_by_form], ids=["api", "form"])
@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_a_form_that_is_sent_while_its_tab_closes_keeps_its_slot(
    runtime: Runtime, clients: list[httpx2.AsyncClient], seats: int, send: Writer
) -> None:
    for _ in range(how_many(24, long=96)):
        at = await prepare_for(runtime, clients, send, drop, seats=seats)
        booked, dropped = await meet(at, send, drop)

        assert booked in {200, 303}
        assert dropped in {200, 404}
        if seats == 1:
            assert await at.send("POST", "/api/bookings", at.wish(at.start)) == 409
    assert await find_disorder(runtime.pool) == {}


BESIDE_ACCEPT = ("expire_offer", "decline_offer", "leave_list", "book", "cancel")


@pytest.mark.rest("lets several write at once, as the pairs of writers do")
@pytest.mark.parametrize("other", BESIDE_ACCEPT)
async def test_whoever_accepts_in_time_has_the_time(
    runtime: Runtime, clients: list[httpx2.AsyncClient], other: str
) -> None:
    beside: Writer = getattr(writers, other)
    for _ in range(how_many(4, long=16)):
        at = await prepare_for(runtime, clients, writers.accept, beside)
        accepted, _ = await meet(at, writers.accept, beside)
        # The minute's job leaves a host alone who is locked; its next run hands on what is free.
        await writers.come_by(at)
        claim = "select kind from claims where host_no = $1 and active and starts_at = $2"
        kind = await runtime.pool.fetchval(claim, at.host.no, at.start)
        state = await runtime.pool.fetchval("select state from wait_list_offers where entry_id = $1", at.waiting[0])
        # Who leaves after that is forgotten, and keeps the booking.
        assert state in ({"accepted", None} if accepted == 200 else {"declined", "expired", "offered", None})
        assert kind == ("booking" if accepted == 200 else "offer"), (accepted, kind)
    assert await find_faults(runtime) == {}


async def test_the_last_use_is_one_booking(runtime: Runtime, clients: list[httpx2.AsyncClient]) -> None:
    for _ in range(ROUNDS * 8):
        at = await prepare(runtime, clients, {Need.LINK})
        starts = [at.start + timedelta(hours=number) for number in range(3)]
        made = await asyncio.gather(
            *(rounds.book(at, at.offer, each, at.link) for each in starts), return_exceptions=True
        )
        codes = [each.code for each in made if isinstance(each, Refusal)]
        assert (codes, sum(isinstance(each, Booking) for each in made)) == (["link_used_up"] * 2, 1)
    assert await find_disorder(runtime.pool) == {}


async def test_of_many_series_that_overlap_one_has_every_week(
    runtime: Runtime, clients: list[httpx2.AsyncClient]
) -> None:
    for _ in range(how_many(4, long=16)):
        at = await prepare(runtime, clients, {Need.WEEKS})
        wishes = [at.wish(at.start, **ALL) for _ in range(8)]
        statuses = await asyncio.gather(*(at.send("POST", "/api/bookings", wish) for wish in wishes))

        assert sorted(statuses) == [200, *[409] * 7]
        assert await runtime.pool.fetchval(PARTS, WEEKS) == 0
    assert await find_disorder(runtime.pool) == {}


async def test_a_series_that_is_cancelled_twice_at_once_is_told_once(
    runtime: Runtime, clients: list[httpx2.AsyncClient]
) -> None:
    for _ in range(ROUNDS * 2):
        at = await prepare(runtime, clients, {Need.SERIES})
        assert await meet(at, cancel_all, cancel_all, cancel_all) == [200] * 3
        ids = [each.id for each in at.weekly]
        told = await runtime.pool.fetchval(
            "select count(*) from events where type = 'booking.cancelled' and subject_id = any($1)", ids
        )
        assert told == WEEKS


async def test_a_booking_that_is_cancelled_alone_is_not_cancelled_again_with_its_series(
    runtime: Runtime, clients: list[httpx2.AsyncClient]
) -> None:
    at = await prepare(runtime, clients, {Need.SERIES})
    async with runtime.transaction(PUBLIC) as work:
        alone = await bookings.cancel_booking(work, BookingRef(at.weekly[1].id, None), reason="Alone")
    await cancel_all(at)
    async with runtime.transaction(PUBLIC) as work:
        now = (await bookings.get_booking(work, BookingRef(alone.id, None))).booking
    assert (now.sequence, now.cancel_reason) == (1, "Alone")
