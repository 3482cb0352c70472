"""How long events are kept: whole, with all that belongs to them, and never with a gap that nobody is told of."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.people import operations as people
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointRef, Replay
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.moments import Span
from openslot.platform.core.retention import delete_events, find_old_events
from openslot.platform.core.work import Runtime
from openslot.platform.jobs import housekeeping
from openslot.platform.jobs.periodic import run_job
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.domains.webhooks.conftest import Add, Happen, live_through
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.receiver import Receiver

TIDY_EVENTS, TIDY_WEBHOOKS = (
    next(job for job in WIRING.periodic if job.name == name) for name in ("events.tidy", "webhooks.tidy")
)
BELONGINGS = ("effects", "webhook_messages")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Enough room for tests that send much."""
    return replace(settings, limit_key=100_000)


class Reader:
    """Someone who reads the feed over HTTP."""

    def __init__(self, client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
        self._client = client
        self._headers = headers

    async def ask(self, after: str | None = None, limit: int = 100) -> httpx2.Response:
        """Ask for a page."""
        query = f"limit={limit}&after={after}" if after else f"limit={limit}"
        return await self._client.get(f"/api/v1/events?{query}", headers=self._headers)

    async def read(self, after: str | None = None, limit: int = 100) -> Any:
        """Read a page."""
        answer = await self.ask(after, limit)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def reader(client: httpx2.AsyncClient, bearer: dict[str, str]) -> Reader:
    """Someone who reads the host's feed."""
    return Reader(client, bearer)


async def count(runtime: Runtime, table: str) -> int:
    found: int = await runtime.pool.fetchval(f"select count(*) from {table}")
    return found


async def public_events(runtime: Runtime) -> list[UUID]:
    rows = await runtime.pool.fetch("select id from events where public is not null order by no")
    return [row["id"] for row in rows]


async def test_an_old_event_goes_with_all_that_belongs_to_it_and_a_young_one_stays(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    clock.pass_time(days=60)
    await happen()
    await work_off(runtime, clock)
    old, young = await public_events(runtime)
    clock.pass_time(days=29)
    await run_job(runtime, TIDY_WEBHOOKS)
    assert await run_job(runtime, TIDY_EVENTS) == "0 events removed"

    clock.pass_time(days=2)
    assert await run_job(runtime, TIDY_EVENTS) == "2 events removed", "the account's own event too"
    assert await public_events(runtime) == [young]
    for table in BELONGINGS:
        assert await runtime.pool.fetchval(f"select count(*) from {table} where event_id = $1", old) == 0
        assert await runtime.pool.fetchval(f"select count(*) from {table} where event_id = $1", young) > 0
    assert await run_job(runtime, TIDY_EVENTS) == "0 events removed"


async def test_the_operator_chooses_for_how_long(settings: Settings, clock: MovingClock, user: User) -> None:
    async with open_runtime(replace(settings, keep_events_days=30), clock=clock) as runtime:
        clock.pass_time(days=29)
        assert await run_job(runtime, TIDY_EVENTS) == "0 events removed"
        clock.pass_time(days=2)
        assert await run_job(runtime, TIDY_EVENTS) == "1 events removed"
    assert user.email == "mara@lindqvist.example"


@pytest.mark.parametrize("state", ["waiting", "queued", "running"])
async def test_an_event_with_something_left_to_do_is_kept(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen, state: str
) -> None:
    await add(receiver.url)
    await happen()
    await runtime.pool.execute("update effects set state = $1", state)
    clock.pass_time(days=1000)
    await run_job(runtime, TIDY_EVENTS)
    assert await count(runtime, "effects") == len(await public_events(runtime)) == 1

    await runtime.pool.execute("update effects set state = 'dead', finished_at = now()")
    await run_job(runtime, TIDY_EVENTS)
    assert await count(runtime, "effects") == len(await public_events(runtime)) == 0


async def test_an_event_is_kept_while_a_delivery_of_it_is_in_the_log(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    clock.pass_time(days=89)
    async with runtime.transaction(OPERATOR) as work:
        assert await webhooks.replay_events(work, EndpointRef(endpoint.id), Span(None, None), Replay.ALL) == 1
    await work_off(runtime, clock)
    assert len(receiver.got) == 2

    clock.pass_time(days=29)
    for job in (TIDY_WEBHOOKS, TIDY_EVENTS):
        await run_job(runtime, job)
    assert (await count(runtime, "webhook_deliveries"), len(await public_events(runtime))) == (1, 1)
    clock.pass_time(days=2)
    for job in (TIDY_WEBHOOKS, TIDY_EVENTS):
        await run_job(runtime, job)
    assert (await count(runtime, "webhook_deliveries"), len(await public_events(runtime))) == (0, 0)


async def test_who_adds_something_to_an_old_event_at_this_moment_keeps_it(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    await runtime.pool.execute("delete from webhook_deliveries")
    clock.pass_time(days=1000)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.replay_events(work, EndpointRef(endpoint.id), Span(None, None), Replay.ALL)
        async with asyncio.timeout(60):
            assert await run_job(runtime, TIDY_EVENTS) == "1 events removed", "the account's own, without waiting"
    await run_job(runtime, TIDY_EVENTS)

    await work_off(runtime, clock)
    assert len(receiver.got) == 2


async def test_what_was_added_to_an_event_since_it_was_looked_at_keeps_it(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen
) -> None:
    endpoint, _ = await add(receiver.url)
    await happen()
    await work_off(runtime, clock)
    await runtime.pool.execute("delete from webhook_deliveries")
    clock.pass_time(days=1000)
    uses = runtime.wiring.event_uses
    old = await find_old_events(runtime.pool, uses=uses, before=clock.now, behind=0, limit=10)
    assert (len(old.ids), old.next) == (2, None)
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.replay_events(work, EndpointRef(endpoint.id), Span(None, None), Replay.ALL)

    async with runtime.transaction(OPERATOR) as work:
        assert await delete_events(work.db, old.ids, uses=uses) == 1
    assert len(await public_events(runtime)) == 1


@pytest.mark.own_database
async def test_many_are_removed_a_few_at_a_time(
    runtime: Runtime,
    clock: MovingClock,
    receiver: Receiver,
    add: Add,
    happen: Happen,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(housekeeping, "EVENTS", 3)
    await add(receiver.url)
    for _ in range(10):
        await happen()
    await runtime.pool.execute("update effects set state = 'done'")
    # A whole batch of them is still needed.
    await runtime.pool.execute(
        "update effects f set state = 'waiting' from events v where v.id = f.event_id and v.no between 4 and 6"
    )
    clock.pass_time(days=100)
    await happen()
    await runtime.pool.execute(
        """create table removals (rows bigint);
        create function note_removal() returns trigger language plpgsql as $$
        begin insert into removals select count(*) from removed; return null; end $$;
        create trigger note after delete on events referencing old table as removed
            for each statement execute function note_removal()"""
    )
    assert await run_job(runtime, TIDY_EVENTS) == "8 events removed"
    sizes = [row["rows"] for row in await runtime.pool.fetch("select rows from removals")]
    assert max(sizes) <= 3
    assert sum(sizes) == 8
    left = await runtime.pool.fetch("select no from events order by no")
    assert [row["no"] for row in left] == [4, 5, 6, 12]


async def test_a_bookings_history_outlives_its_events_and_goes_with_the_booking(
    runtime: Runtime, clock: MovingClock, user: User
) -> None:
    booking_id = await live_through(runtime, user, clock.now + timedelta(days=1, hours=3))
    await runtime.pool.execute("update effects set state = 'done'")
    before = await bookings.list_booking_history(runtime.work(OPERATOR), BookingRef(booking_id, user.id))
    assert [past.type for past in before] == ["booking.created", "booking.rescheduled", "booking.cancelled"]

    clock.pass_time(days=100)
    await run_job(runtime, TIDY_EVENTS)
    assert await public_events(runtime) == []
    assert await bookings.list_booking_history(runtime.work(OPERATOR), BookingRef(booking_id, user.id)) == before

    await runtime.pool.execute("delete from bookings")
    assert await count(runtime, "booking_history") == 0


async def test_events_of_a_booking_that_is_gone_leave_no_history(
    runtime: Runtime, clock: MovingClock, user: User
) -> None:
    await live_through(runtime, user, clock.now + timedelta(days=1, hours=3))
    await runtime.pool.execute("update effects set state = 'done'")
    await runtime.pool.execute("delete from bookings")
    clock.pass_time(days=100)
    await run_job(runtime, TIDY_EVENTS)

    assert (await count(runtime, "events"), await count(runtime, "booking_history")) == (0, 0)


async def let_go(runtime: Runtime) -> None:
    """Finish everything, so that only age decides, and remove what is old."""
    await runtime.pool.execute("update effects set state = 'done'")
    await run_job(runtime, TIDY_EVENTS)


async def test_who_reads_often_enough_misses_nothing_however_old_the_last_event_is(
    runtime: Runtime, clock: MovingClock, happen: Happen, reader: Reader
) -> None:
    for _ in range(3):
        await happen()
    place = (await reader.read())["next"]
    # A quiet year: the events go, the place stays.
    for _ in range(12):
        clock.pass_time(days=30)
        await let_go(runtime)
        assert await reader.read(place) == {"data": [], "next": place, "hasMore": False}
    assert await public_events(runtime) == []

    made = [str((await happen()).id) for _ in range(3)]
    clock.pass_time(days=89)
    await let_go(runtime)
    page = await reader.read(place)
    assert [event["data"]["id"] for event in page["data"]] == made
    assert [event["data"]["id"] for event in (await reader.read())["data"]] == made


async def test_an_event_that_was_committed_late_takes_no_younger_one_out_of_the_feed(
    runtime: Runtime, clock: MovingClock, happen: Happen, reader: Reader
) -> None:
    first = str((await happen()).id)
    clock.pass_time(minutes=-30)
    late = str((await happen()).id)
    clock.pass_time(days=90, minutes=20)
    await let_go(runtime)

    assert [event["data"]["id"] for event in (await reader.read())["data"]] == [first, late]


async def test_who_comes_back_too_late_is_told_that_something_is_missing(
    runtime: Runtime, clock: MovingClock, happen: Happen, reader: Reader
) -> None:
    await happen()
    place = (await reader.read())["next"]
    for _ in range(3):
        clock.pass_time(days=50)
        await happen()
    await let_go(runtime)

    answer = await reader.ask(place)
    assert (answer.status_code, answer.headers["x-error-code"]) == (400, "event_expired")
    assert answer.json()["details"] == {
        "after": "is no longer in the feed, which keeps events for 90 days. Read the feed from its start"
    }
    assert len((await reader.read())["data"]) == 2, "without a place, what is still kept"
    assert (await reader.ask(str(new_id()))).headers["x-error-code"] == "event_expired"


async def test_an_id_that_never_was_in_a_whole_feed_is_simply_wrong(happen: Happen, reader: Reader) -> None:
    await happen()

    assert (await reader.ask(str(new_id()))).headers["x-error-code"] == "invalid_request"


async def test_a_feed_has_no_gap_though_an_older_event_is_still_needed(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen, reader: Reader
) -> None:
    await add(receiver.url)
    for _ in range(4):
        await happen()
    places = [event["id"] for event in (await reader.read())["data"]]
    await runtime.pool.execute("update effects set state = 'done'")
    await runtime.pool.execute("update effects set state = 'queued' where event_id = $1", UUID(places[1]))
    clock.pass_time(days=100)
    await happen()
    await run_job(runtime, TIDY_EVENTS)
    assert str((await public_events(runtime))[0]) == places[1]

    for gone in places[:3]:
        assert (await reader.ask(gone)).headers["x-error-code"] == "event_expired"
    assert len((await reader.read(places[3]))["data"]) == 1
    assert len((await reader.read())["data"]) == 1


async def test_a_feed_that_was_cut_tells_rightly_whether_there_is_more(
    runtime: Runtime, clock: MovingClock, happen: Happen, reader: Reader
) -> None:
    await happen()
    clock.pass_time(days=100)
    await let_go(runtime)
    for _ in range(3):
        await happen()

    first = await reader.read(limit=2)
    assert (len(first["data"]), first["hasMore"]) == (2, True)
    rest = await reader.read(first["next"], limit=2)
    assert (len(rest["data"]), rest["hasMore"]) == (1, False)


async def test_one_tenants_old_events_cut_no_other_feed(
    runtime: Runtime, clock: MovingClock, happen: Happen, reader: Reader
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        stranger = await people.welcome_user(work, UserWanted(email="bo@other.example", name="Bo", username="bo"))
    for _ in range(3):
        await happen(stranger)
    clock.pass_time(days=89)
    await happen()
    place = (await reader.read())["next"]
    clock.pass_time(days=2)
    await let_go(runtime)

    assert await runtime.pool.fetchval("select count(*) from event_feed where tenant_id = $1", stranger.id) == 1
    assert len((await reader.read())["data"]) == 1
    assert (await reader.read(place))["data"] == []
    assert (await reader.ask(str(new_id()))).headers["x-error-code"] == "invalid_request"


async def test_old_tries_and_bodies_are_removed_in_batches(
    runtime: Runtime, clock: MovingClock, receiver: Receiver, add: Add, happen: Happen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openslot.platform.jobs.batches.repeat.__kwdefaults__", {"size": 2, "max_": 100})
    await add(receiver.url)
    for _ in range(5):
        await happen()
    await work_off(runtime, clock)
    clock.pass_time(days=29)
    await happen()
    await work_off(runtime, clock)
    clock.pass_time(days=2)

    assert await run_job(runtime, TIDY_WEBHOOKS) == "5 tries, 5 bodies removed"
    assert await count(runtime, "webhook_deliveries") == await count(runtime, "webhook_messages") == 1
