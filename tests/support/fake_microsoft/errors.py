"""What Microsoft refuses, in the forms of Graph and of its login server, and what a request may ask for."""

import json
import re
from collections.abc import Collection
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from tests.support.fake_server import Answer, Request

JSON = {"Content-Type": "application/json;odata.metadata=minimal"}
PREFERENCE = re.compile(r'\s*([\w.-]+)\s*=\s*("[^"]*"|[\w.-]+)\s*')
PREFERENCES = {
    "idtype": re.compile("ImmutableId"),
    "outlook.timezone": re.compile(".+"),
    "outlook.body-content-type": re.compile("text|html"),
    "odata.maxpagesize": re.compile("[1-9][0-9]{0,3}"),
}

A = TypeVar("A")


class GraphRefusal(Exception):
    """A refusal with its status and its code."""

    def __init__(self, status: int, code: str, message: str = "refused", **headers: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answer = refuse(status, code, message, named)


class Preferences(Struct, frozen=True):
    """What the header `Prefer` of a request says."""

    is_immutable: bool = False
    zone: str | None = None
    page_size: int | None = None
    has_text_body: bool = False


def refuse(status: int, code: str, message: str = "refused", headers: dict[str, str] | None = None) -> Answer:
    """Write a refusal as Graph does."""
    inner = {"date": "2026-03-16T08:00:00", "request-id": "a", "client-request-id": "a"}
    body = {"error": {"code": code, "message": message, "innerError": inner}}
    return Answer(status, json.dumps(body).encode(), {**JSON, **(headers or {})})


def bad_request(message: str) -> GraphRefusal:
    return GraphRefusal(400, "BadRequest", message)


def not_found() -> GraphRefusal:
    return GraphRefusal(404, "ErrorItemNotFound", "The specified object was not found in the store.")


def write(status: int, body: Any, **headers: str) -> Answer:
    return Answer(status, json.dumps(body).encode(), {**JSON, **headers})


def read_preferences(request: Request) -> Preferences:
    """Read a header with one or more preferences; one that Outlook does not know is refused."""
    text = request.headers.get("prefer", "")
    found: dict[str, str] = {}
    for part in re.findall(r'(?:[^,"]|"[^"]*")+', text):
        match = PREFERENCE.fullmatch(part)
        if match is None or match[1].lower() not in PREFERENCES:
            raise bad_request(f"Prefer: {part}")
        name, value = match[1].lower(), match[2].strip('"')
        if name in found or not PREFERENCES[name].fullmatch(value):
            raise bad_request(f"Prefer: {part}")
        found[name] = value
    return Preferences(
        is_immutable="idtype" in found,
        zone=found.get("outlook.timezone"),
        page_size=int(found["odata.maxpagesize"]) if "odata.maxpagesize" in found else None,
        has_text_body=found.get("outlook.body-content-type") == "text",
    )


def read_query(request: Request, allowed: Collection[str] = ()) -> dict[str, str]:
    """Read the query; a parameter that this request does not have is refused."""
    pairs = parse_qsl(urlsplit(request.path).query, keep_blank_values=True)
    query = dict(pairs)
    if len(query) != len(pairs) or not set(query) <= set(allowed):
        raise bad_request(f"The query is not supported: {sorted(query)}")
    return query


def read_body(request: Request, shape: type[A]) -> A:
    """Read a body of JSON that has only known properties, with values of their types."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise GraphRefusal(415, "UnsupportedMediaType", "application/json is expected")
    try:
        return msgspec.json.decode(request.body, type=shape)
    except msgspec.DecodeError as fault:
        raise bad_request(str(fault)) from None


def select(query: dict[str, str], shown: dict[str, Any]) -> dict[str, Any]:
    """Leave out what `$select` leaves out."""
    if "$select" not in query:
        return shown
    wanted = {"id", *query["$select"].split(",")}
    kept = {"singleValueExtendedProperties"}
    return {name: value for name, value in shown.items() if name in wanted | kept or name.startswith("@odata.")}
