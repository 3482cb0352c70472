"""The floor of a booking: a bare app that writes the rows of a booking by the same statement, and does nothing else.

It has no door and no lock, reads and checks nothing, and commits with the statement, in one round trip. No booking that
writes these rows costs less.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast
from uuid import UUID

import asyncpg

from benchmarks.ceiling import HEADERS, Message
from openslot.domains.availability.models import ById
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.bookings.operations import create_booking
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.db import Pool, make_pool
from openslot.platform.core.environment import load_settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.profiles import JOBS
from openslot.platform.core.work import Runtime, system_clock
from openslot.runtime import open_runtime

HOSTS, BOOKINGS_A_HOST = 50, 40
# Later than all that the other measurements book.
TODAY = system_clock().replace(hour=9, minute=0, second=0, microsecond=0)
START = TODAY + timedelta(days=77 - TODAY.weekday())
INVITEE = Invitee(name="Bench Client", email="client@bench.example", zone="Europe/Berlin")
EVENT_TYPES = "select e.id from event_types e join users u on u.id = e.owner_id order by u.no limit $1 offset 100"
BODY = b"{" + b" " * 198 + b"}"

Statement = tuple[str, tuple[Any, ...]]


class Floor:
    """Answers every request when the rows of one more booking are committed."""

    def __init__(self) -> None:
        self._pool: Pool
        self._statements: deque[Statement] = deque()

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Serve the pool's lifetime, or one request."""
        if scope["type"] == "lifespan":
            await receive()
            await self._prepare()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._pool.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        sql, arguments = self._statements.popleft()
        await self._pool.fetchval(sql, *arguments)
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": BODY})

    async def _prepare(self) -> None:
        settings = load_settings()
        self._pool = make_pool(str(settings.database_url), max_=settings.database_connections, profile=JOBS)
        async with open_runtime(settings) as runtime:
            event_types = await runtime.pool.fetch(EVENT_TYPES, HOSTS)
            written = [await _learn(runtime, row["id"]) for row in event_types]
        # One host after the other, as in the measurement of bookings.
        self._statements.extend(each.again(number) for number in range(1, BOOKINGS_A_HOST + 1) for each in written)


async def _learn(runtime: Runtime, event_type_id: UUID) -> "Written":
    """Book twice, and return what has written the second one, whose contact was known."""
    caught: list[Statement] = []

    def catch(query: Any) -> None:
        if query.args and query.query.startswith("with "):
            caught.append((query.query, query.args))

    for minutes in (0, 30):
        wanted = BookingWanted(which=ById(event_type_id), starts_at=START + timedelta(minutes=minutes), invitee=INVITEE)
        async with runtime.transaction(PUBLIC) as work:
            connection = cast("asyncpg.Connection", work.db)
            connection.add_query_logger(catch)
            await create_booking(work, wanted)
            connection.remove_query_logger(catch)
    (_, first), (sql, second) = caught
    return Written(sql, second, made=set(_list_ids(second)) - set(_list_ids(first)))


class Written(NamedTuple):
    """A statement, its arguments, and the ids among them that are another booking's own each time."""

    sql: str
    arguments: tuple[Any, ...]
    made: set[UUID]

    def again(self, number: int) -> Statement:
        """Return the statement for one more booking, so many half hours later."""
        ids = {each: new_id() for each in self.made}

        def renew(value: Any) -> Any:
            if isinstance(value, list):
                return [renew(each) for each in value]
            if isinstance(value, datetime):
                return value + timedelta(minutes=30 * number) if value >= START else value
            if isinstance(value, str):
                for old, new in ids.items():
                    value = value.replace(str(old), str(new))
            return ids.get(value, value)

        return self.sql, tuple(renew(each) for each in self.arguments)


def _list_ids(value: Any) -> Iterator[UUID]:
    if isinstance(value, UUID):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _list_ids(each)


app = Floor()
