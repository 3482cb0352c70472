"""All faults of a request at once: wrong types in every operation, and wrong shapes and meanings in some."""

import re
from collections.abc import Iterable
from typing import Any

import httpx2
import pytest

from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import Book, book, meeting, read, settings
from tests.doors.http.routes import PUBLIC, REST, Operation
from tests.support.clocks import clock
from tests.support.openapi import DESCRIPTION
from tests.support.table_contents import read_tables

__all__ = ["book", "clock", "meeting", "settings"]

pytestmark = pytest.mark.reads_only

JsonSchema = dict[str, Any]
WITH_BODY = [one for one in REST + PUBLIC if one.handler.body is not None]
WITH_QUERY = [one for one in REST + PUBLIC if one.handler.parameters]
# Where there is one parameter, no other fault can be forgotten.
ONE_PARAMETER = {"GET /api/public/{username}/{slug}"}
# Values, and the types that they are right for.
VALUES: tuple[tuple[object, set[str]], ...] = ((5, {"integer", "number"}), ("x", {"string"}), ({}, {"object"}))

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


@pytest.fixture
async def sound(book: Book) -> str:
    """The path of a booking of which everything is right, if not as it is usually written."""
    changes = {"inviteeName": "  Jonas ", "inviteeEmail": " jonas@okafor.example ", "inviteeTimezone": "africa/lagos"}
    made = (await book("2026-03-17T10:00:00Z", **changes)).json()
    return f"/api/v1/bookings/{made['bookingId']}"


async def test_what_is_sound_is_kept_in_its_normal_form(
    client: httpx2.AsyncClient, bearer: dict[str, str], sound: str
) -> None:
    found = (await client.get(sound, headers=bearer)).json()

    assert (found["inviteeName"], found["inviteeEmail"]) == ("Jonas", "jonas@okafor.example")
    assert found["inviteeTimezone"] == "Africa/Lagos"


def describe(operation: Operation) -> JsonSchema:
    found: JsonSchema = DESCRIPTION["paths"][operation.path][operation.method.lower()]
    return found


def resolve(schema: JsonSchema) -> JsonSchema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return DESCRIPTION["components"]["schemas"][name] if name else schema


def list_shapes(schema: JsonSchema) -> list[JsonSchema]:
    """List what a value may be."""
    resolved = resolve(schema)
    return [shape for each in resolved.get("anyOf", ()) for shape in list_shapes(each)] or [resolved]


def spoil(schema: JsonSchema, path: str, *, deep: bool) -> tuple[object, list[str]]:
    """Make a value of which everything has a wrong type, and list the places; if it is deep, those inside of it."""
    shapes = list_shapes(schema)
    for shape in shapes if deep else ():
        if "properties" in shape:
            return spoil_fields(shape["properties"], path)
        if shape.get("type") == "object":
            return spoil_fields({"one": shape["additionalProperties"], "two": shape["additionalProperties"]}, path)
        if shape.get("type") == "array":
            value, places = spoil_fields({"0": shape["items"], "1": shape["items"]}, path)
            return list(value.values()), places
    # Names that are listed are strings.
    allowed = {shape.get("type", "string") for shape in shapes}
    return next(value for value, kinds in VALUES if not kinds & allowed), [path]


def spoil_fields(
    fields: dict[str, JsonSchema], path: str = "", *, deep: bool = True
) -> tuple[dict[str, object], list[str]]:
    spoiled = {name: spoil(each, f"{path}.{name}".strip("."), deep=deep) for name, each in fields.items()}
    return (
        {name: value for name, (value, _) in spoiled.items()},
        [place for _, places in spoiled.values() for place in places],
    )


def find_fields(operation: Operation) -> JsonSchema:
    """Find the shape of an operation's body."""
    (shape,) = [
        each
        for each in list_shapes(describe(operation)["requestBody"]["content"]["application/json"]["schema"])
        if "properties" in each
    ]
    return shape


def find_parameters(operation: Operation) -> dict[str, JsonSchema]:
    return {each["name"]: each["schema"] for each in describe(operation).get("parameters", ()) if each["in"] == "query"}


def spoil_text(schema: JsonSchema) -> str:
    """Make a text that a parameter may not be."""
    resolved = resolve(schema)
    longest: int | None = resolved.get("maxLength")
    if longest is not None:
        return "x" * (longest + 1)
    return "\a" if "pattern" in resolved and re.match(resolved["pattern"], "x") else "x"


@pytest.fixture
async def own(
    client: httpx2.AsyncClient, runtime: Runtime, bearer: dict[str, str], book: Book, meeting: EventType
) -> dict[str, str]:
    """What each value of a path can name, all of the host who asks: nothing but the fault is in the way of a change."""
    made = await read(client, bearer, await book())
    contact: Any = made["contact"]
    return {
        "booking_id": str(made["id"]),
        "contact_id": str(contact["id"]),
        "event_type_id": str(meeting.id),
        "slug": meeting.slug,
        "token": str(made["manageUrl"]).rpartition("/")[2],
        "username": "mara",
    }


async def check_refused(
    client: httpx2.AsyncClient, runtime: Runtime, request: httpx2.Request, faults: Iterable[str]
) -> dict[str, str]:
    """Send a request that must be refused for these faults, all of them and no other, and change nothing."""
    before = await read_tables(runtime)
    answer = await client.send(request)

    assert answer.status_code == 400, answer.text
    details: dict[str, str] = answer.json()["details"]
    assert sorted(details) == sorted(faults)
    assert all(details.values())
    assert await read_tables(runtime) == before
    return details


@pytest.mark.parametrize("deep", [False, True], ids=["fields", "parts of fields"])
@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
async def test_every_field_of_a_wrong_type_is_named_in_every_operation(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    bearer: dict[str, str],
    own: dict[str, str],
    operation: Operation,
    deep: bool,
) -> None:
    body, places = spoil_fields(find_fields(operation)["properties"], deep=deep)
    request = client.build_request(operation.method, operation.path.format(**own), json=body, headers=bearer)

    assert len(places) > 1
    await check_refused(client, runtime, request, places)


@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
async def test_every_field_that_is_missing_or_unknown_is_named_in_every_operation(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    bearer: dict[str, str],
    own: dict[str, str],
    operation: Operation,
) -> None:
    body = {"first": 1, "second": 2}
    required = find_fields(operation).get("required", [])
    request = client.build_request(operation.method, operation.path.format(**own), json=body, headers=bearer)

    details = await check_refused(client, runtime, request, [*required, *body])
    assert details == dict.fromkeys(required, "is required") | dict.fromkeys(body, "is not a known field")


@pytest.mark.parametrize("operation", [one for one in WITH_QUERY if str(one) not in ONE_PARAMETER], ids=str)
async def test_every_wrong_parameter_is_named_in_every_operation(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    bearer: dict[str, str],
    own: dict[str, str],
    operation: Operation,
) -> None:
    wrong = {name: spoil_text(schema) for name, schema in find_parameters(operation).items()}
    request = client.build_request(operation.method, operation.path.format(**own), params=wrong, headers=bearer)

    assert len(wrong) > 1
    await check_refused(client, runtime, request, wrong)


def test_every_operation_with_a_body_or_several_parameters_is_tried() -> None:
    described = {
        f"{method.upper()} {path}"
        for path, methods in DESCRIPTION["paths"].items()
        for method, one in methods.items()
        if "requestBody" in one
    }
    tried = {str(one): one for one in WITH_BODY + WITH_QUERY}

    assert len(WITH_BODY) > 10
    assert len(WITH_QUERY) > 10
    assert described == {str(one) for one in WITH_BODY}
    assert {name for name, one in tried.items() if len(find_parameters(one)) == 1} == ONE_PARAMETER
