"""A group session keeps its shape when its event type is edited."""

from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.operations import reschedule_booking
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, offer, slots
from tests.domains.bookings.support import AT, LATER, book, hold
from tests.support.clocks import MovingClock
from tests.support.races import find_disorder


@pytest.fixture
async def group(runtime: Runtime, user: User) -> EventType:
    """A meeting of three."""
    return await offer(runtime, user, "group", seats=3)


async def edit(runtime: Runtime, event_type: EventType, **changes: Any) -> EventType:
    async with runtime.transaction(OPERATOR) as work:
        return await event_types.change_event_type(work, replace(event_type, **changes))


@pytest.mark.parametrize("minutes", [15, 60])
async def test_who_joins_later_gets_the_sessions_own_end(
    runtime: Runtime, group: EventType, client: httpx2.AsyncClient, bearer: dict[str, str], minutes: int
) -> None:
    first = await book(runtime, group)
    await edit(runtime, group, duration_minutes=minutes)

    params = {"timezone": "Asia/Kolkata", "startDate": "2026-03-16", "endDate": "2026-03-16"}
    listed = (await client.get("/api/v1/availability/group", params=params, headers=bearer)).json()["data"]
    shown = {slot["startTime"]: slot for slot in listed}
    second = await book(runtime, group)

    assert second.ends_at == first.ends_at == AT + timedelta(minutes=30)
    assert shown[TEN]["endTime"] == "2026-03-16T10:30:00Z"
    assert (shown[TEN]["date"], shown[TEN]["time"]) == ("2026-03-16", "15:30")
    assert shown["2026-03-16T14:00:00Z"]["endTime"] == f"2026-03-16T{14 + minutes // 60}:{minutes % 60:02}:00Z"
    assert second.claim_id == first.claim_id
    assert await find_disorder(runtime.pool) == {}


async def test_who_moves_into_a_session_gets_its_end(runtime: Runtime, group: EventType) -> None:
    first = await book(runtime, group)
    await edit(runtime, group, duration_minutes=60)
    other = await book(runtime, group, LATER)
    async with runtime.transaction(OPERATOR) as work:
        moved = await reschedule_booking(work, BookingRef(other.id, None), AT)

    assert (moved.ends_at, moved.claim_id) == (first.ends_at, first.claim_id)
    assert await find_disorder(runtime.pool) == {}


@pytest.mark.parametrize("seats", [1, 2])
async def test_seats_lowered_to_those_taken_or_below_close_the_session(
    runtime: Runtime, group: EventType, client: httpx2.AsyncClient, bearer: dict[str, str], seats: int
) -> None:
    await book(runtime, group)
    await book(runtime, group)
    await edit(runtime, group, seats=seats)

    assert TEN not in await slots(client, bearer, "group")
    with pytest.raises(SlotUnavailable):
        await book(runtime, group)
    assert await find_disorder(runtime.pool) == {}


async def test_whatever_is_listed_after_a_group_becomes_single_can_be_booked(
    runtime: Runtime, group: EventType, client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    await book(runtime, group)
    single = await edit(runtime, group, seats=1)

    listed = await slots(client, bearer, "group")
    assert TEN not in listed
    for start in listed:
        await book(runtime, single, datetime.fromisoformat(start))
    assert await find_disorder(runtime.pool) == {}


async def test_a_meeting_of_a_group_that_became_single_is_in_nobodys_way_twice(
    runtime: Runtime, user: User, group: EventType, meeting: EventType
) -> None:
    await book(runtime, group)
    await edit(runtime, group, seats=1)

    with pytest.raises(SlotUnavailable):
        await book(runtime, meeting)


async def test_raised_seats_are_there_for_a_session_that_has_begun_to_fill(runtime: Runtime, group: EventType) -> None:
    first = await book(runtime, group)
    larger = await edit(runtime, group, seats=5)
    joined = [await book(runtime, larger) for _ in range(4)]

    assert {each.claim_id for each in joined} == {first.claim_id}
    with pytest.raises(SlotUnavailable):
        await book(runtime, larger)
    assert await find_disorder(runtime.pool) == {}


async def test_a_held_seat_is_kept_when_seats_are_lowered(runtime: Runtime, group: EventType) -> None:
    await book(runtime, group)
    held = await hold(runtime, group)
    await edit(runtime, group, seats=1)

    booked = await book(runtime, group, hold_id=held.id)
    assert booked.seat_id == held.id
    assert await find_disorder(runtime.pool) == {}


async def test_a_held_seat_keeps_the_sessions_end_when_meetings_get_longer(runtime: Runtime, group: EventType) -> None:
    held = await hold(runtime, group)
    longer = await edit(runtime, group, duration_minutes=60)

    assert (await book(runtime, longer, hold_id=held.id)).ends_at == AT + timedelta(minutes=30)
    assert await find_disorder(runtime.pool) == {}


async def test_a_held_time_grows_with_its_event_type_or_is_refused(
    runtime: Runtime, user: User, meeting: EventType
) -> None:
    first, second = await hold(runtime, meeting), await hold(runtime, meeting, LATER)
    await book(runtime, await offer(runtime, user, "neighbour"), LATER + timedelta(minutes=30))
    longer = await edit(runtime, meeting, duration_minutes=60)

    assert (await book(runtime, longer, hold_id=first.id)).ends_at == AT + timedelta(minutes=60)
    with pytest.raises(SlotUnavailable):
        await book(runtime, longer, LATER, hold_id=second.id)
    assert await find_disorder(runtime.pool) == {}


async def test_a_held_time_that_is_no_start_any_more_is_refused_as_taken(
    runtime: Runtime, user: User, meeting: EventType
) -> None:
    held = await hold(runtime, meeting, AT + timedelta(minutes=30))
    longer = await edit(runtime, meeting, duration_minutes=60)

    with pytest.raises(SlotUnavailable):
        await book(runtime, longer, AT + timedelta(minutes=30), hold_id=held.id)


async def test_a_single_booking_joins_a_session_when_its_event_type_has_become_a_groups(
    runtime: Runtime, meeting: EventType
) -> None:
    alone = await book(runtime, meeting)
    group = await edit(runtime, meeting, seats=2)
    joined = await book(runtime, group, LATER)
    async with runtime.transaction(OPERATOR) as work:
        moved = await reschedule_booking(work, BookingRef(alone.id, None), LATER)

    assert (moved.claim_id, moved.seat_id is not None) == (joined.claim_id, True)
    assert await find_disorder(runtime.pool) == {}


async def test_an_expired_seat_leaves_room_for_exactly_one(
    runtime: Runtime, group: EventType, clock: MovingClock
) -> None:
    await book(runtime, group)
    await book(runtime, group)
    await hold(runtime, group)
    clock.pass_time(minutes=11)

    await book(runtime, group)
    with pytest.raises(SlotUnavailable):
        await book(runtime, group)
    assert await find_disorder(runtime.pool) == {}
