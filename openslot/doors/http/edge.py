"""The edge: what happens to every request before and after its handler, from the first ASGI message to the last."""

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import quote_from_bytes

import structlog
from prometheus_client import Histogram

from openslot.domains.access.door import client_address
from openslot.domains.allowances.operations import CLIENT_ADDRESS
from openslot.doors.http.compression import compress_public
from openslot.doors.http.doors import SAFE, Exchange, Headers, count, get_user
from openslot.doors.http.errors import RequestTooLarge, UnsupportedMediaType, translate
from openslot.doors.http.handlers import run
from openslot.doors.http.router import Router, find_handler, normalize
from openslot.platform.core.config import Networks
from openslot.platform.core.errors import Invalid, NotFound
from openslot.platform.core.ids import new_id_text
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import Text
from openslot.platform.routing import Response, Stream

AsgiScope = dict[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]

LONGEST_TARGET = 8 * 1024
ASCII = bytes(range(128))
HOST = re.compile(r"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")
CLIENT_GONE = 499
PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-max-age": "86400",
}
# With 304, a length would be that of the client's copy.
WITHOUT_LENGTH = frozenset({204, 304})
REQUESTS = Histogram(
    "openslot_request_seconds",
    "Time from a request's arrival to its answer.",
    ("door", "route", "method", "status"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
# Other methods are not used as labels: callers could create any number of series.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

log = structlog.get_logger()


class ClientGone(Exception):
    """The client disconnected before it had sent its whole body."""


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
        method = exchange.method if exchange.method in METHODS else "other"
        _series(exchange.door.name, exchange.template or "none", method, status).observe(seconds)
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
        CLIENT_ADDRESS.set(exchange.address)
        return exchange


def _not_open() -> Runtime:
    raise RuntimeError("the app has not been started")


async def _serve(exchange: Exchange, receive: Receive) -> Response:
    if exchange.method == "OPTIONS":
        return _options(exchange)
    door = exchange.door
    if door.admit is not None:
        door.admit(exchange)
    exchange.entry = await door.enter(exchange)
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
    response = await run(handler, exchange, values)
    return compress_public(exchange, response) if handler.declaration.is_public else response


def _options(exchange: Exchange) -> Response:
    """List the methods of a path without authentication: a browser asks before it sends credentials."""
    if _find_reader(exchange) is not None:
        allowed = {"access-control-allow-headers": exchange.door.allowed_headers}
        return Response(status=204, headers={**PREFLIGHT, **allowed})
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


# benchmarks/caches.py: find the series of a request, in every request, 4.2 times
@lru_cache(maxsize=4096)
def _series(door: str, route: str, method: str, status: int) -> Histogram:
    # Looking up a series by its labels costs more than incrementing it.
    return REQUESTS.labels(door, route, method, status)


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


def address_of(scope: AsgiScope, trusted: Networks) -> str:
    """Return the client's address for rate limits; several `X-Forwarded-For` lines count as one list."""
    peer = scope["client"][0] if scope["client"] else None
    if not trusted:
        return client_address(peer, None, trusted)
    lines = (value for name, value in scope["headers"] if name == b"x-forwarded-for")
    return client_address(peer, b",".join(lines).decode("latin-1"), trusted)


def check_target(exchange: Exchange) -> None:
    """Refuse an unprintable path and a target that is too long, and encode the query so that it can be parsed."""
    path, query = exchange.path, exchange.query_string
    if len(path) + len(query) > LONGEST_TARGET:
        raise Invalid(Text("The address must not be longer than 8 KiB"))
    if not path.isprintable():
        raise NotFound
    if not query.isascii():
        exchange.query_string = quote_from_bytes(query, safe=ASCII).encode()


def check_host(headers: Headers) -> None:
    if HOST.fullmatch(headers.get("host", "")) is None:
        raise Invalid


def check_declared_size(headers: Headers, max_bytes: int) -> None:
    """Refuse a body that is too large by its own account."""
    declared = headers.get("content-length", "")
    if len(declared) > 9 or (declared.isdecimal() and int(declared) > max_bytes):
        raise _too_large(max_bytes)


async def read_body(exchange: Exchange, receive: Receive, *, max_bytes: int) -> bytes:
    """Read a whole body, or refuse one that is too large as soon as that is known."""
    check_declared_size(exchange.headers, max_bytes)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        if not message.get("more_body"):
            return bytes(body)


def check_media_type(exchange: Exchange) -> None:
    """Refuse a body of a media type that the door does not accept, or that is compressed."""
    media_types = exchange.door.media_types
    if not exchange.body or not media_types:
        return
    if exchange.media_type not in media_types:
        raise UnsupportedMediaType(f"The body must be {media_types[0]}")
    if exchange.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaType("The body must not be compressed")


def _too_large(max_bytes: int) -> RequestTooLarge:
    return RequestTooLarge(f"The body must not be larger than {max_bytes // 1024} KiB")


async def send_response(send: Send, exchange: Exchange, response: Response) -> None:
    """Send a whole response; HEAD gets everything except the body."""
    stream = response.body if isinstance(response.body, Stream) else None
    body = response.body if isinstance(response.body, bytes) else b""
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
    headers += [(b"set-cookie", cookie.written().encode("latin-1")) for cookie in response.cookies]
    if response.status not in WITHOUT_LENGTH:
        headers.append((b"content-length", b"%d" % (stream.size if stream else len(body))))
    await send({"type": "http.response.start", "status": response.status, "headers": _complete(headers, exchange)})
    if stream and exchange.method != "HEAD":
        async for piece in stream.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"" if exchange.method == "HEAD" else body})


def _complete(headers: list[tuple[bytes, bytes]], exchange: Exchange) -> list[tuple[bytes, bytes]]:
    door = exchange.door
    own = [name for name, _ in headers]
    headers.append((b"x-request-id", exchange.request_id.encode()))
    headers += [header for header in door.headers if header[0] not in own]
    limit = exchange.entry.limit
    if limit is not None and b"ratelimit-limit" not in own:
        headers += [
            (b"RateLimit-Limit", b"%d" % limit.limit),
            (b"RateLimit-Remaining", b"%d" % limit.left),
            (b"RateLimit-Reset", b"%d" % limit.retry_after),
        ]
    reader = _find_reader(exchange)
    if reader is not None:
        headers.append((b"access-control-allow-origin", reader.encode("latin-1")))
        headers.append((b"access-control-expose-headers", door.exposed_headers.encode()))
    if door.open_to is not None:
        headers.append((b"vary", b"Origin"))
    return headers


def _find_reader(exchange: Exchange) -> str | None:
    """Name the origin whose pages may read the response; no cookie is ever sent along."""
    door = exchange.door
    if door.open_to_other_origins:
        return "*"
    return door.open_to(exchange) if door.open_to is not None else None
