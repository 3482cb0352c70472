"""Every operation of the REST API and the dashboard that names something by its id, and what is sent to it."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx2
import msgspec

from tests.doors.http.routes import OPERATIONS, Operation
from tests.support.openapi import DESCRIPTION
from tests.support.rich_things import OTHERS, TABLES

# Doors of other kinds, with tests of their own: links whose token is the right to use them, signed notices of vendors,
# administrators, SCIM, and organizations, which `tests/doors/web/organization/test_matrix.py` is about.
ELSEWHERE = re.compile(
    r"/(admin|api/notices|api/scim|api/public|organization|connect|static|settings/reminders)/|.*\{token\}"
)
PUBLIC_NAMES = re.compile(r".*\{(username|team|name|slug|vendor)\}")
EVENT_TYPE = {
    "name": "Intro",
    "slug": "intro",
    "duration": "30",
    "schedule": "{schedule_id}",
    "window": "rolling",
    "window_days": "30",
    "notice": "1",
    "notice_unit": "hours",
    "buffer_before": "0",
    "buffer_after": "0",
    "seats": "1",
}
HOURS = {"first": "2026-03-19", "last": "2026-03-19", "kind": "closed"}
# What the forms need that may not be empty. What the REST API takes is in its description.
FORMS = {
    "/availability/{schedule_id}/days": HOURS,
    "/availability/{schedule_id}/days/{day}": HOURS,
    "/availability/{schedule_id}/details": {"name": "Hours", "timezone": "Berlin"},
    "/bookings/{booking_id}/hand-over": {"place": "{user_id}"},
    "/bookings/{booking_id}/no-show": {"no_show": "yes"},
    "/bookings/{booking_id}/reschedule": {"start": "2026-03-19T12:00:00+00:00"},
    "/contacts/imports/{import_id}/start": {"column": "email"},
    "/contacts/{contact_id}/edit": {"name": "Jonas", "email": "jonas@okafor.example"},
    "/conversations/{conversation_id}/reply": {"content": "At ten"},
    "/event-types/{event_type_id}": EVENT_TYPE,
    "/event-types/{event_type_id}/links": {"uses": "1"},
    "/event-types/{event_type_id}/preview": EVENT_TYPE,
    "/event-types/{event_type_id}/wait-list": {"is_on": "on", "minutes": "30"},
    "/home/no-show/{booking_id}": {"no_show": "yes"},
    "/payments/{payment_id}/refund": {"everything": "on"},
    "/settings/calendars/{connection_id}": {"unreadable": "close"},
    "/settings/calendars/{connection_id}/password": {"password": "another one"},
    "/settings/messages/{connection_id}/test": {"phone": "+493012345679"},
    "/settings/messages/{connection_id}/token": {"token": "0123456789abcdef0123456789abcdef"},
    "/settings/webhooks/{endpoint_id}/edit": {"url": "http://127.0.0.1:9/hook"},
    "/settings/webhooks/{endpoint_id}/replay": {"from": "2026-03-15", "to": "2026-03-16"},
}


def list_operations() -> list[Operation]:
    named = [one for one in OPERATIONS if "{" in one.path]
    return [one for one in named if not ELSEWHERE.match(one.path) and not PUBLIC_NAMES.match(one.path)]


def list_names(path: str) -> list[str]:
    """List the ids that a path takes, as the tables above call them."""
    found = re.findall(r"\{(\w+)\}", path)
    keys = [_find_key(path, name) for name in found]
    assert None not in keys, f"{path}: name the tables of {found}"
    return [key for key in keys if key is not None]


def _find_key(path: str, name: str) -> str | None:
    beginning = "/".join(path.split("/")[:3])
    return next((key for key in (f"{path} {name}", f"{beginning} {name}", name) if key in {*TABLES, *OTHERS}), None)


def fill(path: str, ids: Mapping[str, str]) -> str:
    """Put ids into a path."""
    values = iter(list_names(path))
    return re.sub(r"\{\w+\}", lambda _: ids[next(values)], path)


def write_body(operation: Operation, own: Mapping[str, str]) -> Any:
    """Write what an operation takes: an example of each field of the API, and of a form what it can't do without."""
    if not operation.path.startswith("/api/"):
        return {name: value.format(**own) for name, value in FORMS.get(operation.path, {}).items()}
    described = DESCRIPTION["paths"][operation.path][operation.method.lower()]
    if "requestBody" not in described:
        return None
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    reference = next(each for each in (schema, *schema.get("anyOf", ())) if "$ref" in each)["$ref"]
    fields = DESCRIPTION["components"]["schemas"][reference.rpartition("/")[2]]["properties"]
    examples = {name: _find_example(field) for name, field in fields.items()}
    return {name: value for name, value in examples.items() if value is not None}


def _find_example(schema: Mapping[str, Any]) -> Any:
    shapes = (schema, *schema.get("anyOf", ()))
    return next((shape["examples"][0] for shape in shapes if "examples" in shape), None)


async def send(
    client: httpx2.AsyncClient, operation: Operation, ids: Mapping[str, str], own: Mapping[str, str]
) -> httpx2.Response:
    """Ask about these ids; `own` is what the asker may name in a form."""
    body, content, kind = write_body(operation, own), b"", ""
    if operation.method != "GET" and operation.path.startswith("/api/"):
        content, kind = b"" if body is None else msgspec.json.encode(body), "application/json"
    elif operation.method != "GET":
        # What is unknown in a form is left out.
        content, kind = urlencode({"x": "y", **body}).encode(), "application/x-www-form-urlencoded"
    headers = {"Content-Type": kind} if kind else {}
    return await client.request(operation.method, fill(operation.path, ids), content=content, headers=headers)


def hide_ids(answer: httpx2.Response) -> tuple[int, bytes]:
    """Return what an answer is, apart from the ids that were asked about."""
    shown = answer.content
    for each in re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer.request.url.path):
        shown = shown.replace(each.encode(), b"ID")
    return answer.status_code, shown
