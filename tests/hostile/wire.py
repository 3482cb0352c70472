"""Bytes as no polite client sends them, and answers as they come back."""

import json
import re
import socket
from contextlib import suppress
from typing import Any, Self

from msgspec import Struct

HEAD = b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /api/v1/contacts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
STATUS_LINE = re.compile(rb"HTTP/1\.1 \d\d\d ")
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


class Answer(Struct, frozen=True, kw_only=True):
    """Everything that came back on a connection, the first answer taken apart."""

    status: int
    headers: dict[str, str]
    body: bytes
    raw: bytes

    @property
    def answers(self) -> int:
        """How many answers there were."""
        return len(STATUS_LINE.findall(self.raw))

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Wire:
    """One connection of a bad client."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send as much as the server takes before it hangs up."""
        with suppress(ConnectionError):
            self.socket.sendall(data)

    def flood(self, piece: bytes, max_: int) -> int:
        """Send the same thing again and again; tell how many bytes the server's side took before it hung up."""
        sent = 0
        with suppress(ConnectionError):
            while sent < max_:
                self.socket.sendall(piece)
                sent += len(piece)
        return sent

    def trickle(self, data: bytes, pause: float) -> int:
        """Send one byte at a time until the server answers; tell how many were sent."""
        sent = 0
        self.socket.settimeout(pause)
        with suppress(ConnectionError):
            for at in range(len(data)):
                with suppress(TimeoutError):
                    self.socket.recv(1, socket.MSG_PEEK)
                    break
                self.socket.sendall(data[at : at + 1])
                sent += 1
        self.socket.settimeout(30)
        return sent

    def read_to_the_end(self) -> Answer:
        """Read until the server hangs up; it must, or the read times out."""
        raw = b""
        with suppress(ConnectionResetError):
            while received := self.socket.recv(65536):
                raw += received
        return read_answer(raw)


def read_answer(raw: bytes) -> Answer:
    """Take the first answer apart; status 0 where there is none."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = rest[: int(headers.get("content-length", "0"))]
    status = int(status_line.split()[1]) if status_line else 0
    return Answer(status=status, headers=headers, body=body, raw=raw)
