"""Incoming requests: the client's address, the requested path, and a body of a size and type that the door accepts."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote_from_bytes

from openslot.access.addresses import client_address
from openslot.core.config import Networks
from openslot.core.errors import Invalid, NotFound
from openslot.http.doors import AsgiScope, Exchange, Headers
from openslot.http.errors import TooLarge, UnsupportedMedia
from openslot.i18n import Text

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
    """Refuse a malformed host."""
    if HOST.fullmatch(headers.get("host", "")) is None:
        raise Invalid


def check_declared_size(headers: Headers, most_bytes: int) -> None:
    """Refuse a body that is too large by its own account."""
    declared = headers.get("content-length", "")
    if len(declared) > 9 or (declared.isdecimal() and int(declared) > most_bytes):
        raise _too_large(most_bytes)


async def read_body(exchange: Exchange, receive: Receive, *, most_bytes: int) -> bytes:
    """Read a whole body, or refuse one that is too large as soon as that is known."""
    check_declared_size(exchange.headers, most_bytes)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
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


def _too_large(most_bytes: int) -> TooLarge:
    return TooLarge(f"The body must not be larger than {most_bytes // 1024} KiB")
