"""The app as a server sees it: it starts, ends and starts again, and takes nothing but HTTP."""

import asyncio
from typing import Any

import httpx2
import pytest
from prometheus_client import REGISTRY

from openslot.app import create_app
from openslot.platform.core.config import Settings
from tests.doors.http.golden.asgi import running
from tests.support.live import connect, serving


async def test_one_app_can_be_served_twice(settings: Settings, bearer: dict[str, str]) -> None:
    app = create_app(settings)
    for _ in range(2):
        async with serving(app) as url, connect(url) as client:
            assert (await client.get("/api/v1/me", headers=bearer)).status_code == 200


async def test_what_is_neither_http_nor_lifespan_is_closed(settings: Settings) -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await create_app(settings)({"type": "websocket", "path": "/api/v1/me"}, asyncio.Event().wait, send)  # type: ignore[arg-type]

    assert [message["type"] for message in sent] == ["websocket.close"]


async def test_every_request_is_counted_by_door_route_method_and_status(
    client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    labels = {"door": "rest", "route": "/api/v1/me", "method": "GET", "status": "200"}
    before = REGISTRY.get_sample_value("openslot_request_seconds_count", labels) or 0
    await client.get("/api/v1/me", headers=bearer)

    assert REGISTRY.get_sample_value("openslot_request_seconds_count", labels) == before + 1


@pytest.mark.parametrize("path", ["/contacts/import", "/settings/profile/photo"])
async def test_a_large_file_is_read_only_from_who_is_signed_in(settings: Settings, path: str) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        pytest.fail("the body was read")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"multipart/form-data; boundary=x")],
        "client": ("127.0.0.1", 1),
    }
    app = create_app(settings)
    async with running(app):
        await app(scope, receive, send)

    assert sent[0]["status"] == 303
    assert (b"location", b"/login?next=/") in sent[0]["headers"]
