"""Shares of the event loop: each client has its own, whatever it asks for and however many connections it has."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from time import perf_counter
from typing import Any

from openslot.core.errors import TooMany

# Longer than almost every step of a request, so that waiting costs next to nothing where clients are well-behaved.
SHARE_SECONDS = 0.005
# Fewer than a process has connections to the database, so that one client never holds all of them.
MOST_BESIDE_OTHERS = 8
MOST_ALONE = 32
# Beside many busy clients a client waits no longer than this many times what it has used.
LONGEST_WAIT = 8
RETRY_AFTER = 1


class ClientWait(asyncio.Future[None]):
    """What a request awaits if its own client keeps it waiting; meanwhile it takes no place."""


class ClientShare:
    """The requests of one client, and the time that they have used since the others had their turn."""

    __slots__ = ("_loop", "_news", "_shares", "_until", "client", "line", "requests", "running", "used", "waiting")

    def __init__(self, shares: "Shares", client: str) -> None:
        self._shares = shares
        self._loop = asyncio.get_running_loop()
        self.client = client
        self.requests = 0
        self.running = 0
        """Those that have begun, without those that wait for their client."""
        self.waiting: dict[Start, None] = {}
        """Those that have not begun, in order."""
        self.used = 0.0
        self.line: deque[object] = deque()
        """The steps of running requests that wait until the others had their turn, in order."""

    def give_way(self) -> None:
        """Let the others have their turn, because this share is used up."""
        self._until = perf_counter() + self.used * self._shares.others
        self._news = self._shares.news
        self._loop.call_soon(self._look)

    def wait(self) -> Generator[None, None, None]:
        """Wait behind those of the same client that wait already; everything else that is ready runs in between."""
        place = object()
        self.line.append(place)
        try:
            while self.used >= SHARE_SECONDS or self.line[0] is not place:
                yield
        finally:
            self.line.remove(place)

    def _look(self) -> None:
        """Begin anew once the event loop had nothing else to do, or the others have had as much time each."""
        if self._news == self._shares.news or perf_counter() >= self._until:
            self.used = 0.0
            return
        self._news = self._shares.news
        self._loop.call_soon(self._look)


Start = Callable[[ClientShare], None]


class Shares:
    """The shares of all clients that have a request in progress."""

    def __init__(self, most_requests: int) -> None:
        self._most = most_requests
        self._by_client: dict[str, ClientShare] = {}
        self.news = 0
        """Grows with each connection, and with each request and step of a client that has not used up its share."""

    @property
    def others(self) -> int:
        """How many others get their turn before a client that has used its share; one may be about to connect."""
        return min(max(1, len(self._by_client) - 1), LONGEST_WAIT)

    def enter(self, client: str, start: Start, *, is_bounded: bool) -> ClientShare:
        """Start a request, at once or after others of its client; refuse it if too many of a client wait."""
        share = self._by_client.get(client)
        if share is None:
            share = self._by_client[client] = ClientShare(self, client)
        elif is_bounded and share.requests >= self._most:
            raise TooMany(f"At most {self._most} requests may be in progress from one address", retry_after=RETRY_AFTER)
        if share.used < SHARE_SECONDS:
            self.news += 1
        share.requests += 1
        share.waiting[start] = None
        self._start_waiting(share)
        return share

    def withdraw(self, share: ClientShare, start: Start) -> None:
        """Forget a request whose client has gone before it was started."""
        if start in share.waiting:
            del share.waiting[start]
            self._leave(share)

    async def run(self, share: ClientShare, work: Coroutine[Any, Any, None]) -> None:
        """Run a request that was started, each of its steps as soon as its client's share allows."""
        try:
            await _Steps(self, share, work)
        finally:
            self.release(share)
            self._leave(share)

    def release(self, share: ClientShare) -> None:
        """Give a running request's place to the next of its client."""
        share.running -= 1
        self._start_waiting(share)

    def _start_waiting(self, share: ClientShare) -> None:
        most = MOST_ALONE if len(self._by_client) == 1 else MOST_BESIDE_OTHERS
        while share.waiting and share.running < most:
            start = next(iter(share.waiting))
            del share.waiting[start]
            share.running += 1
            start(share)

    def _leave(self, share: ClientShare) -> None:
        share.requests -= 1
        if not share.requests:
            del self._by_client[share.client]


class _Steps:
    """A coroutine whose every step, from one wait to the next, is counted."""

    __slots__ = ("_share", "_shares", "_work")

    def __init__(self, shares: Shares, share: ClientShare, work: Coroutine[Any, Any, None]) -> None:
        self._shares = shares
        self._share = share
        self._work = work

    def __await__(self) -> Generator[Any, None, None]:
        shares, share, work = self._shares, self._share, self._work
        fault: BaseException | None = None
        while True:
            if share.used >= SHARE_SECONDS or share.line:
                try:
                    yield from share.wait()
                except BaseException as thrown:  # noqa: BLE001 - a cancellation is for the request to handle
                    fault = thrown
            shares.news += 1
            began = perf_counter()
            try:
                awaited = work.send(None) if fault is None else work.throw(fault)
            except StopIteration:
                return
            finally:
                share.used += perf_counter() - began
                if share.used >= SHARE_SECONDS:
                    share.give_way()
            fault = None
            is_clients = type(awaited) is ClientWait
            if is_clients:
                shares.release(share)
            try:
                yield awaited
            except BaseException as thrown:  # noqa: BLE001 - what it awaited has failed, or it is cancelled
                fault = thrown
            if is_clients:
                share.running += 1
