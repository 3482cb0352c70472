"""All faults of a request at once: wrong shapes and wrong meanings, in bodies and queries of the API itself."""

from typing import Any

import httpx2
import pytest

from openslot.event_types.models import EventType
from tests.bookings.conftest import Book, book, meeting, settings
from tests.support.clocks import clock

__all__ = ["book", "clock", "meeting", "settings"]

ZONE = "is not a time zone; use a name such as Europe/Berlin"
EMAIL = "is not a valid email address"
DATE = "must be a date, such as 2026-03-16"
MOMENT = "must be a date or a date-time, such as 2026-03-16 or 2026-03-16T09:00:00Z"
INVITEE = {
    "startTime": "soon",
    "inviteeName": "x" * 201,
    "inviteeEmail": "nobody",
    "inviteeTimezone": "Nowhere",
    "guests": ["li@okafor.example", "li", 5],
    "unknown": 1,
}
INVITEE_FAULTS = {
    "startTime": "must be an ISO 8601 date-time, such as 2026-03-16T09:00:00Z",
    "inviteeName": "must have at most 200 characters",
    "inviteeEmail": EMAIL,
    "inviteeTimezone": ZONE,
    "guests.1": EMAIL,
    "guests.2": "must be a string, not an integer",
    "unknown": "is not a known field",
}
BODIES: tuple[tuple[str, str, dict[str, Any], dict[str, str]], ...] = (
    ("POST", "/api/v1/bookings", INVITEE, {**INVITEE_FAULTS, "eventTypeSlug": "is required"}),
    ("POST", "/api/bookings", INVITEE, {**INVITEE_FAULTS, "eventTypeId": "is required"}),
    (
        "POST",
        "/api/v1/contacts",
        {"name": " ", "email": "x", "phone": "030", "company": 5, "tags": ["a", " ", 1], "x": 1},
        {
            "name": "must not be empty",
            "email": EMAIL,
            "phone": "must begin with + and the country code, such as +493012345678",
            "company": "must be a string, not an integer",
            "tags.1": "must not be empty",
            "tags.2": "must be a string, not an integer",
            "x": "is not a known field",
        },
    ),
    (
        "PATCH",
        "/api/v1/contacts/01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f",
        {"email": "x", "name": None},
        {"email": EMAIL, "name": "must be a string, not null"},
    ),
)
QUERIES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("availability/meeting", "timezone=Nowhere&startDate=x", {"timezone": ZONE, "startDate": DATE}),
    (
        "availability/meeting",
        "timezone=Nowhere&startDate=2026-03-16&endDate=2026-03-15",
        {"timezone": ZONE, "endDate": "must not be before startDate"},
    ),
    (
        "availability/meeting",
        "startDate=2026-03-16&endDate=2026-05-17",
        {"timezone": "is required", "endDate": "must be at most 61 days after startDate"},
    ),
    # Without a zone nobody knows what today is, and a wrong date is before or after nothing.
    ("availability/meeting", "timezone=Nowhere&endDate=2020-01-01", {"timezone": ZONE}),
    ("availability/meeting", "timezone=UTC&startDate=x&endDate=2020-01-01", {"startDate": DATE}),
    ("availability/meeting", "timezone=UTC&startDate=2020-01-01&endDate=x", {"endDate": DATE}),
    ("availability/meeting", "timezone=UTC&endDate=2020-01-01", {"endDate": "must not be before startDate"}),
    (
        "bookings",
        "from=2026-03-17&to=2026-03-16&page=0&status=x",
        {
            "page": "must be at least 1",
            "status": "must be one of all, CONFIRMED, CANCELLED",
            "to": "must not be before from",
        },
    ),
    ("calls", "from=x&to=2026-03-16&limit=51", {"limit": "must be at most 50", "from": MOMENT}),
    (
        "conversations",
        "phone=030&from=2026-03-17&to=2026-03-16",
        {
            "phone": "must be an E.164 phone number: + and up to 15 digits, such as +493012345678",
            "to": "must not be before from",
        },
    ),
    (
        "events",
        "after=x&type=booking.exploded&limit=0",
        {
            "after": "must be the id of one of your events",
            "type": "must be one of booking.created, booking.cancelled, booking.rescheduled, booking.reassigned, "
            "contact.created, payment.received, not booking.exploded",
            "limit": "must be at least 1",
        },
    ),
)


@pytest.mark.parametrize(("method", "path", "body", "faults"), BODIES)
async def test_every_fault_of_a_body_is_named(
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    method: str,
    path: str,
    body: dict[str, Any],
    faults: dict[str, str],
) -> None:
    answer = await client.request(method, path, json=body, headers=bearer)

    assert answer.status_code == 400
    assert answer.json() == {"error": "Invalid request", "details": faults}


@pytest.mark.parametrize(("path", "query", "faults"), QUERIES)
async def test_every_fault_of_a_query_is_named(
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    meeting: EventType,
    path: str,
    query: str,
    faults: dict[str, str],
) -> None:
    answer = await client.get(f"/api/v1/{path}?{query}", headers=bearer)

    assert answer.status_code == 400
    assert answer.json() == {"error": "Invalid request", "details": faults}


async def test_the_longest_range_is_62_days_with_both_ends(
    client: httpx2.AsyncClient, bearer: dict[str, str], meeting: EventType
) -> None:
    days = "timezone=UTC&startDate=2026-03-16&endDate="
    answers = [
        await client.get(f"/api/v1/availability/meeting?{days}{last}", headers=bearer)
        for last in ("2026-05-16", "2026-05-17")
    ]

    assert [answer.status_code for answer in answers] == [200, 400]


async def test_what_is_sound_is_kept_in_its_normal_form(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book
) -> None:
    changes = {"inviteeName": "  Jonas ", "inviteeEmail": " jonas@okafor.example ", "inviteeTimezone": "africa/lagos"}
    made = (await book(**changes)).json()
    found = (await client.get(f"/api/v1/bookings/{made['bookingId']}", headers=bearer)).json()

    assert (found["inviteeName"], found["inviteeEmail"]) == ("Jonas", "jonas@okafor.example")
    assert found["inviteeTimezone"] == "Africa/Lagos"
