"""A network stream that limits how many bytes it returns."""

from contextlib import suppress

import httpcore2

MOST_HEADER_BYTES = 65536
MOST_UNSENT_BYTES = 65536


class ResponseTooLong(Exception):
    """The other side sent more than it may."""


class MeteredStream(httpcore2.AsyncNetworkStream):
    """Sends the parts of a request together, and counts what is received."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._unsent = b""
        self._left = 0

    def expect_headers(self) -> None:
        """Allow as many bytes as headers may need."""
        self._left = MOST_HEADER_BYTES

    def expect_body(self, at_most: int) -> None:
        """Also allow a body of up to this many bytes."""
        # Twice as many, for the framing of chunks; beyond that a body is too long, however little of it is content.
        self._left += 2 * at_most

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the parent's
        """Return received bytes, up to the remaining limit."""
        if self._left <= 0:
            raise ResponseTooLong
        # A server may have answered and closed before reading everything: its answer can still be read.
        with suppress(httpcore2.WriteError):
            await self._send_rest(timeout)
        data = await self._stream.read(min(max_bytes, self._left), timeout)
        self._left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the parent's
        """Send the bytes; small writes are combined with those that follow."""
        self._unsent += buffer
        if len(self._unsent) > MOST_UNSENT_BYTES:
            await self._send_rest(timeout)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> object:
        """Return what the underlying stream knows."""
        return self._stream.get_extra_info(info)

    async def _send_rest(self, timeout: float | None) -> None:  # noqa: ASYNC109 - the parent's
        unsent, self._unsent = self._unsent, b""
        if unsent:
            await self._stream.write(unsent, timeout)
