"""Many who wait: whoever cancels waits for none of them, and the one who has waited longest is still the first."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest

from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.event_types.models import EventType
from openslot.domains.wait_list import offers, reactions
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.two_factor import add_host
from tests.support.wait_list import (
    NINE,
    TUESDAY,
    book_day,
    find_wait_list_faults,
    hand_out,
    offer_day,
    tell_offered,
    wait_for,
)

CROWD = """
insert into wait_list_entries
    (id, host_id, event_type_id, day, until, name, email, zone, state, created_at, asked_at)
select gen_random_uuid(), host_id, event_type_id, $2::date + n % $4, until + interval '90 days', name,
       'n' || n || '@y.example', case when n % 2 = 0 then 'UTC' else 'Asia/Tokyo' end, 'waiting',
       created_at - interval '1 day' + n * interval '1 second', asked_at
from wait_list_entries, generate_series(0, $3 - 1) n where id = $1"""


@pytest.fixture
def read_days(monkeypatch: pytest.MonkeyPatch) -> list[date]:
    """The days of calendars that are read for those who wait."""
    found: list[date] = []

    async def note(*arguments: Any, **named: Any) -> Any:
        found.append(named["first"])
        return await list_open_slots(*arguments, **named)

    monkeypatch.setattr(offers, "list_open_slots", note)
    return found


async def crowd(runtime: Runtime, like: UUID, since: date, *, people: int, days: int) -> None:
    """Let others wait who came earlier, on so many days from then on."""
    await runtime.pool.execute(CROWD, like, since, people, days)


async def cancel_counting(runtime: Runtime, booking: Booking) -> int:
    """Cancel a booking, and count the statements for which its host was locked."""
    asked: list[str] = []
    async with runtime.transaction(OPERATOR) as work:
        work.db.add_query_logger(lambda each: asked.append(each.query))  # type: ignore[attr-defined]
        await bookings.cancel_booking(work, BookingRef(booking.id, None))
    return len(asked)


async def test_who_cancels_waits_for_nobody_who_waits_for_other_days(
    runtime: Runtime, day: EventType, read_days: list[date]
) -> None:
    first, second = await book_day(runtime, day), await book_day(runtime, day, NINE + timedelta(days=1))
    (li,) = await wait_for(runtime, day, "li@x.example")
    await wait_for(runtime, day, "mo@x.example", day=TUESDAY + timedelta(days=1))
    alone = await cancel_counting(runtime, first)
    await crowd(runtime, li, TUESDAY + timedelta(days=6), people=500, days=60)
    read_days.clear()

    assert await cancel_counting(runtime, second) <= alone
    assert len(read_days) == 1
    assert await tell_offered(runtime) == [("li", "offered"), ("mo", "offered")]


async def test_a_crowd_is_served_in_its_order_by_the_job_if_it_is_too_much_for_who_cancels(
    runtime: Runtime, clock: MovingClock, day: EventType, read_days: list[date]
) -> None:
    booking = await book_day(runtime, day)
    (li,) = await wait_for(runtime, day, "li@x.example")
    await work_off(runtime, clock)
    # Nobody has handed out the weekdays from Tuesday to Thursday yet.
    await crowd(runtime, li, TUESDAY, people=90, days=3)
    await runtime.pool.execute("update wait_list_entries set minutes = 480 where email like '%5@%'")
    read_days.clear()
    await cancel_counting(runtime, booking)
    assert len(read_days) <= offers.MAX_READS
    at_once = await tell_offered(runtime)
    await work_off(runtime, clock)

    assert await tell_offered(runtime) == [("n0", "offered"), ("n1", "offered"), ("n2", "offered")]
    assert at_once == [("n0", "offered"), ("n1", "offered"), ("n2", "offered")][: len(at_once)]
    assert await find_wait_list_faults(runtime) == {}


async def test_each_round_of_the_job_looks_at_a_bounded_number(
    runtime: Runtime, clock: MovingClock, day: EventType, read_days: list[date], monkeypatch: pytest.MonkeyPatch
) -> None:
    await book_day(runtime, day)
    (li,) = await wait_for(runtime, day, "li@x.example")
    await work_off(runtime, clock)
    await crowd(runtime, li, TUESDAY + timedelta(days=1), people=120, days=24)
    monkeypatch.setattr(offers, "MAX_LOOKED_AT", 25)
    rounds: list[int] = []
    hand_out = offers.hand_out

    async def note(*arguments: Any, **named: Any) -> offers.Round:
        before = len(read_days)
        handed = await hand_out(*arguments, **named)
        rounds.append(len(read_days) - before)
        return handed

    monkeypatch.setattr(offers, "hand_out", note)
    async with runtime.transaction(OPERATOR) as work:
        await work.plan("wait_list.hand_out", str(day.owner_id), due_at=work.now, tenant_id=day.owner_id)
    await work_off(runtime, clock)

    assert len(rounds) > 5
    assert max(rounds) <= offers.MAX_READS
    offered = await tell_offered(runtime)
    assert offered[:2] == [("n0", "offered"), ("n1", "offered")]
    assert len(offered) == 18, "one for each weekday"
    assert await find_wait_list_faults(runtime) == {}


async def test_a_run_of_the_job_has_few_rounds_and_the_next_one_goes_on(
    runtime: Runtime, clock: MovingClock, day: EventType, read_days: list[date], monkeypatch: pytest.MonkeyPatch
) -> None:
    await book_day(runtime, day)
    (li,) = await wait_for(runtime, day, "li@x.example")
    await crowd(runtime, li, TUESDAY + timedelta(days=1), people=40, days=40)
    monkeypatch.setattr(offers, "MAX_LOOKED_AT", 10)
    monkeypatch.setattr(reactions, "MAX_ROUNDS_OF_HOST", 2, raising=False)
    offered: list[int] = []
    for _ in range(4):
        read_days.clear()
        clock.pass_time(seconds=60)
        await hand_out(runtime)
        assert len(read_days) <= 2 * offers.MAX_READS
        offered.append(len(await tell_offered(runtime)))

    assert offered[0] < offered[1]
    assert offered[-1] == sum((TUESDAY + timedelta(days=1 + n)).weekday() < 5 for n in range(40))


async def test_hosts_at_whom_the_job_has_not_looked_come_first(
    runtime: Runtime, clock: MovingClock, day: EventType, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = await offer_day(runtime, await add_host(runtime))
    for each, email in ((day, "li@x.example"), (theirs, "mo@x.example")):
        await book_day(runtime, each)
        await wait_for(runtime, each, email)
    monkeypatch.setattr(reactions, "MAX_ROUNDS", 1, raising=False)
    turns: list[list[UUID]] = []
    for _ in range(3):
        clock.pass_time(seconds=60)
        await hand_out(runtime)
        rows = await runtime.pool.fetch("select host_id from wait_list_turns where looked_at = $1", clock.now)
        turns.append([row["host_id"] for row in rows])

    assert turns == [[day.owner_id], [theirs.owner_id], [day.owner_id]]
