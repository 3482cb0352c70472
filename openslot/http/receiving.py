"""What comes in: the client's address, the path asked for, and a body of a size and kind that the door takes."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote_from_bytes

from openslot.access.addresses import client_address
from openslot.core.config import Networks
from openslot.core.errors import Invalid, NotFound, TooLarge, UnsupportedMedia
from openslot.http.doors import Headers, Scope, Visit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

MOST_BYTES = 256 * 1024
LONGEST_TARGET = 8 * 1024
ASCII = bytes(range(128))
# What the framework takes as a host; nobody should be able to tell by it who answers.
HOST = re.compile(r"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")


class ClientGone(Exception):  # noqa: N818 - names what happened; nobody is left to be answered
    """The client went away before it had sent its whole body."""


def address_of(scope: Scope, trusted: Networks) -> str:
    """Name the client for counting; several `X-Forwarded-For` lines are one list."""
    peer = scope["client"][0] if scope["client"] else None
    if not trusted:
        return client_address(peer, None, trusted)
    lines = (value for name, value in scope["headers"] if name == b"x-forwarded-for")
    return client_address(peer, b",".join(lines).decode("latin-1"), trusted)


def check_target(scope: Scope) -> None:
    """Refuse a path that names nothing and a target without end; make the query what the parser can read."""
    path, query = scope["path"], scope["query_string"]
    if len(path) + len(query) > LONGEST_TARGET:
        raise Invalid("The address must not be longer than 8 KiB")
    if not path.isprintable():
        raise NotFound
    if not query.isascii():
        scope["query_string"] = quote_from_bytes(query, safe=ASCII).encode()


def check_host(headers: Headers) -> None:
    """Refuse a host that can't be one."""
    if HOST.fullmatch(headers.get("host", "")) is None:
        raise Invalid


async def read_body(visit: Visit, receive: Receive) -> bytes:
    """Read a whole body, or refuse one that is too large as soon as that is known."""
    declared = visit.headers.get("content-length", "")
    if len(declared) > 9 or (declared.isdecimal() and int(declared) > MOST_BYTES):
        raise _too_large()
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            raise _too_large()
        if not message.get("more_body"):
            return bytes(body)


def check_media_type(visit: Visit) -> None:
    """Refuse a body that is not of the door's kind, or that is packed."""
    if not visit.body or not visit.door.media_types:
        return
    given = visit.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in visit.door.media_types:
        raise UnsupportedMedia(f"The body must be {visit.door.media_types[0]}")
    if visit.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMedia("The body must not be compressed")


def _too_large() -> TooLarge:
    return TooLarge("The body must not be larger than 256 KiB")
