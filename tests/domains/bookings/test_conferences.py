"""A link is made for each booking: with it by Jitsi, and by a follow-up where a service has to be asked."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import conferences, pending
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee, Payment, Status
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Location, LocationKind, Money
from openslot.domains.event_types.ports import ConferenceFault, ConferenceRefused
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid
from openslot.platform.core.revivals import revive_effects
from openslot.platform.core.work import Clock, Runtime
from openslot.runtime import open_runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, offer
from tests.domains.bookings.support import AT, LATER, book
from tests.support.bookings import public_body
from tests.support.clocks import MovingClock
from tests.support.effects import work_off, work_until_settled
from tests.support.fake_conferences import BY_JITSI, BY_SLOW, SERVER, SlowConference, install, read_links
from tests.support.payments import insert_connection

ROOM = re.compile(re.escape(SERVER) + r"/[0-9a-f]{32}")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, jitsi_url=SERVER)


@pytest.fixture
def slow() -> SlowConference:
    return SlowConference()


@pytest.fixture
async def runtime(settings: Settings, clock: Clock, slow: SlowConference) -> AsyncIterator[Runtime]:
    async with open_runtime(settings, clock=clock, fakes=install(slow)) as opened:
        yield opened


@pytest.fixture
async def call(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "call", location=BY_JITSI)


@pytest.fixture
async def slow_call(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "slow-call", location=BY_SLOW)


@pytest.fixture
async def group(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "group", location=BY_JITSI, seats=3)


@pytest.fixture
async def slow_group(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "slow-group", location=BY_SLOW, seats=3)


async def find(runtime: Runtime, booking: Booking) -> Booking:
    return (await bookings.get_booking(runtime.work(OPERATOR), BookingRef(booking.id, None))).booking


async def move(runtime: Runtime, booking: Booking, at: object = LATER) -> Booking:
    async with runtime.transaction(OPERATOR) as work:
        return await bookings.reschedule_booking(work, BookingRef(booking.id, None), at)  # type: ignore[arg-type]


async def cancel(runtime: Runtime, booking: Booking) -> Booking:
    async with runtime.transaction(PUBLIC) as work:
        return await bookings.cancel_booking(work, BookingRef(booking.id, None))


def wanted_for(event_type: EventType) -> BookingWanted:
    invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
    return BookingWanted(which=ById(event_type.id), starts_at=AT, invitee=invitee)


async def count(runtime: Runtime, type_: str) -> int:
    counted: int = await runtime.pool.fetchval("select count(*) from events where type = $1", type_)
    return counted


async def test_each_booking_has_a_room_of_its_own_at_once(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, call: EventType
) -> None:
    made = [await client.post("/api/bookings", json=public_body(call, start)) for start in (TEN, ELEVEN)]
    shown = [(await client.get(f"/api/v1/bookings/{each.json()['bookingId']}", headers=bearer)).json() for each in made]
    managed = await client.get("/api/public/manage/" + made[0].json()["manageUrl"].rpartition("/")[2])

    links = [each["location"]["value"] for each in shown]
    assert all(ROOM.fullmatch(link) for link in links)
    assert links[0] != links[1]
    assert shown[0]["location"] == {"kind": "video_link", "value": links[0], "conference": "jitsi"}
    assert managed.json()["location"] == shown[0]["location"]


async def test_the_public_knows_only_that_it_is_a_video_call(
    client: httpx2.AsyncClient, runtime: Runtime, call: EventType
) -> None:
    await book(runtime, call)
    answers = [await client.get(path) for path in ("/api/public/mara/call", "/mara/call", "/mara")]

    assert [each.status_code for each in answers] == [200, 200, 200]
    assert answers[0].json()["eventType"]["location"] == {"kind": "video_link", "value": "", "toldWhenBooked": True}
    assert "Video call, link after booking" in answers[1].text
    assert [each.url.path for each in answers if SERVER in each.text or "jitsi" in each.text.lower()] == []


async def test_the_detail_of_an_event_type_names_the_service(
    client: httpx2.AsyncClient, bearer: dict[str, str], call: EventType, meeting: EventType
) -> None:
    detail = (await client.get(f"/api/v1/event-types/{call.id}", headers=bearer)).json()
    plain = (await client.get(f"/api/v1/event-types/{meeting.id}", headers=bearer)).json()

    expected = {"kind": "video_link", "value": "", "conference": "jitsi"}
    assert detail["schedulingConfig"]["location"] == expected
    assert plain["schedulingConfig"]["location"] == {"kind": "text", "value": ""}


async def test_the_link_is_kept_at_a_reschedule_and_gone_at_a_cancellation(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, call: EventType
) -> None:
    made = await book(runtime, call)
    moved = await move(runtime, made)
    assert moved.location == made.location == (await find(runtime, made)).location

    cancelled = await cancel(runtime, made)
    shown = await client.get(f"/api/v1/bookings/{made.id}", headers=bearer)
    assert cancelled.location == Location(LocationKind.VIDEO_LINK)
    assert shown.json()["location"] == {"kind": "video_link", "value": ""}
    assert made.location.value not in shown.text


async def test_a_link_that_a_host_has_entered_stays_as_it_is(runtime: Runtime, user: User) -> None:
    place = Location(LocationKind.VIDEO_LINK, "https://meet.example/mara")
    made = await book(runtime, await offer(runtime, user, "own", location=place))

    assert (await cancel(runtime, made)).location == place


async def test_all_seats_of_a_session_share_one_room(runtime: Runtime, group: EventType) -> None:
    first, second = await book(runtime, group), await book(runtime, group)
    other = await book(runtime, group, LATER)
    await cancel(runtime, first)
    third = await book(runtime, group)

    assert first.location == second.location == third.location
    assert other.location.value != first.location.value
    assert ROOM.fullmatch(first.location.value)


async def test_a_seat_in_another_session_has_the_room_of_that_session(runtime: Runtime, group: EventType) -> None:
    stays, goes = await book(runtime, group), await book(runtime, group)
    there = await book(runtime, group, LATER)

    moved = await move(runtime, goes)
    assert moved.location == there.location
    assert (await find(runtime, stays)).location == stays.location

    # Those who stay know the room that was left.
    alone = await move(runtime, goes, AT + timedelta(hours=3))
    assert alone.location.value not in {stays.location.value, there.location.value}
    assert ROOM.fullmatch(alone.location.value)


async def test_who_sits_alone_takes_the_room_along(runtime: Runtime, group: EventType) -> None:
    made = await book(runtime, group)

    assert (await move(runtime, made)).location == made.location


async def test_a_booking_has_no_link_before_it_is_paid(runtime: Runtime, user: User) -> None:
    paid = await offer(runtime, user, "paid", location=BY_JITSI, price=Money(4900, "EUR"))
    await insert_connection(runtime, "rk_test_" + "a" * 24, user_id=user.id)
    async with runtime.transaction(PUBLIC) as work:
        waits = (await bookings.create_pending_booking(work, wanted_for(paid))).booking
    assert waits.status is Status.PENDING_PAYMENT
    assert waits.location == BY_JITSI
    async with runtime.transaction(OPERATOR) as work:
        assert await conferences.keep_link(work, waits.claim_id, "https://slow.example/unpaid") == 0
        confirmed = await pending.confirm_paid(work, waits.id, Payment("paid", 4900, "EUR"))

    assert ROOM.fullmatch(confirmed.location.value)
    assert (await find(runtime, confirmed)).location == confirmed.location


async def test_nobody_waits_for_a_service_that_has_to_be_asked(
    runtime: Runtime, clock: MovingClock, slow: SlowConference, slow_call: EventType
) -> None:
    made = await book(runtime, slow_call)
    assert (made.location, slow.asked) == (BY_SLOW, [])

    await work_off(runtime, clock)
    assert (await find(runtime, made)).location == BY_SLOW
    clock.now += timedelta(seconds=10)
    await work_off(runtime, clock)
    found = await find(runtime, made)

    assert found.location == replace(BY_SLOW, value=f"https://slow.example/{made.claim_id}")
    assert [each.key for each in slow.asked] == [str(made.claim_id)] * 2
    assert (slow.asked[0].booking_id, slow.asked[0].starts_at) == (made.id, AT)
    assert (found.sequence, found.updated_at) == (made.sequence, clock.now)
    assert await count(runtime, "booking.link_added") == 1


async def test_a_plain_booking_asks_nobody(runtime: Runtime, call: EventType, meeting: EventType) -> None:
    await book(runtime, call)
    await book(runtime, meeting, LATER)

    asked = await runtime.pool.fetchval("select count(*) from effects where reaction = $1", conferences.MAKE_LINK)
    assert asked == 0


async def test_one_follow_up_serves_all_seats(
    runtime: Runtime, clock: MovingClock, slow: SlowConference, slow_group: EventType
) -> None:
    early = [await book(runtime, slow_group) for _ in range(2)]
    await work_until_settled(runtime, clock)
    late = await book(runtime, slow_group)

    links = (await read_links(runtime)).confirmed[str(early[0].claim_id)]
    assert links == [f"https://slow.example/{early[0].claim_id}"] * 3
    assert late.location.value == links[0]
    assert {each.booking_id for each in slow.asked} == {early[0].id}
    assert await count(runtime, "booking.link_added") == 2


async def test_nobody_gets_a_second_link_from_a_forgetful_service(
    runtime: Runtime, clock: MovingClock, slow: SlowConference, slow_group: EventType
) -> None:
    slow.forgets = True
    made = [await book(runtime, slow_group) for _ in range(2)]
    await work_until_settled(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        kept = await conferences.keep_link(work, made[0].claim_id, "https://slow.example/other")

    (links,) = (await read_links(runtime)).confirmed.values()
    assert (kept, len(set(links)), links[0].startswith("https://slow.example/")) == (0, 1, True)


async def test_a_cancelled_booking_gets_no_link(
    runtime: Runtime, clock: MovingClock, slow: SlowConference, slow_call: EventType
) -> None:
    made = await book(runtime, slow_call)
    await cancel(runtime, made)
    async with runtime.transaction(OPERATOR) as work:
        assert await conferences.keep_link(work, made.claim_id, "https://slow.example/late") == 0
    await work_until_settled(runtime, clock)

    assert (await read_links(runtime)).cancelled == [""]
    assert (slow.asked, await count(runtime, "booking.link_added")) == ([], 0)


async def test_a_rescheduled_booking_gets_the_link_that_was_asked_for_before(
    runtime: Runtime, clock: MovingClock, slow: SlowConference, slow_call: EventType
) -> None:
    made = await book(runtime, slow_call)
    await work_off(runtime, clock)
    await move(runtime, made)
    await work_until_settled(runtime, clock)

    assert (await find(runtime, made)).location.value == f"https://slow.example/{made.claim_id}"
    assert await count(runtime, "booking.link_added") == 1


async def test_the_host_is_told_once_if_no_link_can_be_made(
    runtime: Runtime, clock: MovingClock, slow: SlowConference, slow_group: EventType
) -> None:
    slow.fault = ConferenceFault("the service does not answer")
    made = [await book(runtime, slow_group, AT + timedelta(days=7)) for _ in range(2)]
    await work_until_settled(runtime, clock)

    states = await runtime.pool.fetch(
        "select state, last_error from effects where reaction = $1", conferences.MAKE_LINK
    )
    assert {tuple(row) for row in states} == {("dead", "the service does not answer")}
    assert len(slow.asked) == 2 * (len(conferences.DELAYS) + 1)
    assert await count(runtime, "booking.link_failed") == 1
    subjects = [row["subject"] for row in await runtime.pool.fetch("select subject from mail_messages")]
    assert subjects.count("A booking has no link for its video call") == 1

    slow.fault = None
    dead = await runtime.pool.fetch("select id from effects where state = 'dead'")
    clock.now = AT
    await revive_effects(runtime.work(OPERATOR), [row["id"] for row in dead])
    await work_until_settled(runtime, clock)
    assert (await find(runtime, made[1])).location.value == f"https://slow.example/{made[0].claim_id}"


@pytest.mark.parametrize("answer", ["javascript:alert(1)", "https://slow.example/" + "x" * 500])
async def test_an_answer_that_is_no_link_is_shown_to_nobody(
    runtime: Runtime, clock: MovingClock, slow: SlowConference, slow_call: EventType, answer: str
) -> None:
    slow.answer = answer
    made = await book(runtime, slow_call)
    await work_until_settled(runtime, clock)

    assert (await find(runtime, made)).location == BY_SLOW
    assert await count(runtime, "booking.link_failed") == 1


async def test_a_refusal_is_told_at_once(
    runtime: Runtime, clock: MovingClock, slow: SlowConference, slow_call: EventType
) -> None:
    slow.fault = ConferenceRefused("this account may not make meetings")
    await book(runtime, slow_call)
    await work_off(runtime, clock)

    assert (len(slow.asked), await count(runtime, "booking.link_failed")) == (1, 1)


async def test_a_service_that_is_no_longer_set_up_fails_the_link_and_not_the_booking(
    settings: Settings, clock: MovingClock, user: User, slow_call: EventType, client: httpx2.AsyncClient
) -> None:
    async with open_runtime(settings, clock=clock, fakes=install()) as bare:
        made = await client.post("/api/bookings", json=public_body(slow_call))
        await work_until_settled(bare, clock)
        told = await count(bare, "booking.link_failed")

    assert (made.status_code, told) == (200, 1)


async def test_only_services_that_are_set_up_can_be_chosen(
    settings: Settings, clock: Clock, runtime: Runtime, user: User, slow_call: EventType, meeting: EventType
) -> None:
    async with open_runtime(settings, clock=clock, fakes=install()) as bare:
        with pytest.raises(Invalid) as refused:
            await offer(bare, user, "more", location=BY_SLOW)
        async with bare.transaction(OPERATOR) as work:
            # One that was chosen before stays, whatever else is edited.
            kept = await event_types.change_event_type(work, replace(slow_call, name="Other"))

    assert set(refused.value.details or {}) == {"location.conference"}
    assert kept.location == BY_SLOW
    with pytest.raises(Invalid):
        await offer(runtime, user, "both", location=replace(BY_JITSI, value="https://meet.example/mara"))
