"""Ask an app without a server: one request in, one answer out, from whichever address."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

from msgspec import Struct


class Sent(Struct, frozen=True, kw_only=True):
    """What an app has answered."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@asynccontextmanager
async def running(app: Any) -> AsyncIterator[None]:
    """Start an app and stop it in the end, as a server does."""
    inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    outbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {}, "state": {}}, inbox.get, outbox.put))
    for kind in ("startup", "shutdown"):
        await inbox.put({"type": f"lifespan.{kind}"})
        told = await outbox.get()
        assert told["type"] == f"lifespan.{kind}.complete", told
        if kind == "startup":
            yield
    await task


async def ask(
    app: Any, method: str, target: str, *, headers: dict[str, str], body: bytes = b"", address: str = "127.0.0.1"
) -> Sent:
    """Send one request as uvicorn would hand it on."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": (address, 1),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }
    messages: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        messages.append(dict(message))

    await app(scope, receive, send)
    start, *parts = messages
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in start["headers"]]
    return Sent(status=start["status"], headers=pairs, body=b"".join(part.get("body", b"") for part in parts))
