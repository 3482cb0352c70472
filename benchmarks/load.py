"""A load that costs little itself: raw bytes over keep-alive connections, a fixed number in flight."""

import asyncio
import itertools
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import cast

import msgspec
from msgspec import Struct

CONCURRENCY = 32


class Result(Struct, frozen=True, kw_only=True):
    """What a load has shown."""

    per_second: float
    p95_ms: float
    statuses: dict[int, int]


class Tally:
    """Counts the answers of one load, which may be sent in several parts."""

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        self.latencies: list[float] = []
        self.seconds = 0.0

    def add(self, status: int, latency: float) -> None:
        """Count an answer."""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.latencies.append(latency)

    def result(self) -> Result:
        """Sum up."""
        ranked = sorted(self.latencies)
        return Result(
            per_second=len(ranked) / self.seconds,
            p95_ms=ranked[int(len(ranked) * 0.95)] * 1000,
            statuses=self.statuses,
        )


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as the last one is answered."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future[None], tally: Tally) -> None:
        self._requests = requests
        self._done = done
        self._tally = tally
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._next()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._buffer.lower().find(b"content-length:", 0, head)
        length = int(self._buffer[at + 15 : self._buffer.find(b"\r\n", at)]) if at >= 0 else 0
        if len(self._buffer) < head + 4 + length:
            return
        self._tally.add(int(self._buffer[9:12]), time.perf_counter() - self._sent)
        self._buffer.clear()
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("the server closed the connection"))

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            if not self._done.done():
                self._done.set_result(None)
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)


async def run_load(
    port: int, requests: Iterable[bytes], tally: Tally, *, count: int, concurrency: int = CONCURRENCY
) -> None:
    """Send so many requests and add what they show."""
    stream = itertools.islice(iter(requests), count)
    loop = asyncio.get_running_loop()
    waiting = []
    began = time.perf_counter()
    for _ in range(concurrency):
        done: asyncio.Future[None] = loop.create_future()
        waiting.append(done)
        await loop.create_connection(partial(_Connection, stream, done, tally), "127.0.0.1", port)
    await asyncio.gather(*waiting)
    tally.seconds += time.perf_counter() - began


def send(method: str, path: str, key: str, body: object, *, address: str = "") -> bytes:
    """Write a request with a JSON body, as a proxy passes it on if it has an address."""
    content = msgspec.json.encode(body)
    origin = f"X-Forwarded-For: {address}\r\n" if address else ""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n{origin}"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def get(path: str, key: str = "", *, address: str = "") -> bytes:
    """Write a GET request, as a proxy passes it on if it has an address."""
    credential = f"Authorization: Bearer {key}\r\n" if key else ""
    origin = f"X-Forwarded-For: {address}\r\n" if address else ""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n{credential}{origin}\r\n".encode()
