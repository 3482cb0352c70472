"""Builds httpx2 responses: headers that are safe to process, and a body with limits of size and time."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Literal

import httpcore2
import httpx2

from openslot.core.outbound.errors import PACKED, TOO_MUCH, FailureKind, OutboundFailed
from openslot.core.outbound.failures import told_as_failures
from openslot.core.outbound.streams import ResponseTooLong


def build_response(
    request: httpx2.Request, response: httpcore2.Response, stream: httpx2.AsyncByteStream
) -> httpx2.Response:
    """Build the response without access to its connection, dropping a Location header that is not a URL."""
    headers = httpx2.Headers(response.headers)
    if "location" in headers and not _is_url(headers["location"], request.url):
        del headers["location"]
    told = {name: response.extensions[name] for name in ("http_version", "reason_phrase")}
    return httpx2.Response(response.status, headers=headers, stream=stream, extensions=told)


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
