"""One connection: its requests one after the other, each within its limits."""

import asyncio
from enum import IntEnum
from functools import partial
from math import inf
from typing import Any, cast

import structlog
from prometheus_client import Counter
from uvicorn.config import Config
from uvicorn.server import ServerState

from openslot.domains.access.door import find_forwarded_client
from openslot.doors.http.errors import RequestTimeout
from openslot.doors.http.protocol.limits import (
    UNCOUNTED,
    ClientShare,
    ClientWait,
    ConnectionLimits,
    Connections,
    Shares,
    Start,
    counted_address,
)
from openslot.doors.http.protocol.messages import AsgiApp, Cycle, Header, RequestReader, read_target, write_refusal
from openslot.platform.core.errors import Internal, Refusal

# Reading pauses while this much of a body is waiting for the app.
MAX_WAITING = 64 * 1024

REFUSED = Counter(
    "openslot_refused", "Requests and connections that were refused before any door, by error code.", ("code",)
)

log = structlog.get_logger()


class Phase(IntEnum):
    HEAD = 0
    BODY = 1
    ANSWER = 2
    END = 3


class Connection(asyncio.Protocol):
    """Reads requests, lets the app answer them, and ends connections that are too large, too slow or not HTTP."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        connections: Connections,
        shares: Shares,
        refusal_headers: tuple[Header, ...],
    ) -> None:
        self._app = cast("AsgiApp", config.loaded_app)
        self._state = server_state
        self._app_state = app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._limits = limits
        self._connections = connections
        self._shares = shares
        self._refusal_headers = refusal_headers
        self._reader = RequestReader(limits)
        self._cycle: Cycle | None = None
        self._share: ClientShare | None = None
        self._ahead = b""
        self._dropped = 0
        self._body_began_at = 0.0
        self._is_reading_paused = False
        self._paused_at = 0.0
        self._sent: asyncio.Future[None] | None = None
        self._phase = Phase.HEAD
        self.deadline = inf
        self.address = ""
        self.is_sending_paused = False

    @property
    def default_headers(self) -> list[Header]:
        return self._state.default_headers

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or refuse it if there are too many."""
        self._transport = cast("asyncio.Transport", transport)
        self._client = _endpoint(transport.get_extra_info("peername"))
        self._server = _endpoint(transport.get_extra_info("sockname"))
        self.address = counted_address(self._client and self._client[0], self._limits.trusted_proxies)
        self.deadline = self._loop.time() + self._limits.head_seconds
        self._shares.news += 1
        try:
            self._connections.add(self, self._loop)
        except Refusal as refusal:
            self._write_refusal(refusal)
            self._close()
        else:
            # The server's set is typed for its own protocol classes.
            self._state.connections.add(cast("Any", self))

    def data_received(self, data: bytes) -> None:
        """Read more bytes; a request that arrives before the last one is answered waits."""
        if self._phase is Phase.ANSWER:
            self._ahead += data
            self._pause_reading()
        elif self._phase is Phase.END:
            self._dropped += len(data)
            if self._dropped > self._limits.linger_bytes:
                self._pause_reading()
        else:
            self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._phase = Phase.END
        self._state.connections.discard(cast("Any", self))
        self._connections.remove(self)
        if self._cycle is not None:
            self._cycle.leave()
        if self._share is not None:
            self._shares.withdraw(self._share, self._start)
        self.resume_writing()

    def pause_writing(self) -> None:
        """Stop sending until the client catches up, and limit how long that may take."""
        self.is_sending_paused = True
        if self._phase is Phase.ANSWER:
            self.deadline = self._loop.time() + self._limits.send_seconds

    def resume_writing(self) -> None:
        self.is_sending_paused = False
        if self._phase is Phase.ANSWER:
            self.deadline = inf
        if self._sent is not None:
            if not self._sent.done():
                self._sent.set_result(None)
            self._sent = None

    # Called by the server and by the regular check of all connections.

    def shutdown(self) -> None:
        """Close after the current response."""
        if self._cycle is None:
            self._transport.close()
        else:
            self._cycle.keeps_alive = False

    def expire(self, now: float) -> None:
        if self._phase is Phase.HEAD and self._reader.head_bytes:
            self._refuse(RequestTimeout(f"The head must arrive within {self._limits.head_seconds:g} seconds"))
        elif self._phase is Phase.BODY and self._is_reading_paused:
            self.deadline = now + self._limits.body_seconds
        elif self._phase is Phase.BODY:
            self._refuse(RequestTimeout(f"The body must arrive within {self._limits.body_seconds:g} seconds"))
        else:
            self._transport.abort()

    # Called by the cycle.

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def wait_until_sent(self) -> None:
        self._sent = ClientWait(loop=self._loop)
        await self._sent

    def resume_reading(self) -> None:
        if not self._is_reading_paused or self._ahead:
            return
        self._is_reading_paused = False
        self._transport.resume_reading()
        if self._phase is Phase.BODY:
            # During the pause it was the app that kept the client waiting.
            self._body_began_at += self._loop.time() - self._paused_at
            self._set_body_deadline()

    def end_cycle(self, *, is_broken: bool = False) -> None:
        """Read the next request, or close the connection if none can follow."""
        self._state.total_requests += 1
        cycle = self._cycle
        if cycle is None or self._phase is Phase.END:
            return
        if is_broken:
            self._refuse(Internal())
        elif self._phase is Phase.BODY:
            self._linger()
        elif cycle.keeps_alive:
            self._await_next()
        else:
            self._close()

    def _take(self, data: bytes) -> None:
        reader = self._reader
        if self._phase is Phase.HEAD and not reader.head_bytes:
            self.deadline = self._loop.time() + self._limits.head_seconds
        try:
            rest = reader.take(data)
            if self._cycle is None and reader.has_head:
                self._cycle = self._begin()
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if self._cycle is not None:
            self._take_body(self._cycle)
        self._ahead = rest

    def _begin(self) -> Cycle:
        reader = self._reader
        path, raw_path, query = read_target(reader.target)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": reader.version,
            "server": self._server,
            "client": self._client,
            "scheme": "http",
            "method": reader.method,
            "root_path": "",
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": reader.fields,
            "state": self._app_state.copy(),
        }
        is_waiting = reader.by_name.get(b"expect", b"").lower() == b"100-continue"
        cycle = Cycle(self, scope, keeps_alive=reader.keeps_alive, expects_continue=is_waiting)
        self._start = partial(self._run, cycle)
        self._share = self._enter(self._start)
        return cycle

    def _enter(self, start: Start) -> ClientShare:
        """Let a request take its turn with its client's: those of the address, or of the client that a proxy names."""
        if self.address != UNCOUNTED:
            # It has no more requests than connections, and these are counted.
            return self._shares.enter(self.address, start, is_bounded=False)
        lines = (value for name, value in self._reader.fields if name == b"x-forwarded-for")
        forwarded_for = b",".join(lines).decode("latin-1")
        peer = self._client and self._client[0]
        client = find_forwarded_client(peer, forwarded_for, self._limits.trusted_proxies)
        if client is None:
            return self._shares.enter(f"connection {id(self)}", start, is_bounded=False)
        return self._shares.enter(client, start, is_bounded=True)

    def _run(self, cycle: Cycle, share: ClientShare) -> None:
        task = self._loop.create_task(self._shares.run(share, cycle.run(self._app)))
        self._state.tasks.add(task)
        task.add_done_callback(self._state.tasks.discard)

    def _take_body(self, cycle: Cycle) -> None:
        reader, now = self._reader, self._loop.time()
        body = reader.take_body()
        if reader.is_whole:
            self._phase = Phase.ANSWER
            self.deadline = now + self._limits.send_seconds if self.is_sending_paused else inf
            cycle.keeps_alive = cycle.keeps_alive and reader.keeps_alive
            cycle.add_body(body, is_whole=True)
            return
        if self._phase is Phase.HEAD:
            self._phase = Phase.BODY
            self._body_began_at = now
        self._set_body_deadline()
        if body and cycle.add_body(body, is_whole=False) > MAX_WAITING:
            self._pause_reading()

    def _set_body_deadline(self) -> None:
        allowed = self._limits.body_seconds + self._reader.received / self._limits.body_bytes_a_second
        self.deadline = self._body_began_at + allowed

    def _await_next(self) -> None:
        self._cycle = None
        self._reader.begin()
        self._phase = Phase.HEAD
        self.deadline = self._loop.time() + self._limits.keep_alive_seconds
        data, self._ahead = self._ahead, b""
        self.resume_reading()
        if data:
            self._take(data)

    def _refuse(self, refusal: Refusal) -> None:
        if self._cycle is not None and self._cycle.has_started:
            self._transport.abort()
            return
        if self._cycle is not None:
            self._cycle.leave()
        self._write_refusal(refusal)
        self._linger()

    def _write_refusal(self, refusal: Refusal) -> None:
        REFUSED.labels(refusal.code).inc()
        log.debug("refused", code=refusal.code, reason=refusal.message)
        self._transport.write(write_refusal(refusal, (*self.default_headers, *self._refusal_headers)))

    def _linger(self) -> None:
        """Close in two steps: closing at once, with unread bytes, could make the client lose the response."""
        self._phase = Phase.END
        self._ahead = b""
        is_long = self.is_sending_paused
        self.deadline = self._loop.time() + (self._limits.send_seconds if is_long else self._limits.linger_seconds)
        if not self._transport.is_closing():
            self.resume_reading()
            self._transport.write_eof()

    def _close(self) -> None:
        self._phase = Phase.END
        self.deadline = self._loop.time() + self._limits.send_seconds
        self._transport.close()

    def _pause_reading(self) -> None:
        if not self._is_reading_paused:
            self._is_reading_paused = True
            self._paused_at = self._loop.time()
            self._transport.pause_reading()


def _endpoint(name: object) -> tuple[str, int] | None:
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) and len(name) >= 2 else None
