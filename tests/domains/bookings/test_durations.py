"""Event types with several durations: what is listed, booked, held and moved for each, and what is refused."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ById, Hold
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.links import manage_token
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Limits
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, offer
from tests.domains.bookings.support import AT, LATER
from tests.domains.bookings.support import book as book_one
from tests.support.races import find_disorder

DAY = {"timezone": "UTC", "startDate": "2026-03-16", "endDate": "2026-03-16"}
WANTED = {"inviteeName": "Li", "inviteeEmail": "li@wei.example", "inviteeTimezone": "UTC"}
NOT_LISTED = {"durationMinutes": "must be one of 15, 30, 60"}
HALF = timedelta(minutes=30)


@pytest.fixture
async def talk(runtime: Runtime, user: User) -> EventType:
    """A talk of 15, 30 or 60 minutes; 30 is the default."""
    return await offer(runtime, user, "talk", durations=(60, 15, 30))


async def book(runtime: Runtime, talk: EventType, minutes: int | None, at: Any = AT, **more: Any) -> Booking:
    return await book_one(runtime, talk, at, which=ById(talk.id, minutes=minutes), **more)


async def hold(runtime: Runtime, talk: EventType, minutes: int, at: Any = AT) -> Hold:
    async with runtime.transaction(PUBLIC) as work:
        return await claims.hold_slot(work, ById(talk.id, minutes=minutes), at, holder=str(new_id()))


async def edit(runtime: Runtime, talk: EventType, **changes: Any) -> EventType:
    async with runtime.transaction(OPERATOR) as work:
        return await event_types.change_event_type(work, replace(talk, **changes))


async def list_day(client: httpx2.AsyncClient, path: str, headers: dict[str, str], **query: Any) -> list[Any]:
    answer = await client.get(path, params={**DAY, **query}, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["eventType"]["durationMinutes"] == 30
    return [(slot["startTime"][11:16], slot["endTime"][11:16]) for slot in answer.json()["data"]]


async def test_the_detail_lists_them_in_order_and_plain_ones_have_the_default_alone(
    client: httpx2.AsyncClient, bearer: dict[str, str], talk: EventType, meeting: EventType
) -> None:
    for event_type, durations in ((talk, [15, 30, 60]), (meeting, [30])):
        detail = (await client.get(f"/api/v1/event-types/{event_type.id}", headers=bearer)).json()
        assert (detail["durationMinutes"], detail["schedulingConfig"]["durations"]) == (30, durations)


async def test_each_duration_has_the_same_grid_and_ends_of_its_own(
    client: httpx2.AsyncClient, bearer: dict[str, str], talk: EventType, user: User
) -> None:
    for path in ("/api/v1/availability/talk", f"/api/public/{user.username}/talk/slots"):
        default = await list_day(client, path, bearer)
        assert default == await list_day(client, path, bearer, durationMinutes=30)
        short = await list_day(client, path, bearer, durationMinutes=15)
        long = await list_day(client, path, bearer, durationMinutes=60)
        assert default[0] == ("09:00", "09:30")
        assert short[0] == ("09:00", "09:15")
        assert long[0] == ("09:00", "10:00")
        assert [start for start, _ in short] == [start for start, _ in default]
        # The whole meeting lies within the hours.
        assert (default[-1], long[-1]) == (("16:30", "17:00"), ("16:00", "17:00"))


async def test_a_longer_one_needs_all_of_its_time_and_its_buffers(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, user: User
) -> None:
    padded = await offer(runtime, user, "padded", durations=(15, 30, 60), buffer_before=15, slot_interval_minutes=15)
    await book(runtime, padded, 15, LATER)

    listed = {
        minutes: {
            start for start, _ in await list_day(client, "/api/v1/availability/padded", bearer, durationMinutes=minutes)
        }
        for minutes in (15, 30, 60)
    }
    assert "11:30" in listed[15]
    assert "11:30" not in listed[30]
    assert "11:15" in listed[30]
    assert "11:15" not in listed[60]
    assert "10:45" in listed[60]
    assert "12:15" not in listed[15]
    assert "12:30" in listed[15] & listed[30] & listed[60]


@pytest.mark.parametrize("minutes", [45, 1440])
async def test_one_that_is_not_listed_is_refused_by_name_at_every_door(
    client: httpx2.AsyncClient, bearer: dict[str, str], user: User, talk: EventType, minutes: int
) -> None:
    asked = {"durationMinutes": minutes, "startTime": TEN}
    by_id = {"eventTypeId": str(talk.id), **asked}
    answers = [
        await client.get("/api/v1/availability/talk", params={**DAY, "durationMinutes": minutes}, headers=bearer),
        await client.get(f"/api/public/{user.username}/talk/slots", params={**DAY, "durationMinutes": minutes}),
        await client.post("/api/v1/bookings", json={"eventTypeSlug": "talk", **asked, **WANTED}, headers=bearer),
        await client.post("/api/bookings", json={**by_id, **WANTED}),
        await client.post("/api/public/holds", json=by_id),
    ]
    for answer in answers:
        assert (answer.status_code, answer.json()["details"]) == (400, NOT_LISTED)


@pytest.mark.parametrize("minutes", ["0", "-15", "1441", "99999999999999999999", "x", "30.5"])
async def test_one_that_can_be_none_is_refused_by_name(
    client: httpx2.AsyncClient, bearer: dict[str, str], talk: EventType, minutes: str
) -> None:
    answer = await client.get("/api/v1/availability/talk", params={**DAY, "durationMinutes": minutes}, headers=bearer)
    assert (answer.status_code, list(answer.json()["details"])) == (400, ["durationMinutes"])


async def test_plain_event_types_take_their_own_duration_alone(
    client: httpx2.AsyncClient, bearer: dict[str, str], meeting: EventType
) -> None:
    path = "/api/v1/availability/meeting"
    assert await list_day(client, path, bearer, durationMinutes=30) == await list_day(client, path, bearer)
    answer = await client.get(path, params={**DAY, "durationMinutes": 15}, headers=bearer)
    assert answer.json()["details"] == {"durationMinutes": "must be one of 30"}


async def test_a_booking_has_the_duration_that_was_asked_for(
    client: httpx2.AsyncClient, bearer: dict[str, str], talk: EventType, runtime: Runtime
) -> None:
    body = {"eventTypeSlug": "talk", "startTime": TEN, "durationMinutes": 60, **WANTED}
    made = await client.post("/api/v1/bookings", json=body, headers=bearer)
    detail = (await client.get(f"/api/v1/bookings/{made.json()['bookingId']}", headers=bearer)).json()
    assert (detail["startTime"], detail["endTime"]) == (TEN, "2026-03-16T11:00:00Z")
    assert detail["eventType"]["durationMinutes"] == 30

    public = {"eventTypeId": str(talk.id), "startTime": "2026-03-16T11:00:00Z", "durationMinutes": 15, **WANTED}
    answer = (await client.post("/api/bookings", json=public)).json()
    assert (answer["startTime"], answer["endTime"]) == ("2026-03-16T11:00:00Z", "2026-03-16T11:15:00Z")
    told = await runtime.pool.fetch(
        "select public ->> 'endTime' as until from events where type = 'booking.created' order by no"
    )
    assert [each["until"] for each in told] == [detail["endTime"], answer["endTime"]]


async def test_bookings_of_mixed_durations_never_overlap(runtime: Runtime, talk: EventType) -> None:
    await book(runtime, talk, 60)
    with pytest.raises(SlotUnavailable):
        await book(runtime, talk, 15, AT + HALF)
    await book(runtime, talk, 15, AT + 2 * HALF)
    with pytest.raises(SlotUnavailable):
        await book(runtime, talk, 60, AT + HALF)
    with pytest.raises(SlotUnavailable):
        await book(runtime, talk, 60, AT - HALF)
    await book(runtime, talk, None, AT - HALF)
    assert await find_disorder(runtime.pool) == {}


async def test_a_limit_per_day_counts_each_duration(runtime: Runtime, user: User) -> None:
    limited = await offer(runtime, user, "limited", durations=(30, 60), limits=Limits(per_day=2))
    await book(runtime, limited, 60)
    await book(runtime, limited, 30, LATER)
    with pytest.raises(SlotUnavailable):
        await book(runtime, limited, 60, LATER + 4 * HALF)


async def test_a_hold_keeps_the_time_of_its_duration(runtime: Runtime, talk: EventType) -> None:
    held = await hold(runtime, talk, 60)
    with pytest.raises(SlotUnavailable):
        await book(runtime, talk, 15, AT + HALF)
    made = await book(runtime, talk, 60, hold_id=held.id)
    assert made.minutes == 60
    assert await find_disorder(runtime.pool) == {}


async def test_what_is_held_can_be_booked_for_another_duration_if_it_is_free(runtime: Runtime, talk: EventType) -> None:
    first, second = await hold(runtime, talk, 30), await hold(runtime, talk, 30, LATER)
    await book(runtime, talk, 15, LATER + HALF)
    assert (await book(runtime, talk, 60, hold_id=first.id)).minutes == 60
    with pytest.raises(SlotUnavailable):
        await book(runtime, talk, 60, LATER, hold_id=second.id)
    assert (await book(runtime, talk, 15, LATER, hold_id=second.id)).minutes == 15
    assert await find_disorder(runtime.pool) == {}


@pytest.mark.parametrize("durations", [(15, 30, 60), (15, 30), ()], ids=["offered", "removed", "plain"])
async def test_a_reschedule_keeps_the_duration_even_if_it_is_not_offered_any_more(
    runtime: Runtime, talk: EventType, durations: tuple[int, ...]
) -> None:
    made = await book(runtime, talk, 60)
    await book(runtime, talk, 15, LATER + HALF)
    await edit(runtime, talk, durations=durations)
    ref = BookingRef(made.id, None)
    async with runtime.transaction(PUBLIC) as work:
        with pytest.raises(SlotUnavailable):
            await bookings.reschedule_booking(work, ref, LATER)
    async with runtime.transaction(PUBLIC) as work:
        moved = await bookings.reschedule_booking(work, ref, LATER + 2 * HALF)
    assert moved.minutes == 60
    assert await find_disorder(runtime.pool) == {}


async def test_a_reschedule_cannot_change_the_duration(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, talk: EventType
) -> None:
    made = await book(runtime, talk, 60)
    body = {"newStartTime": "2026-03-16T12:00:00Z", "durationMinutes": 15}
    for answer in (
        await client.patch(f"/api/v1/bookings/{made.id}/reschedule", json=body, headers=bearer),
        await client.post(f"/api/public/manage/{manage_token(runtime, made.id)}/reschedule", json=body),
    ):
        assert (answer.status_code, list(answer.json()["details"])) == (400, ["durationMinutes"])


async def test_time_away_and_busy_spans_after_the_default_end_close_a_longer_one(
    runtime: Runtime, talk: EventType, user: User
) -> None:
    await runtime.pool.execute(
        """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        values ($1, $2, $3, $4, '', $3)""",
        new_id(),
        user.id,
        AT + timedelta(minutes=45),
        AT + timedelta(minutes=50),
    )
    with pytest.raises(SlotUnavailable):
        await book(runtime, talk, 60)
    assert (await book(runtime, talk, 30)).minutes == 30


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"durations": (15, 60)}, "must include the default duration"),
        ({"durations": (30, 30)}, "must not have the same duration twice"),
        ({"durations": (30, 1441)}, "must be from 1 to 1440"),
        ({"durations": (30, 0)}, "must be from 1 to 1440"),
        ({"durations": tuple(range(30, 41))}, "must have at most 10 entries"),
        ({"durations": (30, 60), "seats": 2}, "can't be combined with more than one seat"),
    ],
)
async def test_what_can_not_be_offered_is_refused(
    runtime: Runtime, meeting: EventType, changes: dict[str, Any], fault: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await edit(runtime, meeting, **changes)
    assert refused.value.details == {"durations": fault}


async def test_the_default_alone_is_no_list(runtime: Runtime, meeting: EventType) -> None:
    assert (await edit(runtime, meeting, durations=(30,))).durations == ()
