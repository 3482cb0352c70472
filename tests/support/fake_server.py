"""What the fakes of vendors share: requests and answers on a port of loopback, faults to come, notices over HTTP."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

import httpx2
from msgspec import Struct

# Of Stripe and of Twilio.
PREFIX = re.compile(r"^/v1/|^/2010-04-01/Accounts/\w+/?")

Post = Callable[[str, dict[str, str], bytes], Awaitable[int]]


class Answer(Struct, frozen=True):
    status: int
    body: bytes
    headers: dict[str, str] = {}


class Request(Struct, frozen=True):
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: str

    @property
    def place(self) -> str:
        """The path below the version, and below the account."""
        return PREFIX.sub("", urlsplit(self.path).path, count=1)

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        text = self.body if self.method == "POST" else urlsplit(self.path).query
        return parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))


Serve = Callable[[Request], Awaitable[Answer | None]]


class FaultKind(StrEnum):
    HANG_UP = "hang_up"
    """Close the connection and do nothing."""
    LOSE_ANSWER = "lose_answer"
    """Do it, keep the answer, and close the connection."""
    STATUS = "status"
    """Answer with a status and do nothing."""
    KEPT_STATUS = "kept_status"
    """Do it, and keep an answer with this status for its idempotency key."""
    RAW = "raw"
    """Answer with bytes that are not what was asked for."""
    HOLD = "hold"
    """Begin, and wait until the test lets it go on."""
    STALL = "stall"
    """Never answer."""


class Fault(Struct, frozen=True):
    """What happens to the next request below a path."""

    kind: FaultKind
    path: str = ""
    method: str | None = None
    status: int = 500
    headers: dict[str, str] = {}
    body: bytes = b""
    release: asyncio.Event | None = None

    def concerns(self, request: Request) -> bool:
        return request.place.startswith(self.path) and self.method in {None, request.method}


async def fail(fault: Fault, carry_out: Callable[[], Answer]) -> Answer | None:
    """Answer as the fault says; None: hang up."""
    if fault.kind is FaultKind.HANG_UP:
        return None
    if fault.kind in {FaultKind.STATUS, FaultKind.RAW}:
        return Answer(fault.status, fault.body, fault.headers)
    if fault.kind is FaultKind.HOLD and fault.release is not None:
        await fault.release.wait()
    elif fault.kind is FaultKind.STALL:
        await asyncio.sleep(3600)
    answer = carry_out()
    return None if fault.kind is FaultKind.LOSE_ANSWER else answer


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[str]:
    """Answer requests on a free port of loopback, and tell the address."""
    meetings: set[asyncio.Task[None]] = set()

    def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_meet(serve, reader, writer))
        meetings.add(task)
        task.add_done_callback(meetings.discard)

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tuple(meetings):
            task.cancel()
        await asyncio.gather(*meetings, return_exceptions=True)


async def post_over_http(url: str, headers: dict[str, str], body: bytes) -> int:
    """Send a notice over the network; no answer counts as 599, and redirects are failures."""
    try:
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=10) as client:
            return (await client.post(url, headers=headers, content=body)).status_code
    except httpx2.HTTPError:
        return 599


async def _meet(serve: Serve, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(OSError, asyncio.IncompleteReadError):
            answer = await serve(await _read(reader))
            if answer is not None:
                writer.write(_write(answer))
                await writer.drain()
            writer.close()
            await writer.wait_closed()
    finally:
        writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
    method, path, _ = head[0].split(" ")
    return Request(method, path, headers, body)


def _write(answer: Answer) -> bytes:
    told = {"Content-Length": str(len(answer.body)), "Connection": "close", **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} {_phrase(answer.status)}", *(f"{name}: {text}" for name, text in told.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + answer.body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
