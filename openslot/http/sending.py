"""What goes out: an answer, sent once, with the headers that every answer has."""

from collections.abc import Awaitable, Callable

from openslot.http.doors import Answer, Visit
from openslot.http.receiving import Message

Send = Callable[[Message], Awaitable[None]]

ANY_ORIGIN = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After, X-Request-Id, Idempotent-Replayed"),
)


class Sender:
    """Sends one visit's answer; a second one comes too late."""

    __slots__ = ("_send", "_started", "_visit")

    def __init__(self, send: Send, visit: Visit) -> None:
        self._send = send
        self._visit = visit
        self._started = False

    async def send(self, message: Message) -> None:
        """Pass a handler's message on: headers are added, and HEAD gets no body."""
        if message["type"] == "http.response.start":
            await self._start(message["status"], message["headers"])
        else:
            await self._go_on(message)

    async def answer(self, answer: Answer) -> None:
        """Send a whole answer, unless one is under way."""
        if self._started:
            return
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.pairs()]
        if answer.status != 204 and b"content-length" not in [name for name, _ in headers]:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        await self._start(answer.status, headers)
        await self._go_on({"type": "http.response.body", "body": answer.body})

    def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> Awaitable[None]:
        self._started = True
        self._visit.status = status
        return self._send({"type": "http.response.start", "status": status, "headers": self._complete(headers)})

    def _go_on(self, message: Message) -> Awaitable[None]:
        if self._visit.method == "HEAD":
            message["body"] = b""
        return self._send(message)

    def _complete(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        visit, door = self._visit, self._visit.door
        own = [name for name, _ in headers]
        headers.append((b"x-request-id", visit.request_id.encode()))
        headers += [header for header in door.headers if header[0] not in own]
        headers += [(name.encode(), value.encode()) for name, value in visit.entry.headers.items()]
        if door.open_to_other_origins:
            headers += ANY_ORIGIN
        return headers
