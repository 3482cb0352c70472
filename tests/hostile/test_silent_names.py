"""Names that are never answered: a real worker, a real name server, and nobody else who waits for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import CalDavWanted, IcsWanted
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.oidc.models import Provider
from openslot.domains.oidc.provider import get_provider_keys, get_provider_metadata
from openslot.domains.webhooks import reactions
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.outbound import RequestLimits, Resolver, lookups, resolver
from openslot.platform.core.outbound import resolver as resolver_module
from openslot.platform.core.work import Runtime, system_clock
from openslot.runtime import open_runtime
from openslot.vendors import ics_feed
from openslot.vendors.caldav import client as dav_client
from tests.hostile.support import add_owner, happen, until, working
from tests.support.feeds import publishing
from tests.support.name_server import NameServer, serving_names
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, providing
from tests.support.radicale import PASSWORD, USER, radicale_in
from tests.support.receiver import receiving

HOSTILE_OWNERS, NAMES_EACH, HEALTHY_EVENTS = 26, 3, 20
# With these each owner may try two new endpoints at once, and a few places for new endpoints are left.
PLACES = 120
HEALTHY = "hooks.harbor.example"
ENDLESS = timedelta(minutes=10)
FEED = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//harbor//EN\r\nEND:VCALENDAR\r\n"


@pytest.fixture
def endless_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a silent name hang longer than the slowest machine takes for a test."""
    for module in (resolver, resolver_module):
        monkeypatch.setattr(module, "LOOK_UP_SECONDS", ENDLESS.total_seconds())
    for module in (dav_client, ics_feed):
        monkeypatch.setattr(module, "LIMITS", RequestLimits(connect_within=ENDLESS, within=ENDLESS))
    monkeypatch.setattr(calendars, "CONNECT_WITHIN", ENDLESS)
    monkeypatch.setattr(reactions, "CONNECT_WITHIN", ENDLESS)
    monkeypatch.setattr(reactions, "ANSWER_WITHIN", ENDLESS)


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    """Serve names that lead to loopback."""
    async with serving_names() as server:
        server.addresses[HEALTHY] = ["127.0.0.1"]
        yield server


@pytest.fixture
async def runtime(settings: Settings, names: NameServer) -> AsyncIterator[Runtime]:
    """Open a runtime on the real clock that asks the name server, and may send to loopback."""
    allowed = Networks((ip_network("127.0.0.0/8"),))
    async with open_runtime(
        replace(settings, outbound_allow=allowed, worker_concurrency=PLACES), fakes={Resolver: names.resolver()}
    ) as opened:
        yield opened


def count_silent(names: NameServer) -> int:
    return len({name for name in names.asked if name.endswith("silent.example")})


async def besiege(runtime: Runtime) -> None:
    """Give many owners endpoints with names that are never answered, and let things happen to each."""
    for number in range(HOSTILE_OWNERS):
        urls = (f"http://{each}.owner{number}.silent.example:8000/" for each in range(NAMES_EACH))
        owner = await add_owner(runtime, f"hostile{number}", *urls)
        for event in range(2):
            await happen(runtime, owner, event)


@pytest.mark.rest("besieges a worker for seconds")
@pytest.mark.usefixtures("endless_patience")
async def test_all_deliveries_of_another_arrive_while_many_owners_names_are_never_answered(
    runtime: Runtime, names: NameServer
) -> None:
    async with receiving() as healthy, working(runtime):
        await besiege(runtime)
        # All of them hang on a quick machine; on a slow one, as many as have places once their owners are suspected.
        await until(lambda: count_silent(names) >= PLACES // 4)
        owner = await add_owner(runtime, "healthy", f"http://{HEALTHY}:{healthy.port}/hook")
        for number in range(HEALTHY_EVENTS):
            await happen(runtime, owner, number)
        await until(lambda: len(healthy.got) == HEALTHY_EVENTS)

    assert await runtime.pool.fetchval("select count(*) from webhook_deliveries where error is not null") == 0
    failing = "select count(*) from webhook_endpoints where failing_since is not null or state <> 'active'"
    assert await runtime.pool.fetchval(failing) == 0


async def test_a_silent_name_is_a_failure_of_its_own_endpoint_and_is_asked_for_rarely(
    runtime: Runtime, names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "LOOK_UP_SECONDS", 0.2)
    monkeypatch.setattr(lookups, "FIRST_FAILURE_SECONDS", 600.0)
    monkeypatch.setattr(lookups, "LONGEST_FAILURE_SECONDS", 600.0)
    failures = "select count(*) from webhook_deliveries where error like 'outbound.unresolved%'"
    async with working(runtime):
        owner = await add_owner(runtime, "silent", "http://hooks.silent.example:8000/")
        for number in range(5):
            await happen(runtime, owner, number)
        async with asyncio.timeout(60):
            while await runtime.pool.fetchval(failures) < 5:
                await asyncio.sleep(0.05)
    assert names.kinds == {"A": 1, "AAAA": 1}


@asynccontextmanager
async def two_hanging(runtime: Runtime, names: NameServer) -> AsyncIterator[None]:
    """Have two users connect many calendars at once whose names are never answered."""
    users = [await add_owner(runtime, f"hostile{number}") for number in range(2)]
    tasks = [
        asyncio.create_task(calendars.connect_calendar(runtime.work(OPERATOR), user, wanted))
        for number, user in enumerate(users)
        for each in range(20)
        for wanted in (
            IcsWanted(f"http://feed{each}.user{number}.silent.example/"),
            CalDavWanted(address=f"http://dav{each}.user{number}.silent.example/", username="a", password="b"),
        )
    ]
    try:
        await until(lambda: count_silent(names) >= 4)
        yield
        assert not any(task.done() for task in tasks)
        assert count_silent(names) <= 4, "each user has two look-ups at a time"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def third(runtime: Runtime) -> User:
    return await add_owner(runtime, "third")


@pytest.mark.usefixtures("endless_patience")
async def test_a_calendar_is_connected_while_those_of_two_others_hang(
    runtime: Runtime, names: NameServer, third: User, tmp_path: Path
) -> None:
    names.addresses["dav.harbor.example"] = ["127.0.0.1"]
    with radicale_in(tmp_path) as radicale:
        await radicale.add_calendar("Work")
        address = f"http://dav.harbor.example:{radicale.port}/"
        async with two_hanging(runtime, names), asyncio.timeout(60):
            wanted = CalDavWanted(address=address, username=USER, password=PASSWORD)
            connection = await calendars.connect_calendar(runtime.work(OPERATOR), third, wanted)
            assert [each.name for each in connection.calendars] == ["Work"]
            assert await sync_connection(runtime, connection.id) is None


@pytest.mark.usefixtures("endless_patience")
async def test_a_feed_is_connected_and_read_while_those_of_two_others_hang(
    runtime: Runtime, names: NameServer, third: User
) -> None:
    names.addresses["feeds.harbor.example"] = ["127.0.0.1"]
    async with publishing(FEED) as feed, two_hanging(runtime, names), asyncio.timeout(60):
        wanted = IcsWanted(feed.url.replace("127.0.0.1", "feeds.harbor.example"))
        connection = await calendars.connect_calendar(runtime.work(OPERATOR), third, wanted)
        assert await sync_connection(runtime, connection.id) is None


@pytest.mark.usefixtures("endless_patience")
async def test_the_identity_provider_is_read_while_calendars_of_two_users_hang(
    runtime: Runtime, names: NameServer
) -> None:
    names.addresses["login.harbor.example"] = ["127.0.0.1"]
    async with providing(system_clock) as fake, two_hanging(runtime, names), asyncio.timeout(60):
        fake.host = "login.harbor.example"
        provider = Provider(
            issuer=fake.issuer, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, redirect_uri="http://127.0.0.1/"
        )
        metadata = await get_provider_metadata(runtime, provider)
        assert len(await get_provider_keys(runtime, metadata)) == 1
