"""Messages of ASGI: a request's head and body are received, and a response is sent, once."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote_from_bytes

from openslot.access.addresses import client_address
from openslot.core.config import Networks
from openslot.core.errors import Invalid, NotFound
from openslot.http.doors import AsgiScope, Exchange, Headers
from openslot.http.errors import TooLarge, UnsupportedMedia, limit_headers
from openslot.i18n import Text
from openslot.routing import Response, Stream

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]

LONGEST_TARGET = 8 * 1024
ASCII = bytes(range(128))
HOST = re.compile(r"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")


class ClientGone(Exception):
    """The client disconnected before it had sent its whole body."""


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
    if media_type_of(exchange.headers) not in media_types:
        raise UnsupportedMedia(f"The body must be {media_types[0]}")
    if exchange.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMedia("The body must not be compressed")


def media_type_of(headers: Headers) -> str:
    """Return the media type of a body, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"The body must not be larger than {max_bytes // 1024} KiB")


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
        limits = limit_headers(limit.limit, limit.left, limit.retry_after)
        headers += [(name.encode(), value.encode()) for name, value in limits.items()]
    if door.open_to_other_origins:
        headers += ANY_ORIGIN
    return headers
