"""Strict-Transport-Security: with every answer of a service that the world reaches by https, and with no other's."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app, doors
from openslot.doors.http.security import api_headers
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from tests.support import live
from tests.support.live import connect, serving
from tests.support.malformed import MALFORMED

HEADER = "strict-transport-security"
TWO_YEARS = "max-age=63072000"
# One path of every door, of those of tomorrow too, and what is answered in other ways.
PATHS = sorted({prefix for door in doors(load_settings({}, environ={})) for prefix in door.prefixes})
ASKED = [
    *(("GET", path) for path in PATHS),
    ("HEAD", "/login"),
    ("POST", "/login"),
    ("GET", "/account"),
    ("GET", "/nobody/nothing"),
    ("GET", "/static/style.css"),
    ("GET", "/static/nothing.css"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/v1/me"),
    ("DELETE", "/api/v1/me"),
    ("OPTIONS", "/api/v1/me"),
    ("OPTIONS", "/api/public/holds"),
    ("POST", "/api/public/holds"),
    ("GET", "/api/scim/v2/Users"),
    ("POST", "/mcp"),
    ("POST", "/mcp/public"),
    ("POST", "/oauth/token"),
    ("GET", "/oauth/authorize"),
    ("GET", "/.well-known/oauth-authorization-server"),
]


@pytest.fixture
async def at(settings: Settings, base_url: str | None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """Serve what the world reaches at an address."""
    chosen = replace(settings, base_url=base_url)
    monkeypatch.setattr(live, "Settings", lambda: chosen)
    async with serving(create_app(chosen)) as here:
        yield here


REACHED = pytest.mark.parametrize(
    ("base_url", "told"),
    [
        ("https://slots.example", [TWO_YEARS]),
        ("https://slots.example:8443/", [TWO_YEARS]),
        # A browser that once believed it could not come back for two years.
        ("http://slots.example", []),
        (None, []),
    ],
)


@REACHED
async def test_every_door_says_so_where_the_world_comes_by_https_and_none_elsewhere(at: str, told: list[str]) -> None:
    async with connect(at) as client:
        for method, path in ASKED:
            answer = await client.request(method, path)
            assert answer.headers.get_list(HEADER) == told, (method, path, answer.status_code)


def test_subdomains_are_included_only_if_the_operator_has_said_so(settings: Settings) -> None:
    there = replace(settings, base_url="https://slots.example")
    told = [dict(api_headers(replace(there, hsts_subdomains=chosen)))[HEADER.encode()] for chosen in (False, True)]

    assert told == [b"max-age=63072000", b"max-age=63072000; includeSubDomains"]


@REACHED
async def test_so_does_a_refusal_that_comes_before_any_door(at: str, told: list[str]) -> None:
    place = httpx2.URL(at)
    reader, writer = await asyncio.open_connection(place.host, place.port)
    writer.write(MALFORMED["an unknown method"])
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode("latin-1").lower()
    writer.close()
    await writer.wait_closed()

    assert head.startswith("http/1.1 400 ")
    assert [line.partition(": ")[2] for line in head.split("\r\n") if line.startswith(f"{HEADER}:")] == [
        each.lower() for each in told
    ]
