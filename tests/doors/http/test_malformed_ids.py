"""What is no id is refused like an id that nothing has: with the code of the resource, in paths and in bodies."""

from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.platform.core.config import Settings
from tests.doors.http.routes import PUBLIC, REST

UNKNOWN = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"
MALFORMED = ("none", UNKNOWN[:-1], UNKNOWN.replace("-", ""), f"urn:uuid:{UNKNOWN}", f"{{{UNKNOWN}}}")
JONAS = {"inviteeName": "Jonas", "inviteeEmail": "jonas@okafor.example", "inviteeTimezone": "Africa/Lagos"}
WAITING = {"name": "Jonas", "email": "jonas@okafor.example", "timezone": "Africa/Lagos", "date": "2026-03-16"}
START = {"startTime": "2026-03-16T09:00:00Z"}
PATHS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "GET /api/v1/bookings/{booking_id}": (None, "booking_not_found"),
    "POST /api/v1/bookings/{booking_id}/cancel": ({}, "booking_not_found"),
    "PATCH /api/v1/bookings/{booking_id}/reschedule": (
        {"newStartTime": START["startTime"]},
        "booking_not_found",
    ),
    "GET /api/v1/contacts/{contact_id}": (None, "contact_not_found"),
    "PATCH /api/v1/contacts/{contact_id}": ({"name": "Jonas"}, "contact_not_found"),
    "DELETE /api/v1/contacts/{contact_id}": (None, "contact_not_found"),
    "GET /api/v1/event-types/{event_type_id}": (None, "event_type_not_found"),
    "GET /api/v1/event-types/{event_type_id}/links": (None, "event_type_not_found"),
    "POST /api/v1/event-types/{event_type_id}/links": ({}, "event_type_not_found"),
    "DELETE /api/v1/event-types/{event_type_id}/links/{link_id}": (None, "link_not_found"),
    "GET /api/v1/event-types/{event_type_id}/wait-list": (None, "event_type_not_found"),
    "DELETE /api/public/holds/{hold_id}": (None, "hold_not_found"),
}
BODIES = {"/api/public/holds": START, "/api/public/wait-list": WAITING, "/api/bookings": {**JONAS, **START}}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Room for as many requests as the tests send."""
    return replace(settings, limit_public=10_000, limit_key=10_000)


def test_no_operation_with_an_id_is_forgotten() -> None:
    with_ids = {
        str(one) for one in (*REST, *PUBLIC) if any(name.endswith("_id") for name, _ in one.handler.path_values)
    }

    assert with_ids == PATHS.keys()


async def refuse(client: httpx2.AsyncClient, method: str, path: str, **rest: Any) -> tuple[int, str, Any]:
    """Send a request that is refused; return its status, its code and its body."""
    answer = await client.request(method, path, **rest)
    return answer.status_code, answer.headers["x-error-code"], answer.json()


@pytest.mark.parametrize("operation", PATHS)
async def test_a_malformed_id_in_a_path_is_refused_like_an_unknown_one(
    client: httpx2.AsyncClient, bearer: dict[str, str], operation: str
) -> None:
    (method, _, path), (body, code) = operation.partition(" "), PATHS[operation]
    names = [part for part in path.split("/") if part.startswith("{")]

    async def ask(given: str) -> tuple[int, str, Any]:
        filled = path.replace(names[-1], given).replace(names[0], UNKNOWN)
        return await refuse(client, method, filled, json=body, headers=bearer)

    expected = await ask(UNKNOWN)
    answers = [await ask(each) for each in MALFORMED]

    assert expected[:2] == (404, code)
    assert answers == [expected] * len(MALFORMED)


@pytest.mark.parametrize("path", BODIES)
async def test_a_malformed_id_in_a_body_is_refused_like_an_unknown_one(client: httpx2.AsyncClient, path: str) -> None:
    async def ask(given: str) -> tuple[int, str, Any]:
        return await refuse(client, "POST", path, json={**BODIES[path], "eventTypeId": given})

    expected = await ask(UNKNOWN)
    answers = [await ask(each) for each in MALFORMED]

    assert expected[:2] == (404, "event_type_not_found")
    assert answers == [expected] * len(MALFORMED)
