"""A lock that is held from outside: those who need it are told to come again, all others are answered meanwhile."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg
import httpx2
import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.store import LOCK_HOST
from openslot.domains.event_types import operations as event_types
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime, Work
from openslot.platform.routing import post
from tests.support.live import connect, serving
from tests.support.parts import how_many
from tests.support.races import iso, workday

CONNECTIONS = 6
CROWD = 30
BOOKED, RACED = how_many(60), how_many(50)
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'"
STUCK = """
select count(*) from pg_stat_activity
where datname = current_database() and (state = 'idle in transaction' or wait_event = 'PgSleep')"""
UNAVAILABLE = {"error": "The service is not available right now"}


class Host(Struct, frozen=True):
    """Somebody whose time can be booked."""

    user: User
    event_type_id: str
    bearer: dict[str, str]


async def welcome(runtime: Runtime, name: str) -> Host:
    """Open an account with a key and something to book."""
    async with runtime.transaction(OPERATOR) as work:
        user = await people.welcome_user(work, UserWanted(email=f"{name}@host.example", name=name, plan=Plan.PRO))
        key, _ = await access.create_api_key(work, user, name="lock")
        (event_type, *_), _ = await event_types.list_event_types(work, user)
        return Host(user, str(event_type.id), {"Authorization": f"Bearer {key}"})


@asynccontextmanager
async def locked(settings: Settings, *hosts: Host) -> AsyncIterator[None]:
    """Hold the locks of these hosts from outside, as a psql does that somebody has left open."""
    outside = await asyncpg.connect(settings.database_url)
    held = outside.transaction()
    await held.start()
    for host in hosts:
        await outside.fetch(f"select {LOCK_HOST} from users u where u.id = $1", host.user.id)
    try:
        yield
    finally:
        await held.rollback()
        await outside.close()


def wish(host: Host, number: int, **changes: Any) -> dict[str, Any]:
    """Ask for one of the host's starts, every number another one."""
    start = workday(number // 16) + timedelta(minutes=30 * (number % 16))
    return {
        "startTime": iso(start),
        "inviteeName": "Gus",
        "inviteeEmail": f"gus{number}@guest.example",
        "inviteeTimezone": "UTC",
        **changes,
    }


async def book(client: httpx2.AsyncClient, host: Host, number: int) -> httpx2.Response:
    """Book by the host's key, or as everyone can."""
    if number % 2:
        return await client.post(
            "/api/v1/bookings", json=wish(host, number, eventTypeSlug="30min"), headers=host.bearer
        )
    return await client.post("/api/bookings", json=wish(host, number, eventTypeId=host.event_type_id))


async def use(client: httpx2.AsyncClient, host: Host, number: int) -> list[int]:
    """Do what a tenant does all day."""
    answers = [
        await client.get("/api/v1/me", headers=host.bearer),
        await client.get("/api/v1/bookings", headers=host.bearer),
        await book(client, host, number),
        await client.get("/readyz"),
    ]
    worker_is_missing = answers[-1].json()["database"] == "ok"
    return [answer.status_code for answer in answers[:-1]] + [200 if worker_is_missing else answers[-1].status_code]


@pytest.fixture
def narrow(settings: Settings) -> Settings:
    """Few connections, short waits, and no limits in the way."""
    return replace(
        settings,
        database_connections=CONNECTIONS,
        database_wait_seconds=2,
        database_statement_seconds=4,
        limit_key=10_000,
        limit_public=10_000,
    )


@asynccontextmanager
async def serve(narrow: Settings, **more: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve, with a client that may ask many things at once."""
    limits = httpx2.Limits(max_connections=300)
    async with (
        serving(create_app(narrow, **more)) as url,
        connect(url, timeout=60, limits=limits) as client,
    ):
        yield client


@pytest.mark.parametrize(
    "stuck_hosts", [pytest.param(1, marks=pytest.mark.rest("waits for locks as the other one does")), CONNECTIONS]
)
async def test_a_held_lock_hurts_only_those_who_need_it(
    narrow: Settings, runtime: Runtime, *, stuck_hosts: int
) -> None:
    stuck = [await welcome(runtime, f"stuck{number}") for number in range(stuck_hosts)]
    other = await welcome(runtime, "other")
    waiting, used = [], list[int]()
    async with serve(narrow) as client:
        async with locked(narrow, *stuck):
            crowd = [
                asyncio.create_task(book(client, stuck[number % stuck_hosts], number // stuck_hosts))
                for number in range(CROWD)
            ]
            number = 0
            while not all(task.done() for task in crowd):
                used += await use(client, other, number)
                waiting.append(await runtime.pool.fetchval(WAITING))
                number += 1
                await asyncio.sleep(0.25)
            refused = [await task for task in crowd]
        after = await asyncio.gather(*(book(client, host, 70) for host in stuck))

    assert set(used) == {200}
    assert 0 < max(waiting) <= min(2 * stuck_hosts, CONNECTIONS // 2)
    assert {(answer.status_code, answer.headers["retry-after"]) for answer in refused} == {(503, "2")}
    assert {answer.headers["x-error-code"] for answer in refused} == {"service_unavailable"}
    assert refused[0].json() == UNAVAILABLE
    assert {answer.status_code for answer in after} == {200}


@pytest.mark.rest("lets many write at once")
async def test_a_crowd_at_one_host_is_served_to_the_last_with_the_defaults(
    settings: Settings, runtime: Runtime
) -> None:
    host = await welcome(runtime, "popular")
    roomy = replace(settings, limit_key=10_000, limit_public=10_000)
    async with serve(roomy) as client:
        booked = await asyncio.gather(*(book(client, host, number) for number in range(BOOKED)))
        same = [wish(host, 70, eventTypeId=host.event_type_id) for _ in range(RACED)]
        raced = await asyncio.gather(*(client.post("/api/bookings", json=each) for each in same))

    assert Counter(answer.status_code for answer in booked) == {200: BOOKED}
    assert Counter(answer.status_code for answer in raced) == {200: 1, 409: RACED - 1}


async def test_who_has_waited_in_line_books_once_under_one_idempotency_key(narrow: Settings, runtime: Runtime) -> None:
    host = await welcome(runtime, "popular")
    headers = {**host.bearer, "Idempotency-Key": "once"}
    async with serve(replace(narrow, database_wait_seconds=30)) as client:
        async with locked(narrow, host):
            body = wish(host, 1, eventTypeSlug="30min")
            first = asyncio.create_task(client.post("/api/v1/bookings", json=body, headers=headers))
            async with asyncio.timeout(30):
                while not await runtime.pool.fetchval(WAITING):
                    await asyncio.sleep(0.01)
            meanwhile = await client.post("/api/v1/bookings", json=body, headers=headers)
        made = await first
        again = await client.post("/api/v1/bookings", json=body, headers=headers)

    assert (made.status_code, meanwhile.status_code, again.status_code) == (200, 409, 200)
    assert meanwhile.headers["x-error-code"] == "idempotency_key_in_use"
    assert again.headers["idempotent-replayed"] == "true"
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1


@pytest.mark.rest("waits for seconds")
async def test_a_table_that_is_locked_from_outside_is_503_and_comes_back(narrow: Settings, runtime: Runtime) -> None:
    host = await welcome(runtime, "host")
    outside = await asyncpg.connect(narrow.database_url)
    async with serve(narrow) as client:
        async with outside.transaction():
            await outside.execute("lock table bookings in access exclusive mode")
            refused = await client.get("/api/v1/bookings", headers=host.bearer)
        after = await client.get("/api/v1/bookings", headers=host.bearer)
    await outside.close()

    assert (refused.status_code, refused.json(), refused.headers["retry-after"]) == (503, UNAVAILABLE, "2")
    assert after.status_code == 200


@post("/api/v1/probe/sleep")
async def sleep_in_database(work: Work) -> dict[str, bool]:
    """Run a statement that takes too long."""
    await work.db.execute("select pg_sleep(60)")
    return {"slept": True}


@post("/api/v1/probe/idle")
async def sleep_in_transaction(work: Work) -> dict[str, bool]:
    """Hold a host's lock and do nothing with it."""
    await work.db.execute(f"select {LOCK_HOST} from users u")
    await asyncio.sleep(5)
    await work.db.execute("select 1")
    return {"slept": True}


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize(
    "probe",
    [
        sleep_in_database,
        sleep_in_transaction,
    ],
    ids=["a slow statement", "an idle one"],
)
async def test_a_transaction_that_takes_too_long_is_503_and_lets_go(
    narrow: Settings, runtime: Runtime, probe: Any
) -> None:
    host = await welcome(runtime, "host")
    # Longer than any statement of a booking takes on a loaded machine, and shorter than what the probes do.
    hasty = replace(narrow, database_statement_seconds=3, database_wait_seconds=20)
    async with serve(hasty, more_routes=[probe]) as client:
        path = "/api/v1/probe/sleep" if probe is sleep_in_database else "/api/v1/probe/idle"
        stuck = asyncio.create_task(client.post(path, json={}, headers=host.bearer))
        while not await runtime.pool.fetchval(STUCK):
            await asyncio.sleep(0.05)
        # The one that is stuck is ended so much earlier than the booking would be, which waits for its lock.
        await asyncio.sleep(1)
        booked = await book(client, host, 1)
        refused = await stuck

    assert booked.status_code == 200
    assert (refused.status_code, refused.json(), refused.headers["retry-after"]) == (503, UNAVAILABLE, "2")
