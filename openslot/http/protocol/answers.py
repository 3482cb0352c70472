"""Responses as bytes: the head of a response, and complete refusals that were not made by the app."""

from collections.abc import Iterable
from http import HTTPStatus

import msgspec

from openslot.core.errors import Refusal
from openslot.core.ids import new_id_text
from openslot.http.refusals import headers_of, status_of

Header = tuple[bytes, bytes]

STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}".encode() for status in HTTPStatus}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE: Header = (b"connection", b"close")


def write_head(status: int, headers: list[Header]) -> bytes:
    """Write a response's head; a header that contains a line break is never sent."""
    lines = [b"%b: %b" % header for header in headers]
    text = b"".join(lines)
    if b"\r" in text or b"\n" in text or b"\0" in text:
        raise ValueError("a header of the response has a line break or a NUL in it")
    line = STATUS_LINES.get(status) or b"HTTP/1.1 %d " % status
    return b"\r\n".join((line, *lines, b"", b""))


def write_refusal(refusal: Refusal, headers: Iterable[Header]) -> bytes:
    """Write a refusal in the API's form, as the last response on its connection."""
    body = msgspec.json.encode({"error": refusal.message})
    own = [(name.lower().encode(), value.encode()) for name, value in headers_of(refusal).items()]
    all_headers = [
        *headers,
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-request-id", new_id_text().encode()),
        (b"x-error-code", refusal.code.encode()),
        *own,
        CLOSE,
    ]
    return write_head(status_of(refusal), all_headers) + body
