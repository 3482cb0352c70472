"""Sends a response, once, with the headers that every response has."""

from collections.abc import Awaitable, Callable

from openslot.http.doors import Exchange
from openslot.http.receiving import AsgiMessage
from openslot.http.refusals import limit_headers
from openslot.routing import Response, Stream

Send = Callable[[AsgiMessage], Awaitable[None]]

# With 304, a length would be that of the client's copy.
WITHOUT_LENGTH = frozenset({204, 304})
ANY_ORIGIN = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After, X-Request-Id, Idempotent-Replayed"),
)


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
        told = limit_headers(limit.limit, limit.left, limit.retry_after)
        headers += [(name.encode(), value.encode()) for name, value in told.items()]
    if door.open_to_other_origins:
        headers += ANY_ORIGIN
    return headers
