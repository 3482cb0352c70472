"""Guests who book all the while over two web processes in front of a cluster, and a count of what has become of it."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from uuid import UUID

import asyncpg
from msgspec import Struct
from msgspec.structs import replace

from openslot.platform.core.environment import load_settings
from openslot.platform.core.migrate import migrate
from openslot.platform.core.times import iso
from openslot.runtime import open_runtime
from proofs.cluster import Cluster
from proofs.figures import Figure
from proofs.scene import welcome
from tests.support.killable import Guests, processes, wait_until_done
from tests.support.races import OVERLAPS, workday

# Each books with a host of its own, one start after the other, about ten in a second.
HOSTS = ("ada", "ben", "cleo", "dan", "eva", "finn")
PAUSE = 0.1
STARTS_A_DAY = 8 * 6
AGAIN_AFTER = 0.1
DRAINED_WITHIN = 120
NO_LIMITS: Mapping[str, str] = {}
BOOKED = "select id, invitee_email, host_id, starts_at from bookings where status = 'CONFIRMED'"


class Booked(Struct, frozen=True):
    """A booking as the database has it; each guest wants a single one."""

    id: UUID
    guest: str
    host_id: UUID
    starts_at: datetime


class Storm:
    """Those who book, and what they were answered."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, UUID] = {}
        """The booking of each guest."""
        self.refused: list[str] = []
        self.guests: list[Guests] = []
        self.is_over = False
        self.drained_after = math.inf
        self._last_asked = 0.0
        """When the newest request that was acknowledged was sent."""

    async def book(self, guests: Guests, host: str) -> None:
        """Book one start after the other until the storm is over, each until it is answered."""
        for number in count():
            if self.is_over:
                return
            start = workday(number // STARTS_A_DAY) + timedelta(minutes=10 * (number % STARTS_A_DAY))
            await self._book_one(guests, f"{host}{number}@okafor.example", start)
            await asyncio.sleep(PAUSE)

    async def _book_one(self, guests: Guests, guest: str, start: datetime) -> None:
        wanted = {
            "eventTypeSlug": "short",
            "startTime": iso(start),
            "inviteeName": "Gus Okafor",
            "inviteeEmail": guest,
            "inviteeTimezone": "UTC",
        }
        while True:
            asked = time.monotonic()
            answer = await guests.send("POST", "/bookings", wanted, key=guest)
            if answer is not None and answer.is_success:
                self.acknowledged[guest] = UUID(answer.json()["bookingId"])
                self._last_asked = max(self._last_asked, asked)
                return
            if answer is not None and answer.status_code != 503 and "in progress" not in answer.text:
                self.refused.append(answer.text)
                print(f"{guest} was refused: {answer.status_code} {answer.text}", flush=True)
                return
            await asyncio.sleep(AGAIN_AFTER)

    async def wait_for_service(self, since: float) -> float:
        """Wait until a request that was sent after this moment is acknowledged; tell the seconds from it until then."""
        async with asyncio.timeout(120):
            while self._last_asked <= since:
                await asyncio.sleep(0.02)
        return time.monotonic() - since

    def count_answered(self, status: int) -> int:
        return sum(each.answers[status] for each in self.guests)

    def count_answers(self) -> list[Figure]:
        """Count what was answered instead of a booking."""
        return [
            Figure("answers 503, asked again", self.count_answered(503)),
            Figure("requests without an answer", self.count_answered(0), at_most=0),
            Figure("answers that were not JSON", sum(len(each.other_than_json) for each in self.guests), at_most=0),
            Figure("answers other than success and 503", len(self.refused), at_most=0),
            Figure("slowest answer, s", round(max(each.slowest for each in self.guests), 1)),
            Figure("seconds until all effects were done", round(self.drained_after, 1), within=DRAINED_WITHIN),
        ]


@asynccontextmanager
async def storm(
    place: Path, engine: Cluster, *, database_port: int | None = None, limits: Mapping[str, str] = NO_LIMITS
) -> AsyncIterator[Storm]:
    """Run two web processes and two workers, and let people book until the end of the `async with`.

    It ends when everybody was answered and all effects of their bookings are done.
    """
    pooled = f"postgresql://postgres@127.0.0.1:{database_port or engine.pooler_port}/openslot"
    data_dir = place / "data"
    data_dir.mkdir()
    direct = load_settings({"database_url": engine.direct_url, "data_dir": data_dir, "log_level": "error"}, environ={})
    environment = {"OPENSLOT_DATABASE_POOLER": "true", "OPENSLOT_DIRECT_DATABASE_URL": engine.direct_url, **limits}
    await migrate(engine.direct_url)
    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(open_runtime(direct))
        running = await stack.enter_async_context(
            processes(replace(direct, database_url=pooled), environment, webs=2, logs=place)
        )
        blowing, booking = Storm(), []
        for host in HOSTS:
            _, key = await welcome(runtime, host, days=365)
            guests = Guests(running.ports, {"Authorization": f"Bearer {key}"})
            blowing.guests.append(await stack.enter_async_context(guests))
            booking.append((guests, host))
        for port in running.ports:
            await _wait_until_ready(port)
        tasks = [asyncio.create_task(blowing.book(*each)) for each in booking]
        try:
            await blowing.wait_for_service(time.monotonic())
            yield blowing
            blowing.is_over = True
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        with suppress(TimeoutError):
            blowing.drained_after = await wait_until_done(runtime, within=DRAINED_WITHIN)


async def _wait_until_ready(port: int) -> None:
    async with asyncio.timeout(60), Guests([port], {}) as guest:
        while await guest.send("GET", "/me") is None:
            await asyncio.sleep(0.1)


async def count_bookings(
    url: str, acknowledged: Mapping[str, UUID], *, safe: Mapping[str, UUID] | None = None
) -> list[Figure]:
    """Compare what was acknowledged with what the database has, asked without the pooler.

    If only a part of it is `safe`, some of the rest must be missing.
    """
    connection = await asyncpg.connect(url)
    rows = [Booked(*row) for row in await connection.fetch(BOOKED)]
    overlaps = await connection.fetchval(OVERLAPS)
    await connection.close()
    found, loses = {row.id for row in rows}, safe is not None
    missing, unknown = set(acknowledged.values()) - found, found - set(acknowledged.values())
    return [
        Figure("acknowledged", len(acknowledged), at_least=1),
        Figure("found", len(rows)),
        Figure("missing", len(missing), at_least=1 if loses else None, at_most=None if loses else 0),
        Figure("missing of those that were safe", len(missing & set((safe or {}).values())), at_most=0),
        Figure("doubled: guests with two bookings", _count_repeated([row.guest for row in rows]), at_most=0),
        Figure(
            "doubled: starts booked twice", _count_repeated([(row.host_id, row.starts_at) for row in rows]), at_most=0
        ),
        Figure("doubled: claims that overlap", overlaps, at_most=0),
        Figure("found but never acknowledged", len(unknown), at_most=None if loses else 0),
    ]


def _count_repeated(things: Sequence[object]) -> int:
    return sum(many > 1 for many in Counter(things).values())
