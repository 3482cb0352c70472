"""One request and its response, as the app sees them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, Protocol

import msgspec
import structlog

from openslot.core.errors import Refusal
from openslot.core.ids import new_id_text
from openslot.http.errors import headers_of, status_of
from openslot.http.protocol.limits import ClientWait

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


AsgiMessage = MutableMapping[str, Any]
AsgiScope = dict[str, Any]
AsgiApp = Callable[
    [AsgiScope, Callable[[], Awaitable[AsgiMessage]], Callable[[AsgiMessage], Awaitable[None]]], Awaitable[None]
]

GONE: AsgiMessage = {"type": "http.disconnect"}
LAST_CHUNK = b"0\r\n\r\n"
WITHOUT_BODY = frozenset({204, 304})

log = structlog.get_logger()


class ResponseTransport(Protocol):
    """The connection that a cycle answers on."""

    is_sending_paused: bool

    @property
    def default_headers(self) -> list[Header]:
        """The headers that every response begins with."""

    def write(self, data: bytes) -> None:
        """Send."""

    async def wait_until_sent(self) -> None:
        """Wait until the client has received most of what was sent."""

    def resume_reading(self) -> None:
        """Continue reading."""

    def end_cycle(self, *, is_broken: bool = False) -> None:
        """Continue with what follows this response."""


class Cycle:
    """Passes one request to the app, and sends its response."""

    __slots__ = (
        "_body", "_expects_continue", "_has_news", "_head", "_is_bodiless", "_is_chunked", "_left", "_waiter", "_wire",
        "has_started", "is_answered", "is_gone", "is_whole", "keeps_alive", "scope",
    )  # fmt: skip

    def __init__(self, wire: ResponseTransport, scope: AsgiScope, *, keeps_alive: bool, expects_continue: bool) -> None:
        self._wire = wire
        self.scope = scope
        self.keeps_alive = keeps_alive
        self._expects_continue = expects_continue
        self._body = b""
        self._has_news = False
        self._waiter: asyncio.Future[None] | None = None
        self.is_whole = False
        """Whether the body has arrived completely."""
        self._head = b""
        self._is_bodiless = False
        self._is_chunked = False
        self._left: int | None = None
        self.has_started = False
        self.is_answered = False
        self.is_gone = False
        """Whether the client is gone."""

    async def run(self, app: AsgiApp) -> None:
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:
            log.exception("the app failed")
        finally:
            if not (self.is_answered or self.is_gone):
                self.is_gone = True
                self._wire.end_cycle(is_broken=True)

    def add_body(self, body: bytes, *, is_whole: bool) -> int:
        """Store a part of the body for the app, and return how much is waiting for it."""
        self._body = self._body + body if self._body else body
        self.is_whole = is_whole
        self._has_news = True
        self._wake()
        return len(self._body)

    def leave(self) -> None:
        """Notify the app that the client is gone."""
        self.is_gone = True
        self._wake()

    async def receive(self) -> AsgiMessage:
        """Return the next part of the body, or a disconnect message if the client is gone."""
        if self._expects_continue and not (self._has_news or self.is_gone or self.has_started):
            self._expects_continue = False
            self._wire.write(CONTINUE)
        while not (self._has_news or self.is_gone or self.is_answered):
            self._wire.resume_reading()
            self._waiter = ClientWait(loop=asyncio.get_running_loop())
            await self._waiter
        if self.is_gone or self.is_answered:
            return GONE
        body, self._body = self._body, b""
        self._has_news = False
        return {"type": "http.request", "body": body, "more_body": not self.is_whole}

    async def send(self, message: AsgiMessage) -> None:
        """Send the next part of the app's response."""
        if self._wire.is_sending_paused:
            await self._wire.wait_until_sent()
        if self.is_gone:
            return
        if message["type"] == "http.response.start":
            self._start(message["status"], message.get("headers", ()))
        else:
            self._go_on(message.get("body", b""), is_last=not message.get("more_body", False))

    def _start(self, status: int, headers: Iterable[Header]) -> None:
        if self.has_started:
            raise RuntimeError("the answer has been started already")
        complete = [*self._wire.default_headers, *headers]
        by_name = dict(complete)
        # The rest of the body is not read, so no other request can be found after it.
        if not self.is_whole or by_name.get(b"connection") == b"close":
            self.keeps_alive = False
        if not self.keeps_alive and b"connection" not in by_name:
            complete.append(CLOSE)
        length = by_name.get(b"content-length")
        self._is_bodiless = status in WITHOUT_BODY or self.scope["method"] == "HEAD"
        self._left = None if length is None or self._is_bodiless else int(length)
        if length is None and not self._is_bodiless and self.scope["http_version"] == "1.1":
            self._is_chunked = True
            complete.append((b"transfer-encoding", b"chunked"))
        self._head = write_head(status, complete)
        self.has_started = True

    def _go_on(self, body: bytes, *, is_last: bool) -> None:
        if self.is_answered or not self.has_started:
            raise RuntimeError("the answer is over, or has not been started")
        self._wire.write(self._head + self._framed(body, is_last=is_last))
        self._head = b""
        if is_last:
            self.is_answered = True
            self._wake()
            self._wire.end_cycle()

    def _framed(self, body: bytes, *, is_last: bool) -> bytes:
        if self._is_bodiless:
            return b""
        if self._is_chunked:
            return b"".join((b"%x\r\n%b\r\n" % (len(body), body) if body else b"", LAST_CHUNK if is_last else b""))
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (is_last and self._left > 0):
                raise RuntimeError("the answer's body is not as long as its Content-Length")
        return body

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
