"""The edge: what happens to every request before and after its handler."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import structlog

from openslot.core.errors import NotFound
from openslot.core.ids import new_id_text
from openslot.core.work import Runtime
from openslot.http import health
from openslot.http.asgi import (
    ClientGone,
    Receive,
    Send,
    address_of,
    check_host,
    check_media_type,
    check_target,
    read_body,
    send_response,
)
from openslot.http.doors import AsgiScope, Exchange, get_user
from openslot.http.errors import translate
from openslot.http.limits import SAFE, count
from openslot.http.router import Router, find_handler, normalize
from openslot.http.running import run
from openslot.routing import Response


async def live(lifetime: AbstractAsyncContextManager[Any], receive: Receive, send: Send) -> None:
    """Keep a context open from the server's startup to its shutdown, and report to the server if either fails."""
    await receive()
    stage = "startup"
    try:
        async with lifetime:
            await send({"type": "lifespan.startup.complete"})
            await receive()
            stage = "shutdown"
    except BaseException as fault:
        await send({"type": f"lifespan.{stage}.failed", "message": str(fault)})
        raise
    await send({"type": "lifespan.shutdown.complete"})


CLIENT_GONE = 499
PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "Content-Type, Idempotency-Key",
    "access-control-max-age": "86400",
}

log = structlog.get_logger()


class App:
    """The ASGI app: authentication, rate limits, size limits, transactions and response headers."""

    def __init__(self, router: Router, open_runtime: Callable[[], AbstractAsyncContextManager[Runtime]]) -> None:
        self.router = router
        self._open_runtime = open_runtime
        self._runtime: Callable[[], Runtime] = _not_open

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one request; after any error, the answer still has the form of its door."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await live(self._lifetime(), receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "No WebSockets here"})

    @asynccontextmanager
    async def _lifetime(self) -> AsyncIterator[None]:
        async with self._open_runtime() as runtime:
            self._runtime = lambda: runtime
            yield

    async def _answer(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        exchange = self._begin(scope)
        status = CLIENT_GONE
        try:
            response = await _serve(exchange, receive)
        except ClientGone:
            response = None
        except Exception as exception:  # noqa: BLE001 - the edge is the one place where nothing may pass
            response = exchange.door.refuse(translate(exception), exchange)
        if response is not None:
            status = response.status
            if exchange.door.answered is not None:
                await exchange.door.answered(exchange, response)
            await send_response(send, exchange, response)
        seconds = time.perf_counter() - began
        health.observe(exchange.door.name, exchange.template, exchange.method, status, seconds=seconds)
        log.debug("request", method=exchange.method, route=exchange.template, status=status)

    def _begin(self, scope: AsgiScope) -> Exchange:
        runtime = self._runtime()
        path = scope["path"]
        if path[:1] != "/" or path[-1] == "/" or "//" in path:
            path = normalize(path)
        door, found = self.router.find(path)
        exchange = Exchange(
            runtime=runtime,
            door=door,
            found=found,
            request_id=new_id_text(),
            method=scope["method"],
            path=path,
            query_string=scope["query_string"],
            headers={name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]},
            address=address_of(scope, runtime.settings.trusted_proxies),
            peer=scope["client"][0] if scope["client"] else None,
        )
        structlog.contextvars.bind_contextvars(request_id=exchange.request_id)
        return exchange


def _not_open() -> Runtime:
    raise RuntimeError("the app has not been started")


async def _serve(exchange: Exchange, receive: Receive) -> Response:
    if exchange.method == "OPTIONS":
        return _options(exchange)
    door = exchange.door
    if door.admit is not None:
        door.admit(exchange)
    exchange.entry = await door.enter(exchange.runtime, exchange.headers, exchange.address)
    await count(exchange)
    check_target(exchange)
    if exchange.method not in SAFE:
        exchange.body = await read_body(exchange, receive, max_bytes=_max_bytes(exchange))
        check_media_type(exchange)
    check_host(exchange.headers)
    handler, values = find_handler(exchange)
    exchange.template = handler.template
    if door.check is not None:
        door.check(exchange)
    return await run(handler, exchange, values)


def _options(exchange: Exchange) -> Response:
    """List the methods of a path without authentication: a browser asks before it sends credentials."""
    if exchange.door.open_to_other_origins:
        return Response(status=204, headers=PREFLIGHT)
    check_host(exchange.headers)
    if exchange.found is None:
        raise NotFound
    return Response(status=204, headers={"allow": exchange.found[0].allowed})


def _max_bytes(exchange: Exchange) -> int:
    handler = exchange.found[0].handlers.get(exchange.method) if exchange.found else None
    declared = handler.declaration.max_bytes if handler else None
    if handler is None or declared is None:
        return exchange.door.max_bytes
    if ("user", get_user) in handler.given:
        # A large file of somebody who may not send it is not kept in memory first.
        get_user(exchange)
    return declared
