"""A host cancels, reschedules and books for someone: plain forms, and every refusal at its field."""

import html
import re
from datetime import timedelta

import httpx2

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.host import ELEVEN, TEN, TWELVE, Book
from tests.support.page import read_page

SLOTS = re.compile(r'name="start" value="([^"]+)"')
WANTED = {
    "type": "30min",
    "start": "2026-03-16T10:00:00Z",
    "name": "Jonas Okafor",
    "email": "jonas@okafor.example",
    "timezone": "Africa/Lagos",
    "notes": "",
    "day": "2026-03-16",
}


async def stored(runtime: Runtime, booking_id: object) -> dict[str, object]:
    row = await runtime.pool.fetchrow("select * from bookings where id = $1", booking_id)
    assert row is not None
    return dict(row)


async def test_cancelling_asks_first_and_keeps_the_reason(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    asked = await member.get(f"/bookings/{booking.id}/cancel")
    before = await stored(runtime, booking.id)
    done = await member.post(f"/bookings/{booking.id}/cancel", data={"reason": " Ill today, sorry "})
    after = await stored(runtime, booking.id)
    shown = await member.get(done.headers["location"])

    assert "Cancel the booking with Jonas Okafor?" in read_page(asked).text
    assert before["status"] == "CONFIRMED"
    assert done.headers["location"] == f"/bookings/{booking.id}?done=cancelled"
    assert (after["status"], after["cancel_reason"], after["cancelled_by"]) == ("CANCELLED", "Ill today, sorry", "host")
    assert "The booking was cancelled." in read_page(shown).notices[0]
    assert "You cancelled this booking" in read_page(shown).headings


async def test_a_reason_that_is_too_long_stands_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    answer = await member.post(f"/bookings/{booking.id}/cancel", data={"reason": "x" * 501})

    assert answer.status_code == 400
    assert read_page(answer).faults == {"reason": "Must have at most 500 characters"}
    assert (await stored(runtime, booking.id))["status"] == "CONFIRMED"


async def test_a_booking_is_moved_to_an_open_slot(member: httpx2.AsyncClient, runtime: Runtime, book: Book) -> None:
    booking = await book()
    await book(ELEVEN, name="Hana Kim", email="hana@kim.example")
    form = await member.get(f"/bookings/{booking.id}/reschedule?day=2026-03-16")
    slots = SLOTS.findall(form.text)
    sent = {"start": "2026-03-16T12:00:00Z", "reason": "The train is late", "day": "2026-03-16"}
    done = await member.post(f"/bookings/{booking.id}/reschedule", data=sent)
    after = await stored(runtime, booking.id)

    assert "2026-03-16T12:00:00Z" in slots
    assert "2026-03-16T10:00:00Z" not in slots
    assert "2026-03-16T11:00:00Z" not in slots
    assert "now Monday 16 March, 11:00 – 11:30" in read_page(form).text
    assert done.headers["location"] == f"/bookings/{booking.id}?done=moved"
    assert (after["starts_at"], after["previous_starts_at"]) == (TWELVE, TEN)


async def test_a_booking_may_move_into_the_time_that_it_takes_now(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await runtime.pool.execute("update event_types set slot_interval_minutes = 15 where owner_id = $1", user.id)
    booking = await book()
    form = await member.get(f"/bookings/{booking.id}/reschedule")
    done = await member.post(f"/bookings/{booking.id}/reschedule", data={"start": "2026-03-16T10:15:00Z"})

    assert "2026-03-16T10:15:00Z" in SLOTS.findall(form.text)
    assert done.status_code == 303


NOT_TO_BE_HAD: list[tuple[str, str]] = [
    ("", "Choose a time"),
    ("soon", "Must be an ISO 8601 date-time"),
    ("2026-03-16T11:00:00Z", "This time is no longer available"),
    ("2026-03-16T03:00:00Z", "Is not a start time of this event type"),
]


async def test_a_time_that_can_not_be_had_stands_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    await book(ELEVEN, name="Hana Kim", email="hana@kim.example")
    for start, fault in NOT_TO_BE_HAD:
        sent = {"start": start, "reason": "Because", "day": "2026-03-18"}
        answer = await member.post(f"/bookings/{booking.id}/reschedule", data=sent)

        assert answer.status_code == 400, (start, fault)
        assert fault in read_page(answer).faults["start"], (start, fault)
        assert read_page(answer).fields["reason"].value == "Because", (start, fault)
        assert read_page(answer).fields["day"].value == "2026-03-18", (start, fault)
        assert (await stored(runtime, booking.id))["starts_at"] == TEN, (start, fault)


async def test_weeks_lead_on_and_never_back_into_the_past(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book()
    first = (await member.get(f"/bookings/{booking.id}/reschedule?day=2020-01-01")).text
    later = (await member.get(f"/bookings/{booking.id}/reschedule?day=2026-03-20")).text
    strange = await member.get(f"/bookings/{booking.id}/reschedule?day=9999-99-99")

    distant = await book(TEN + timedelta(days=21))
    opened = read_page(await member.get(f"/bookings/{distant.id}/reschedule")).fields["day"].value

    assert opened == "2026-04-06"
    assert 'value="2026-03-16"' in first
    assert "Earlier" not in first
    assert "reschedule?day=2026-03-23" in first
    assert "reschedule?day=2026-03-16" in later
    assert strange.status_code == 200


async def test_far_days_have_no_slots_and_say_so(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book()
    answer = await member.get(f"/bookings/{booking.id}/reschedule?day=2199-12-28")

    assert answer.status_code == 200
    assert "No times available." in read_page(answer).text


async def test_a_host_books_for_someone(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    form = await member.get("/bookings/new?type=30min")
    done = await member.post("/bookings", data={**WANTED, "notes": "First call"})
    shown = await member.get(done.headers["location"])
    row = await runtime.pool.fetchrow("select * from bookings")

    assert WANTED["start"] in SLOTS.findall(form.text)
    assert "The booking was created." in read_page(shown).notices[0]
    assert "You created this booking" in read_page(shown).headings
    assert row is not None
    assert (row["invitee_name"], row["invitee_email"], row["invitee_zone"], row["notes"], row["starts_at"]) == (
        "Jonas Okafor",
        "jonas@okafor.example",
        "Africa/Lagos",
        "First call",
        TEN,
    )


async def test_what_is_missing_stands_at_its_field_and_what_was_typed_stays(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    sent = {"type": "30min", "start": "", "name": "", "email": "foo", "timezone": "Nowhere", "notes": "Keep me"}
    answer = await member.post("/bookings", data=sent)

    assert answer.status_code == 400
    for fault in (
        "Choose a time",
        "Enter the invitee's name",
        "Is not a valid email address",
        "Is not a time zone",
        "Keep me",
    ):
        assert fault in html.unescape(answer.text)
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0


async def test_a_time_that_was_taken_meanwhile_is_refused_with_others_to_choose(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    await book()
    answer = await member.post("/bookings", data=WANTED)

    assert answer.status_code == 400
    assert read_page(answer).faults == {"start": "This time is no longer available"}
    assert "2026-03-16T12:00:00Z" in SLOTS.findall(answer.text)
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1


async def test_only_own_and_active_event_types_can_be_booked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User
) -> None:
    await offer(runtime, stranger, "theirs")
    await offer(runtime, user, "closed", active=False)
    for slug in ("theirs", "closed", "nothing"):
        form = await member.get(f"/bookings/new?type={slug}")
        answer = await member.post("/bookings", data={**WANTED, "type": slug})

        assert SLOTS.findall(form.text) == []
        assert answer.status_code == 400
        assert read_page(answer).faults == {"type": "Event type not found"}
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0


async def test_days_can_be_chosen_for_a_new_booking(member: httpx2.AsyncClient) -> None:
    text = (await member.get("/bookings/new?type=30min&day=2026-03-19")).text

    assert SLOTS.findall(text)[0].startswith("2026-03-19")
    assert "/bookings/new?type=30min&day=2026-03-26" in html.unescape(text)


async def test_of_several_event_types_one_is_chosen_first(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await offer(runtime, user, "workshop")
    page = read_page(await member.get("/bookings/new?day=2026-03-19"))

    assert "Choose an event type" in page.headings
    assert {address for address in page.addresses if address.startswith("/bookings/new?")} == {
        "/bookings/new?type=30min&day=2026-03-19",
        "/bookings/new?type=workshop&day=2026-03-19",
    }


async def test_commands_that_change_have_their_method_and_body(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book(TEN + timedelta(days=1))
    cancel = html.unescape((await member.get(f"/bookings/{booking.id}/cancel")).text)
    move = html.unescape((await member.get(f"/bookings/{booking.id}/reschedule")).text)

    assert f"curl -X POST http://127.0.0.1:8000/api/v1/bookings/{booking.id}/cancel" in cancel
    assert f"curl -X PATCH http://127.0.0.1:8000/api/v1/bookings/{booking.id}/reschedule" in move
    assert '-d \'{"newStartTime": "' in move


async def test_a_cancelled_booking_is_not_moved(member: httpx2.AsyncClient, clock: MovingClock, book: Book) -> None:
    booking = await book()
    await member.post(f"/bookings/{booking.id}/cancel")
    answer = await member.post(f"/bookings/{booking.id}/reschedule", data={"start": "2026-03-16T12:00:00Z"})

    assert answer.status_code == 400
    assert read_page(answer).faults == {"start": "This booking is cancelled"}
