"""Reads the bytes of a connection strictly, as one request after the other, and checks each head."""

import urllib.parse
from collections.abc import Mapping

import httptools

from openslot.core.errors import Invalid
from openslot.http.errors import HeadTooLarge
from openslot.http.protocol.limits import ConnectionLimits

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


END = b"\r\n\r\n"
# A chunk of one byte has five more of framing.
FRAMING_A_BYTE = 8


class RequestReader:
    """Consumes the bytes of the current request, and returns those that follow it."""

    __slots__ = (
        "_framing", "_is_upgrade", "_left", "_limits", "_parser", "_seam", "_unread", "by_name", "fields", "has_head",
        "head_bytes", "is_whole", "keeps_alive", "method", "received", "target", "version",
    )  # fmt: skip

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        self.keeps_alive = True
        """Whether another request can be read after this one."""
        self.begin()

    def begin(self) -> None:
        self._seam = b""
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
            raise HeadTooLarge(f"The head must not be larger than {self._limits.head_bytes // 1024} KiB")
        self._feed(data[:end])
        if self.has_head is (end is None):
            raise Invalid("The request is not valid HTTP: Expected a request line")
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

    def _check_head(self) -> None:
        if len(self.fields) > self._limits.fields:
            raise HeadTooLarge(f"The head must not have more than {self._limits.fields} fields")
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
