"""A script plays an assistant: it finds a host, sees free times, books, reschedules and cancels."""

from typing import Any

import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind, Money, Question
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, offer
from tests.doors.public_tools.conftest import INVITEE, TestAssistant
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.email_codes import read_code
from tests.support.fake_stripe import Books
from tests.support.live import connect, serving
from tests.support.payments import insert_connection

MONDAY = {"startDate": "2026-03-16", "endDate": "2026-03-16"}


def starts(found: dict[str, Any]) -> list[str]:
    return [each["startTime"] for each in found["data"]]


async def test_an_assistant_books_reschedules_and_cancels(
    assistant: TestAssistant, runtime: Runtime, meeting: EventType, clock: MovingClock
) -> None:
    found = await assistant.result("find_host", page="mara")
    (wanted,) = [each for each in found["eventTypes"] if each["slug"] == "meeting"]
    asked = {"eventTypeId": wanted["id"], "timezone": "America/New_York"}
    free = await assistant.result("list_free_times", **asked, **MONDAY)
    assert free["timezone"] == "America/New_York"
    (ten,) = [each for each in free["data"] if each["startTime"] == TEN]
    assert (ten["date"], ten["time"]) == ("2026-03-16", "06:00")

    hold = await assistant.result("hold_time", eventTypeId=wanted["id"], startTime=TEN)
    assert TEN not in starts(await assistant.result("list_free_times", **asked, **MONDAY))
    booked = await assistant.book(meeting, holdId=hold["holdId"], notes="About prices")
    assert (booked["status"], booked["startTime"]) == ("CONFIRMED", TEN)
    assert "manageUrl" in booked["nextStep"]
    link = {"manageUrl": booked["manageUrl"]}

    shown = await assistant.result("get_booking", **link)
    assert shown["notes"] == {"quotedFrom": "invitee", "text": "About prices"}
    assert ELEVEN in starts(await assistant.result("list_new_times", **link, **MONDAY))
    moved = await assistant.result("reschedule_booking", **link, newStartTime=ELEVEN, reason="Train")
    assert (moved["status"], moved["startTime"]) == ("CONFIRMED", ELEVEN)
    cancelled = await assistant.result("cancel_booking", **link, reason="Ill")
    assert (cancelled["status"], cancelled["canChange"]) == ("CANCELLED", False)
    assert await assistant.result("cancel_booking", **link) == cancelled
    assert {TEN, ELEVEN} <= set(starts(await assistant.result("list_free_times", **asked, **MONDAY)))

    await work_off(runtime, clock)
    subjects = [row["subject"] for row in await runtime.pool.fetch("select subject from mail_messages order by id")]
    assert sum("Jonas" in each or "Meeting" in each for each in subjects) >= 6


async def test_a_booking_page_of_one_event_type_shows_that_one(assistant: TestAssistant, meeting: EventType) -> None:
    base = str(assistant.client.base_url).rstrip("/")
    for page in (f"{base}/mara/meeting", f"{base.removeprefix('http://')}/mara/meeting?tz=UTC"):
        found = await assistant.result("find_host", page=page)
        assert [each["slug"] for each in found["eventTypes"]] == ["meeting"]
        assert found["pageUrl"].endswith("/mara/meeting")
    for page in ("https://other.example/mara", f"{base}/mara/a/b", "http://[", f"{base}/"):
        assert "page" in (await assistant.refusal("find_host", page=page))["details"]


async def test_a_repeated_call_with_its_key_books_once(assistant: TestAssistant, runtime: Runtime, user: User) -> None:
    group = await offer(runtime, user, "group", seats=5)
    first = await assistant.book(group, idempotencyKey="k")

    assert await assistant.book(group, idempotencyKey="k") == first
    other = {"eventTypeId": str(group.id), "startTime": ELEVEN, **INVITEE, "idempotencyKey": "k"}
    assert (await assistant.refusal("book", **other))["code"] == "idempotency_key_reused"
    assert (await assistant.book(group))["bookingId"] != first["bookingId"]
    assert await runtime.pool.fetchval("select count(*) from bookings") == 2


async def test_who_guesses_a_short_key_elsewhere_gets_no_link(
    settings: Settings, clock: MovingClock, meeting: EventType
) -> None:
    app = create_app(replace(settings, trusted_proxies=Networks.parse("127.0.0.0/8")), clock=clock)
    async with serving(app) as url, connect(url) as client:
        here, there = TestAssistant(client), TestAssistant(client)
        for assistant, address in ((here, "192.0.2.1"), (there, "198.51.100.7")):
            assistant.headers["X-Forwarded-For"] = address
        first = await here.book(meeting, idempotencyKey="k")
        elsewhere = await there.book(meeting, idempotencyKey="k")

    assert elsewhere["bookingId"] == first["bookingId"]
    assert "manageUrl" not in elsewhere
    assert "from another network" in elsewhere["nextStep"]


async def test_missing_answers_are_named_and_answers_are_kept(
    assistant: TestAssistant, runtime: Runtime, user: User
) -> None:
    asking = await offer(runtime, user, "asking", questions=(Question("topic", "What about?", required=True),))
    wanted = {"eventTypeId": str(asking.id), "startTime": TEN, **INVITEE}

    refused = await assistant.refusal("book", **wanted)
    assert refused["details"] == {"answers.topic": "is required"}
    assert (await assistant.book(asking, answers={"topic": "Prices"}))["status"] == "CONFIRMED"


async def test_each_duration_has_its_own_times(assistant: TestAssistant, runtime: Runtime, user: User) -> None:
    long = await offer(runtime, user, "long", durations=(30, 60))
    asked = {"eventTypeId": str(long.id), "timezone": "UTC", **MONDAY}

    assert (await assistant.result("list_free_times", **asked))["durationMinutes"] == 30
    hour = await assistant.result("list_free_times", **asked, durationMinutes=60)
    assert hour["data"][0]["endTime"] == "2026-03-16T10:00:00Z"
    assert (await assistant.book(long, durationMinutes=60))["endTime"] == ELEVEN
    assert "durationMinutes" in (await assistant.refusal("list_free_times", **asked, durationMinutes=45))["details"]


async def test_what_the_host_confirms_waits_and_can_be_withdrawn(
    assistant: TestAssistant, runtime: Runtime, user: User
) -> None:
    asked = await offer(runtime, user, "asked", requires_confirmation=True)
    booked = await assistant.book(asked)
    link = {"manageUrl": booked["manageUrl"]}

    assert booked["status"] == "PENDING_CONFIRMATION"
    assert "host has to confirm" in booked["nextStep"]
    assert (await assistant.result("get_booking", **link))["status"] == "PENDING_CONFIRMATION"
    assert (await assistant.refusal("list_new_times", **link))["code"] == "booking_not_confirmed"
    moving = await assistant.refusal("reschedule_booking", **link, newStartTime=ELEVEN)
    assert moving["code"] == "booking_not_confirmed"
    assert (await assistant.result("cancel_booking", **link))["status"] == "CANCELLED"


async def test_what_has_a_price_is_kept_until_it_is_paid(
    assistant: TestAssistant, runtime: Runtime, user: User, books: Books
) -> None:
    await insert_connection(runtime, books.key, user_id=user.id)
    paid = await offer(runtime, user, "paid", price=Money(4900, "EUR"))
    booked = await assistant.book(paid, idempotencyKey="k")
    link = {"manageUrl": booked["manageUrl"]}

    assert booked["status"] == "PENDING_PAYMENT"
    assert booked["paymentUrl"].startswith("http")
    assert "card" in booked["nextStep"]
    assert await assistant.book(paid, idempotencyKey="k") == booked
    shown = await assistant.result("get_booking", **link)
    assert (shown["status"], shown["canChange"]) == ("PENDING_PAYMENT", True)
    assert (await assistant.result("cancel_booking", **link))["status"] == "CANCELLED"
    free = await assistant.result("list_free_times", eventTypeId=str(paid.id), timezone="UTC", **MONDAY)
    assert TEN in starts(free)


@pytest.mark.parametrize("price", [None, Money(4900, "EUR")], ids=["free", "paid"])
async def test_an_assistant_asks_for_the_code_if_the_host_wants_it(
    assistant: TestAssistant, runtime: Runtime, user: User, books: Books, price: Money | None
) -> None:
    await insert_connection(runtime, books.key, user_id=user.id)
    proven = await offer(runtime, user, "proven", requires_email_verification=True, price=price)
    found = await assistant.result("find_host", page="mara")
    assert [each["slug"] for each in found["eventTypes"] if each["requiresEmailVerification"]] == ["proven"]
    hold = await assistant.result("hold_time", eventTypeId=str(proven.id), startTime=TEN)
    wanted = {"eventTypeId": str(proven.id), "startTime": TEN, **INVITEE, "holdId": hold["holdId"]}

    asked = await assistant.refusal("book", **wanted, idempotencyKey="k")
    assert asked["code"] == "email_verification_required"
    assert "emailCode" in asked["details"]
    code = await read_code(runtime)
    wrong = await assistant.refusal("book", **wanted, emailCode=f"{(int(code) + 1) % 10**6:06}")
    assert wrong["code"] == "email_code_invalid"
    booked = await assistant.result("book", **wanted, emailCode=code, idempotencyKey="k")
    assert booked["status"] == ("PENDING_PAYMENT" if price else "CONFIRMED")
    assert await assistant.result("book", **wanted, emailCode=code, idempotencyKey="k") == booked
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1


async def test_what_can_not_be_paid_is_not_offered(assistant: TestAssistant, runtime: Runtime, user: User) -> None:
    paid = await offer(runtime, user, "paid", price=Money(4900, "EUR"))
    found = await assistant.result("find_host", page="mara")

    assert [each["canBeBooked"] for each in found["eventTypes"] if each["slug"] == "paid"] == [False]
    assert (await assistant.result("list_free_times", eventTypeId=str(paid.id), timezone="UTC"))["data"] == []
    wanted = {"eventTypeId": str(paid.id), "startTime": TEN, **INVITEE}
    assert (await assistant.refusal("book", **wanted))["code"] == "payment_unavailable"


async def test_a_link_is_told_when_it_is_booked(assistant: TestAssistant, runtime: Runtime, user: User) -> None:
    place = Location(LocationKind.VIDEO_LINK, "https://meet.example/secret-room")
    video = await offer(runtime, user, "video", location=place)

    assert "secret-room" not in str(await assistant.result("find_host", page="mara"))
    booked = await assistant.book(video)
    shown = await assistant.result("get_booking", manageUrl=booked["manageUrl"])
    assert shown["location"]["value"]["text"] == "https://meet.example/secret-room"


async def test_one_of_several_places_is_chosen(assistant: TestAssistant, runtime: Runtime, user: User) -> None:
    room, call = Location(LocationKind.IN_PERSON, "Room 2"), Location(LocationKind.PHONE, asks=LocationAsks.PHONE)
    talk = await offer(runtime, user, "talk", location=room, locations=(room, call))
    found = await assistant.result("find_host", page="mara")
    (shown,) = [each for each in found["eventTypes"] if each["slug"] == "talk"]

    assert shown["locations"][0] == shown["location"]
    assert shown["location"]["value"] == {"quotedFrom": "host", "text": "Room 2"}
    chosen = shown["locations"][1]
    assert chosen["asks"] == "phone"
    told = {"id": chosen["id"], "value": "+49 30 5550123"}
    booked = await assistant.book(talk, location=told)
    place = (await assistant.result("get_booking", manageUrl=booked["manageUrl"]))["location"]
    assert (place["kind"], place["value"]["text"]) == ("phone", "+49305550123")


async def test_many_times_are_listed_in_parts(assistant: TestAssistant, runtime: Runtime, user: User) -> None:
    short = await offer(runtime, user, "short", duration_minutes=15)
    asked = {"eventTypeId": str(short.id), "timezone": "UTC"}
    first = await assistant.result("list_free_times", **asked, startDate="2026-03-16", endDate="2026-04-16")
    assert len(first["data"]) == 100
    seen = set(starts(first))
    while first["continuesOn"]:
        first = await assistant.result("list_free_times", **asked, startDate=first["continuesOn"], endDate="2026-04-16")
        assert set(starts(first)) - seen
        seen |= set(starts(first))
    listed = await assistant.client.get(
        "/api/public/mara/short/slots", params={"timezone": "UTC", "startDate": "2026-03-16", "endDate": "2026-04-16"}
    )
    assert seen == {each["startTime"] for each in listed.json()["data"]}


async def test_a_meeting_that_is_over_stays(
    assistant: TestAssistant, runtime: Runtime, meeting: EventType, clock: MovingClock
) -> None:
    link = {"manageUrl": (await assistant.book(meeting))["manageUrl"]}
    clock.pass_time(days=1)

    for tool, more in (("list_new_times", {}), ("reschedule_booking", {"newStartTime": "2026-03-18T10:00:00Z"})):
        assert (await assistant.refusal(tool, **link, **more))["code"] == "booking_already_ended"
    assert (await assistant.refusal("cancel_booking", **link))["code"] == "booking_already_ended"


@pytest.mark.parametrize("tool", ["get_booking", "list_new_times", "cancel_booking"])
async def test_a_link_that_was_not_given_opens_nothing(assistant: TestAssistant, meeting: EventType, tool: str) -> None:
    url = (await assistant.book(meeting))["manageUrl"]

    changed = f"{url[:-2]}{'AA' if url[-2] != 'A' else 'BA'}"
    for wrong in (url[:-1], url + "x", changed, "x", "/manage/", "https://other.example/manage/"):
        assert (await assistant.refusal(tool, manageUrl=wrong))["code"] == "booking_not_found"


async def test_a_hold_can_be_given_back(assistant: TestAssistant, meeting: EventType) -> None:
    wanted = {"eventTypeId": str(meeting.id), "startTime": TEN}
    hold = await assistant.result("hold_time", **wanted)

    assert (await assistant.refusal("hold_time", **wanted))["code"] == "slot_unavailable"
    assert await assistant.result("release_hold", holdId=hold["holdId"]) == {"success": True}
    assert (await assistant.refusal("release_hold", holdId=hold["holdId"]))["code"] == "hold_not_found"
    free = await assistant.result("list_free_times", eventTypeId=str(meeting.id), timezone="UTC", **MONDAY)
    assert TEN in starts(free)
