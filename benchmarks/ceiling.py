"""The ceiling: bare ASGI, one primary-key SELECT, 200 bytes of JSON; nothing in Python on this stack is faster."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import asyncpg

Message = MutableMapping[str, Any]
QUERY = "select body from ceiling where id = $1"
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"200")]


class Ceiling:
    """Answers every request with one row."""

    def __init__(self) -> None:
        self._pool: Any = None

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Serve the pool's lifetime, or one request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        body = await self._pool.fetchval(QUERY, int(scope["path"][1:]))
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": body.encode()})

    async def _live(
        self, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        await receive()
        self._pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=10, max_size=10, reset=_keep)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._pool.close()
        await send({"type": "lifespan.shutdown.complete"})


async def _keep(_: object) -> None:
    return


app = Ceiling()
