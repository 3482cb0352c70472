"""One request and its response: its bytes are read strictly, and the app is told about it as ASGI says."""

import asyncio
import re
import urllib.parse
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus
from typing import Any, Protocol

import httptools
import msgspec
import structlog

from openslot.doors.http.errors import HeadersTooLarge, headers_of, status_of
from openslot.doors.http.protocol.limits import ClientWait, ConnectionLimits
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.ids import new_id_text

Fields = list[tuple[bytes, bytes]]

VERSIONS = frozenset({"1.0", "1.1"})
# A proxy in front of us might use the first of two, and we the last.
ONLY_ONCE = (
    b"authorization",
    b"content-length",
    b"content-type",
    b"host",
    b"idempotency-key",
    b"transfer-encoding",
)


def check_fields(fields: Fields, by_name: Mapping[bytes, bytes], version: str) -> None:
    """Refuse a head that two parsers could interpret differently."""
    if version not in VERSIONS:
        raise Invalid("The request must be HTTP/1.1 or HTTP/1.0")
    if len(by_name) != len(fields):
        _check_only_once([name for name, _ in fields])
    if b"host" not in by_name and version == "1.1":
        raise Invalid("Host must be sent exactly once")
    coding = by_name.get(b"transfer-encoding")
    if coding is not None and (coding.lower() != b"chunked" or version == "1.0"):
        raise Invalid("Transfer-Encoding must be chunked, and only over HTTP/1.1")


def read_target(target: bytes) -> tuple[str, bytes, bytes]:
    """Return the decoded path, the path as it was written, and the query."""
    if b"#" in target:
        raise Invalid("The request target must not have a fragment")
    try:
        parsed = httptools.parse_url(target)
        path = parsed.path.decode("ascii")
    except (httptools.HttpParserInvalidURLError, UnicodeDecodeError, AttributeError):
        raise Invalid("The request target must be a path in ASCII") from None
    if "%" in path:
        path = urllib.parse.unquote(path)
    return path, parsed.path, parsed.query or b""


def _check_only_once(names: list[bytes]) -> None:
    for name in ONLY_ONCE:
        if names.count(name) > 1:
            raise Invalid(f"{name.decode().title()} must be sent exactly once")


NO_REQUEST_LINE = "The request is not valid HTTP: Expected a request line"
END = b"\r\n\r\n"
# The parser takes line breaks before it and more than one space, which others refuse or take for something else.
REQUEST_LINE = re.compile(rb"[^ \r]+ [^ ]+ [^ ]+\r")
# A chunk of one byte has five more of framing.
FRAMING_A_BYTE = 8


class RequestReader:
    """Consumes the bytes of the current request, and returns those that follow it."""

    __slots__ = (
        "_framing", "_is_upgrade", "_left", "_limits", "_line", "_parser", "_seam", "_unread", "by_name", "fields",
        "has_head", "head_bytes", "is_whole", "keeps_alive", "method", "received", "target", "version",
    )  # fmt: skip

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        self.keeps_alive = True
        """Whether another request can be read after this one."""
        self.begin()

    def begin(self) -> None:
        self._seam = b""
        self._line: bytes | None = b""
        """The beginning of the request line; None once it was read."""
        self._left: int | None = None
        self._framing = 0
        self.head_bytes = 0
        self.target = b""
        self.fields: Fields = []
        self.has_head = False
        self.is_whole = False
        self.received = 0
        self._unread = bytearray()

    def take(self, data: bytes) -> bytes:
        """Consume the request's part of these bytes; refuse what is too large, malformed or ambiguous."""
        if not self.has_head:
            data = self._take_head(data)
        if data and self.has_head and not self.is_whole:
            data = self._take_body(data)
        return data

    def take_body(self) -> bytes:
        """Return what has arrived of the body since the last call."""
        body = bytes(self._unread)
        self._unread.clear()
        return body

    def _take_head(self, data: bytes) -> bytes:
        end = self._find_end(data)
        self.head_bytes += len(data) if end is None else end
        # Counted before anything is parsed or joined, so that oversized input costs nothing.
        if self.head_bytes > self._limits.head_bytes:
            raise HeadersTooLarge(f"The head must not be larger than {self._limits.head_bytes // 1024} KiB")
        if self._line is not None:
            self._check_line(self._line, data)
        self._feed(data[:end])
        if self.has_head is (end is None):
            raise Invalid(NO_REQUEST_LINE)
        if end is None:
            return b""
        self._check_head()
        return data[end:]

    def _find_end(self, data: bytes) -> int | None:
        """Find where the head ends, so that nothing beyond the current request is parsed."""
        if self._seam:
            at = (self._seam + data[:3]).find(END)
            if at >= 0:
                return at + len(END) - len(self._seam)
        at = data.find(END)
        if at >= 0:
            return at + len(END)
        self._seam = (self._seam + data[-3:])[-3:]
        return None

    def _check_line(self, begun: bytes, data: bytes) -> None:
        end = data.find(b"\n")
        self._line = begun + (data if end < 0 else data[:end])
        if end >= 0 or self._line.startswith(b"\r"):
            if REQUEST_LINE.fullmatch(self._line) is None:
                raise Invalid(NO_REQUEST_LINE)
            self._line = None

    def _check_head(self) -> None:
        if len(self.fields) > self._limits.fields:
            raise HeadersTooLarge(f"The head must not have more than {self._limits.fields} fields")
        parser = self._parser
        self.by_name = dict(self.fields)
        self.version = parser.get_http_version()
        check_fields(self.fields, self.by_name, self.version)
        self.method = parser.get_method().decode("ascii")
        length = self.by_name.get(b"content-length")
        self._left = None if length is None else int(length)
        if self.version == "1.0":
            self.keeps_alive = False
        # The parser treats what follows as another protocol: a body would be read as the next request.
        if self._is_upgrade and (self._left or b"transfer-encoding" in self.by_name):
            raise Invalid("A request with Upgrade must not have a body")

    def _take_body(self, data: bytes) -> bytes:
        if self._left is not None:
            piece, rest = data[: self._left], data[self._left :]
            self._left -= len(piece)
            self._feed(piece)
            return rest
        self._framing += len(data)
        self._feed(data)
        if self._framing > self._limits.framing_bytes + FRAMING_A_BYTE * self.received and not self.is_whole:
            raise Invalid("The chunked body has too much overhead")
        return b""

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # We support no other protocol: the request is answered like any other, as the last of its connection.
            return
        except httptools.HttpParserError as fault:
            if not self.is_whole:
                raise Invalid(f"The request is not valid HTTP: {fault}") from None
            # Bytes after a chunked body: only a length tells where the next request begins.
            self.keeps_alive = False

    # Called by the parser.

    def on_message_begin(self) -> None:
        """Stop at a second request: it is read after the first one is answered."""
        if self.is_whole:
            raise RuntimeError

    def on_url(self, url: bytes) -> None:
        """Store the target, which may arrive in parts."""
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a field of the head; trailer fields are ignored."""
        if not self.has_head:
            self.fields.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        """Complete the head; the parser forgets these two values once the request is complete."""
        self.has_head = True
        self._is_upgrade = self._parser.should_upgrade()
        self.keeps_alive = self._parser.should_keep_alive() and not self._is_upgrade

    def on_body(self, body: bytes) -> None:
        self.received += len(body)
        self._unread += body

    def on_message_complete(self) -> None:
        self.is_whole = True


Header = tuple[bytes, bytes]

STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}".encode() for status in HTTPStatus}
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

log = structlog.get_logger()


class ResponseTransport(Protocol):
    is_sending_paused: bool

    @property
    def default_headers(self) -> list[Header]: ...
    def write(self, data: bytes) -> None: ...
    async def wait_until_sent(self) -> None:
        """Wait until the client has received most of what was sent."""

    def resume_reading(self) -> None: ...
    def end_cycle(self, *, is_broken: bool = False) -> None:
        """Continue with what follows this response."""


@dataclass(slots=True, eq=False)
class Cycle:
    """Passes one request to the app, and sends its response."""

    _wire: ResponseTransport
    scope: AsgiScope
    _: KW_ONLY
    keeps_alive: bool
    expects_continue: bool
    is_whole: bool = False
    has_started: bool = False
    is_answered: bool = False
    is_gone: bool = False
    _body: bytes = b""
    _has_news: bool = False
    _waiter: asyncio.Future[None] | None = None
    _head: bytes = b""
    _is_bodiless: bool = False
    _is_chunked: bool = False
    _left: int | None = None

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
        self.is_gone = True
        self._wake()

    async def receive(self) -> AsgiMessage:
        """Return the next part of the body, or a disconnect message if the client is gone."""
        if self.expects_continue and not (self._has_news or self.is_gone or self.has_started):
            self.expects_continue = False
            self._wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
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
        self._is_bodiless = status in {204, 304} or self.scope["method"] == "HEAD"
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
            return b"".join((b"%x\r\n%b\r\n" % (len(body), body) if body else b"", b"0\r\n\r\n" if is_last else b""))
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (is_last and self._left > 0):
                raise RuntimeError("the answer's body is not as long as its Content-Length")
        return body

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
