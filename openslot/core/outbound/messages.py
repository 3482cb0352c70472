"""Requests as they are sent and responses as they are read, and what it means if either fails."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Literal

import httpcore2
import httpx2

from openslot.core.outbound.connections import ResponseTooLong
from openslot.core.outbound.errors import (
    BROKEN_OFF,
    MANY_HEADERS,
    NOT_HTTP,
    PACKED,
    SLOW_TO_ANSWER,
    TOO_MUCH,
    FailureKind,
    OutboundFailed,
    OutboundReason,
    OutboundRefused,
)
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


@contextmanager
def told_as_failures(host: str) -> Iterator[None]:
    """Turn exceptions of the network into a failure that names the host."""
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as fault:
        raise OutboundFailed(FailureKind.TIMEOUT, SLOW_TO_ANSWER.fill(host=host)) from fault
    except ResponseTooLong as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, MANY_HEADERS.fill(host=host)) from fault
    except httpcore2.ProtocolError as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, NOT_HTTP.fill(host=host)) from fault
    except httpcore2.NetworkError as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, BROKEN_OFF.fill(host=host)) from fault


def build_response(
    request: httpx2.Request, response: httpcore2.Response, stream: httpx2.AsyncByteStream
) -> httpx2.Response:
    """Build the response without access to its connection, dropping a Location header that is not a URL."""
    headers = httpx2.Headers(response.headers)
    if "location" in headers and not _is_url(headers["location"], request.url):
        del headers["location"]
    extensions = {name: response.extensions[name] for name in ("http_version", "reason_phrase")}
    return httpx2.Response(response.status, headers=headers, stream=stream, extensions=extensions)


def _is_url(location: str, base: httpx2.URL) -> bool:
    # The client parses the header in the same steps, even if it does not follow it, and would raise an unrelated error.
    try:
        url = httpx2.URL(location)
        if url.scheme and not url.host:
            url.copy_with(host=base.host)
        if url.is_relative_url:
            base.join(url)
    except (httpx2.InvalidURL, ValueError):
        return False
    return True


class BoundedStream(httpx2.AsyncByteStream):
    """Yields a body's bytes as they arrive, fails beyond its limits, and releases the connection when closed."""

    def __init__(
        self,
        response: httpcore2.Response,
        *,
        host: str,
        at_most: int,
        finish_by: float,
        packed_bodies: Literal["refused", "as they came"],
        release: Callable[[], Awaitable[None]],
    ) -> None:
        self._response = response
        self._host = host
        self._at_most = at_most
        self._finish_by = finish_by
        self._is_refused = packed_bodies == "refused" and _is_packed(response)
        self._release = release

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._at_most
        async with aclosing(self._response.aiter_stream()) as chunks:
            while (chunk := await self._find_chunk(chunks)) is not None:
                yield chunk[:left]
                left -= len(chunk)
                if left < 0:
                    raise self._too_large()

    async def aclose(self) -> None:
        """Discard what was not read, and release the connection."""
        try:
            await self._response.aclose()
        finally:
            await self._release()

    async def _find_chunk(self, chunks: AsyncGenerator[bytes]) -> bytes | None:
        with told_as_failures(self._host):
            async with asyncio.timeout(self._finish_by - time.monotonic()):
                try:
                    chunk = await anext(chunks, None)
                except ResponseTooLong:
                    raise self._too_large() from None
        if chunk and self._is_refused:
            # A few compressed bytes could expand to more than memory holds.
            raise OutboundFailed(FailureKind.PROTOCOL, PACKED.fill(host=self._host))
        return chunk

    def _too_large(self) -> OutboundFailed:
        return OutboundFailed(FailureKind.TOO_LARGE, TOO_MUCH.fill(host=self._host, count=self._at_most))


def _is_packed(response: httpcore2.Response) -> bool:
    return any(name.lower() == b"content-encoding" and value.lower() != b"identity" for name, value in response.headers)
