"""Bookings by key: made, read and listed."""

import json

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Limits, Money, Question, QuestionKind, ShowIf
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, Book, offer, read, slots
from tests.support.clocks import MovingClock

TAKEN = {"error": "This time is no longer available"}
FIELDS = {
    "id", "startTime", "endTime", "status", "inviteeName", "inviteeEmail", "inviteeTimezone", "notes", "location",
    "answers", "guests", "eventType", "contact", "payment", "rescheduleCount", "previousStartTime", "cancelledAt",
    "noShow", "cancelReason", "cancelledBy", "manageUrl", "createdAt", "updatedAt", "seriesId",
    "hosts",
}  # fmt: skip


async def test_a_booked_slot_reads_as_it_was_made(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, meeting: EventType
) -> None:
    made = await book(notes="Pricing\nfor twelve", guests=["li@okafor.example"])
    assert made.status_code == 200, made.text
    assert set(made.json()) == {"bookingId"}

    found = await read(client, bearer, made)
    assert set(found) == FIELDS | {"emailLogs"}
    assert (found["startTime"], found["endTime"], found["status"]) == (TEN, "2026-03-16T10:30:00Z", "CONFIRMED")
    invitee = (found["inviteeName"], found["inviteeEmail"], found["inviteeTimezone"])
    assert invitee == ("Jonas Okafor", "jonas@okafor.example", "Africa/Lagos")
    assert (found["notes"], found["guests"], found["emailLogs"]) == ("Pricing\nfor twelve", ["li@okafor.example"], [])
    assert found["eventType"] == {
        "id": str(meeting.id),
        "name": "Meeting",
        "slug": "meeting",
        "durationMinutes": 30,
        "bufferBefore": 0,
        "bufferAfter": 0,
    }
    contact = found["contact"]
    assert isinstance(contact, dict)
    assert (contact["name"], contact["email"]) == ("Jonas Okafor", "jonas@okafor.example")
    listed = (await client.get("/api/v1/bookings", headers=bearer)).json()["data"]
    assert listed == [{name: value for name, value in found.items() if name != "emailLogs"}]


async def test_a_booking_lists_its_own_emails_oldest_first(
    runtime: Runtime, client: httpx2.AsyncClient, bearer: dict[str, str], book: Book
) -> None:
    made, other = await book(), await book(startTime=ELEVEN)
    await runtime.pool.execute(
        """insert into mail_messages
            (id, kind, booking_id, recipient, subject, is_public, status, sent_at, error, created_at)
        select gen_random_uuid(), 'reminder', m.booking_id::uuid, 'jonas@okafor.example', m.subject, false, m.status,
               m.sent_at::timestamptz, m.error, timestamptz '2026-03-01' + m.place * interval '1 minute'
        from (values ($1, 'second', 'sent', '2026-03-01T09:02:00.25+02', null, 2),
                     ($1, 'first', 'failed', null, 'No', 1),
                     ($2, 'of another', 'failed', null, 'No', 0))
            m (booking_id, subject, status, sent_at, error, place)""",
        made.json()["bookingId"],
        other.json()["bookingId"],
    )

    logs = (await read(client, bearer, made))["emailLogs"]
    assert isinstance(logs, list)
    shown = [(each["subject"], each["status"], each["sentAt"], each["error"]) for each in logs]
    assert shown == [("first", "failed", None, "No"), ("second", "sent", "2026-03-01T07:02:00.250Z", None)]


async def test_a_booked_slot_is_offered_no_more_and_refused(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book
) -> None:
    assert TEN in await slots(client, bearer)
    await book()

    assert TEN not in await slots(client, bearer)
    again = await book()
    assert (again.status_code, again.json()) == (409, TAKEN)


async def test_another_event_type_of_the_host_is_blocked_too(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime, user: User
) -> None:
    await offer(runtime, user, "long", duration_minutes=60)
    await book("2026-03-16T10:30:00Z")

    assert (await book(TEN, eventTypeSlug="long")).json() == TAKEN
    assert TEN not in await slots(client, bearer, "long")


async def test_buffers_of_both_sides_keep_meetings_apart(book: Book, runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "padded", buffer_before=15, buffer_after=15)
    assert (await book("2026-03-16T10:00:00Z", eventTypeSlug="padded")).status_code == 200

    assert (await book("2026-03-16T10:30:00Z")).status_code == 409
    assert (await book("2026-03-16T09:30:00Z")).status_code == 409
    assert (await book("2026-03-16T11:00:00Z")).status_code == 200


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("2026-03-16T06:00:00Z", "past"),
        ("2026-03-16T10:07:00Z", "start"),
        ("2026-03-16T20:00:00Z", "hours"),
        ("2026-03-21T10:00:00Z", "hours"),
    ],
)
async def test_what_is_no_start_is_wrong_not_taken(book: Book, start: str, words: str) -> None:
    answer = await book(start)

    assert answer.status_code == 400
    assert words in answer.json()["details"]["startTime"].lower()


async def test_a_start_beyond_the_window_or_notice_is_not_available(book: Book, runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "later", min_notice_minutes=24 * 60)

    assert (await book(TEN, eventTypeSlug="later")).json() == TAKEN
    assert (await book("2026-09-16T10:00:00Z")).json() == TAKEN


async def test_limits_count_what_is_booked(book: Book, runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "rare", limits=Limits(per_day=1))

    assert (await book(TEN, eventTypeSlug="rare")).status_code == 200
    assert (await book(ELEVEN, eventTypeSlug="rare")).json() == TAKEN
    assert (await book("2026-03-17T10:00:00Z", eventTypeSlug="rare")).status_code == 200


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"inviteeName": ""}, "inviteeName"),
        ({"inviteeName": "x" * 201}, "inviteeName"),
        ({"inviteeName": "a\u0000b"}, "inviteeName"),
        ({"inviteeName": "   "}, "inviteeName"),
        ({"inviteeEmail": "nobody"}, "inviteeEmail"),
        ({"inviteeEmail": "a@b.example\r\nBcc: x@y.example"}, "inviteeEmail"),
        ({"inviteeTimezone": "Mars/Olympus"}, "inviteeTimezone"),
        ({"inviteeTimezone": "+02:00"}, "inviteeTimezone"),
        ({"notes": "x" * 5001}, "notes"),
        ({"startTime": "2026-03-16T10:00:00"}, "startTime"),
        ({"startTime": "tomorrow"}, "startTime"),
        ({"startTime": 5}, "startTime"),
        ({"guests": ["a@b.example"] * 11}, "guests"),
        ({"guests": ["nobody"]}, "guests.0"),
        ({"answers": {"color": "blue"}}, "answers.color"),
        ({"surprise": 1}, "surprise"),
    ],
)
async def test_a_wrong_field_is_named_and_nothing_is_changed(
    book: Book, runtime: Runtime, changes: dict[str, object], field: str
) -> None:
    answer = await book(**changes)

    assert answer.status_code == 400, answer.text
    assert field in answer.json()["details"]
    for table in ("claims", "bookings", "contacts"):
        assert await runtime.pool.fetchval(f"select count(*) from {table}") == 0


async def test_every_wrong_field_is_named_at_once(book: Book) -> None:
    answer = await book(inviteeName="", inviteeEmail=5, inviteeTimezone=None, extra=True)

    assert set(answer.json()["details"]) == {"inviteeName", "inviteeEmail", "inviteeTimezone", "extra"}


async def test_an_unknown_foreign_or_inactive_slug_is_not_found(
    book: Book, runtime: Runtime, user: User, admin: User
) -> None:
    await offer(runtime, admin, "foreign")
    await offer(runtime, user, "closed", active=False)

    for slug in ("unknown", "foreign", "closed", "Meeting", "x" * 150):
        assert (await book(eventTypeSlug=slug)).status_code == 404


async def test_answers_are_checked_and_the_host_need_not_give_them(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime, user: User
) -> None:
    questions = (
        Question("topic", "Topic?", required=True),
        Question("size", "Size?", QuestionKind.CHOICE, options=("s", "m")),
        Question("mail", "Mail?", QuestionKind.EMAIL),
        Question("phone", "Phone?", QuestionKind.PHONE),
        Question("sure", "Sure?", QuestionKind.CHECKBOX),
    )
    asking = await offer(runtime, user, "asking", questions=questions)
    wrong = {"size": "xl", "mail": "nobody", "phone": "123", "sure": "yes", "topic": True}
    refused = await book(eventTypeSlug="asking", answers=wrong)
    assert set(refused.json()["details"]) == {f"answers.{key}" for key in wrong}

    made = await book(eventTypeSlug="asking", answers={"size": "m", "sure": True})
    assert (await read(client, bearer, made))["answers"] == {"size": "m", "sure": True}

    public = {
        "eventTypeId": str(asking.id),
        "startTime": ELEVEN,
        "inviteeName": "Li",
        "inviteeEmail": "li@okafor.example",
        "inviteeTimezone": "UTC",
    }
    answer = await client.post("/api/bookings", json=public)
    assert (answer.status_code, answer.json()["details"]) == (400, {"answers.topic": "is required"})
    answer = await client.post("/api/bookings", json=public | {"answers": {"topic": "Boats"}})
    assert answer.status_code == 200


async def test_several_choices_consent_and_questions_that_depend_on_answers(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, user: User
) -> None:
    questions = (
        Question("days", "Days?", QuestionKind.CHOICES, required=True, options=("Mon", "Tue", "Wed")),
        Question("why", "Why?", required=True, show_if=ShowIf("days", ("Mon",))),
        Question("terms", "I agree", QuestionKind.CONSENT, required=True),
    )
    asking = await offer(runtime, user, "asking", questions=questions)
    public = {
        "eventTypeId": str(asking.id),
        "startTime": ELEVEN,
        "inviteeName": "Li",
        "inviteeEmail": "li@okafor.example",
        "inviteeTimezone": "UTC",
    }
    refused: list[tuple[dict[str, object], set[str]]] = [
        ({}, {"days", "terms"}),
        ({"days": [], "terms": False}, {"days", "terms"}),
        ({"days": "Mon", "terms": True}, {"days", "why"}),
        ({"days": ["Sun"], "terms": True}, {"days"}),
        ({"days": ["Tue", "Tue"], "terms": True}, {"days"}),
        ({"days": ["Mon", "Tue"], "terms": True}, {"why"}),
        ({"days": ["Tue"], "why": "No reason", "terms": True}, {"why"}),
        ({"days": ["Tue"], "terms": "yes"}, {"terms"}),
        ({"days": ["Tue"], "terms": ["yes"]}, {"terms"}),
    ]
    for answers, fields in refused:
        answer = await client.post("/api/bookings", json=public | {"answers": answers})
        assert (answer.status_code, set(answer.json()["details"])) == (400, {f"answers.{key}" for key in fields})
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0

    given = {"days": ["Wed", "Mon"], "why": "Because", "terms": True}
    made = await client.post("/api/bookings", json=public | {"answers": given})
    listed = await client.get(f"/api/v1/bookings/{made.json()['bookingId']}", headers=bearer)
    assert listed.json()["answers"] == given
    found = await client.get(f"/api/v1/event-types/{asking.id}", headers=bearer)
    assert [each["showIf"] for each in found.json()["schedulingConfig"]["questions"]] == [
        None,
        {"key": "days", "values": ["Mon"]},
        None,
    ]


async def test_a_paid_event_type_is_free_for_the_host_and_closed_to_the_public_without_a_provider(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime, user: User
) -> None:
    paid = await offer(runtime, user, "paid", price=Money(8000, "EUR"))
    made = await book(eventTypeSlug="paid")
    assert (await read(client, bearer, made))["payment"] == {"status": "not_required"}

    body = {
        "eventTypeId": str(paid.id),
        "startTime": ELEVEN,
        "inviteeName": "Li",
        "inviteeEmail": "li@okafor.example",
        "inviteeTimezone": "UTC",
    }
    answer = await client.post("/api/bookings", json=body)
    assert answer.status_code == 503
    assert "retry-after" in answer.headers
    assert await runtime.pool.fetchval("select count(*) from claims") == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/bookings/{id}"),
        ("POST", "/api/v1/bookings/{id}/cancel"),
        ("PATCH", "/api/v1/bookings/{id}/reschedule"),
    ],
)
async def test_a_foreign_booking_looks_like_none(
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    runtime: Runtime,
    admin: User,
    method: str,
    path: str,
) -> None:
    theirs = await offer(runtime, admin, "theirs")
    body = {
        "eventTypeId": str(theirs.id),
        "startTime": TEN,
        "inviteeName": "Li",
        "inviteeEmail": "li@okafor.example",
        "inviteeTimezone": "UTC",
    }
    foreign = (await client.post("/api/bookings", json=body)).json()["bookingId"]
    answers = []
    for booking_id in (foreign, str(new_id()), "nonsense", "0" * 36):
        sent = await client.request(
            method,
            path.format(id=booking_id),
            headers=bearer,
            json={"newStartTime": ELEVEN} if method == "PATCH" else None,
        )
        answers.append((sent.status_code, sent.content))

    assert {status for status, _ in answers} == {404}
    assert answers[0] == answers[1]
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"


async def test_the_list_shows_newest_first_and_filters(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book
) -> None:
    starts = ["2026-03-16T10:00:00Z", "2026-03-17T10:00:00Z", "2026-03-18T10:00:00Z"]
    made = [await book(start) for start in starts]
    await client.post(f"/api/v1/bookings/{made[1].json()['bookingId']}/cancel", headers=bearer)

    async def listed(**params: str) -> list[str]:
        answer = await client.get("/api/v1/bookings", params=params, headers=bearer)
        assert answer.status_code == 200, answer.text
        assert all(set(booking) == FIELDS for booking in answer.json()["data"])
        return [booking["startTime"] for booking in answer.json()["data"]]

    assert await listed() == starts[::-1]
    assert await listed(status="cancelled") == [starts[1]]
    assert await listed(status="CONFIRMED") == [starts[2], starts[0]]
    assert await listed(**{"from": "2026-03-17", "to": "2026-03-17"}) == [starts[1]]
    assert await listed(**{"from": "2026-03-17T10:00:01Z"}) == [starts[2]]
    assert await listed(limit="1", page="2") == [starts[1]]
    page = (await client.get("/api/v1/bookings", params={"limit": 2, "page": 9}, headers=bearer)).json()
    assert page == {"data": [], "pagination": {"page": 9, "limit": 2, "total": 3, "totalPages": 2}}


async def test_several_wrong_filters_are_all_named(client: httpx2.AsyncClient, bearer: dict[str, str]) -> None:
    params = {"status": "maybe", "from": "yesterday", "page": "0", "limit": "101"}
    answer = await client.get("/api/v1/bookings", params=params, headers=bearer)

    assert answer.status_code == 400
    assert set(answer.json()["details"]) == {"status", "from", "page", "limit"}


async def test_a_retry_with_the_same_key_books_once(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime
) -> None:
    del client, bearer
    headers = {"Idempotency-Key": "once"}
    first, second = await book(headers=headers), await book(headers=headers)

    assert first.json() == second.json()
    assert second.headers["idempotent-replayed"] == "true"
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1
    assert (await book(ELEVEN, headers=headers)).status_code == 409


async def test_an_invitee_becomes_a_contact_once(book: Book, runtime: Runtime) -> None:
    await book()
    await book(ELEVEN, inviteeEmail="JONAS@okafor.example", inviteeName="J. Okafor")

    assert await runtime.pool.fetchval("select count(*) from contacts") == 1
    assert await runtime.pool.fetchval("select count(*) from events where type = 'contact.created'") == 1
    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.created'") == 2


async def test_an_event_keeps_the_booking_as_it_was(book: Book, runtime: Runtime, user: User) -> None:
    await book()
    row = await runtime.pool.fetchrow(
        "select tenant_id, subject_kind, actor, public from events where type = 'booking.created'"
    )

    assert row is not None
    assert (row["tenant_id"], row["subject_kind"]) == (user.id, "booking")
    assert json.loads(row["actor"])["kind"] == "key"
    told = json.loads(row["public"])
    assert (set(told), told["status"]) == (FIELDS, "CONFIRMED")


async def test_time_passes_and_a_booking_becomes_history(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, clock: MovingClock
) -> None:
    made = await book()
    clock.pass_time(days=3)

    found = await read(client, bearer, made)
    assert (found["status"], found["startTime"]) == ("CONFIRMED", TEN)
