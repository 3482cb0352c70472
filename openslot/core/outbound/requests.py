"""Checks a request's method and headers, and builds what is sent."""

import re
from collections.abc import Mapping

import httpcore2
import httpx2

from openslot.core.outbound.errors import OutboundReason, OutboundRefused
from openslot.core.outbound.targets import OutboundTarget

METHOD = re.compile(r"[A-Z]+(?:-[A-Z]+)*")
LONGEST_METHOD = 20
CLOSED_METHODS = frozenset({"CONNECT", "TRACE"})
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")

OWN_HEADERS = frozenset({"host", "connection", "accept-encoding"})
FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding"})
CLOSED_HEADERS = frozenset({"expect", "upgrade", "te", "keep-alive", "proxy-connection"})


def check_method(method: str) -> None:
    """Refuse a method that is not a plain request."""
    if len(method) > LONGEST_METHOD or not METHOD.fullmatch(method) or method in CLOSED_METHODS:
        raise OutboundRefused(OutboundReason.METHOD)


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse a caller's header that is malformed or controls how the request is sent."""
    for name, value in headers.items():
        if name.lower() in OWN_HEADERS | FRAMING_HEADERS:
            raise OutboundRefused(OutboundReason.HEADERS)
        _check_header(name, value)


def build_request(request: httpx2.Request, target: OutboundTarget, *, connection: str) -> httpcore2.Request:
    """Build the request for its target, with the connection headers that only we may set."""
    check_method(request.method)
    # Callers must not set other extensions, such as another name for TLS or another request line.
    timeouts = {name: request.extensions.get("timeout", {}).get(name) for name in ("read", "write")}
    return httpcore2.Request(
        request.method,
        httpcore2.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
        ),
        headers=[
            ("Host", target.host_header),
            ("Connection", connection),
            # Responses are not decompressed: a few bytes could expand to more than memory holds.
            ("Accept-Encoding", "identity"),
            *_read_headers(request),
        ],
        content=request.stream,
        extensions={"timeout": timeouts},
    )


def _read_headers(request: httpx2.Request) -> list[tuple[str, str]]:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
    headers = [(name, value) for name, value in headers if name.lower() not in OWN_HEADERS]
    for name, value in headers:
        _check_header(name, value)
    # With two lengths, the server might see the end of the body in another place than we do.
    if sum(name.lower() in FRAMING_HEADERS for name, _ in headers) > 1:
        raise OutboundRefused(OutboundReason.HEADERS)
    return headers


def _check_header(name: str, value: str) -> None:
    if name.lower() in CLOSED_HEADERS or not HEADER_NAME.fullmatch(name) or not HEADER_VALUE.fullmatch(value):
        raise OutboundRefused(OutboundReason.HEADERS)
