"""Break the line to each peer in each way while people book, and count what is lost, doubled, delayed and blocked."""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from proofs.figures import Figure
from proofs.proxy import Fault
from proofs.scene import Scene, count_arrived, scene
from tests.support.killable import Guests, list_starts, processes, wait_until_done, wait_until_ready

# Which effects wait for which peer.
EFFECTS = {"database": "", "smtp": "mail.", "caldav": "calendars.", "webhook": "webhooks.", "crm": "crm."}
FAULTS = (Fault.DELAY, Fault.RESET, Fault.HALF_CLOSE, Fault.BLACK_HOLE, Fault.MUTE)
# Silence lasts longer than whoever meets it waits for an answer.
SILENT_FOR = {"database": 15.0, "smtp": 32.0, "caldav": 32.0, "webhook": 17.0, "crm": 22.0}
BROKEN_FOR = 3.0
SHORT = (
    ("webhook", Fault.BLACK_HOLE),
    ("smtp", Fault.HALF_CLOSE),
    ("caldav", Fault.RESET),
    ("crm", Fault.DELAY),
    ("database", Fault.RESET),
    ("database", Fault.MUTE),
)
BOOKINGS = 3
# What a request may wait for: a connection, then a statement that the database does not answer, and a second.
ANSWERED_WITHIN = 5 + 11 + 1.0
# The second try of each effect comes within ten seconds, the third within a minute and a half.
DRAINED_WITHIN = 90.0
OTHERS_WITHIN = 15.0
OTHERS = """
select count(*) from effects e join events v on v.id = e.event_id
where v.subject_id = any($1::uuid[]) and e.state in ('waiting', 'queued', 'running')
  and not starts_with(e.reaction, $2)"""


class Row(Struct, kw_only=True):
    """What one fault at one peer has done."""

    peer: str
    fault: Fault
    broken_for: float = 0.0
    others_after: float = 0.0
    drained_after: float = 0.0
    slowest: float = 0.0
    unavailable: int = 0
    met: int = 0
    """How many connections and pieces of data the fault has met."""

    def __str__(self) -> str:
        cells = (self.broken_for, self.slowest, self.others_after, self.drained_after)
        seconds = "".join(f"{cell:>10.1f}" for cell in cells)
        return f"{self.peer:>10}  {self.fault:<11}{seconds}{self.unavailable:>8}{self.met:>8}"


HEAD = f"{'peer':>10}  {'fault':<11}" + "".join(
    f"{name:>10}" for name in ("broken s", "answer s", "others s", "done s")
)


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Put each fault between the service and each peer, one after the other."""
    return asyncio.run(_prove(place, short=short))


async def _prove(place: Path, *, short: bool) -> list[Figure]:
    plan = SHORT if short else [(peer, fault) for peer in EFFECTS for fault in FAULTS]
    per_row = 1 if short else BOOKINGS
    limits = {"OPENSLOT_DATABASE_WAIT_SECONDS": "1", "OPENSLOT_DATABASE_STATEMENT_SECONDS": "1"} if short else {}
    print(f"{HEAD}{'503':>8}{'met':>8}")
    async with scene(place, through=tuple(EFFECTS)) as set_up:
        starts = await list_starts(set_up.runtime, set_up.user.id, 2 * per_row * len(plan))
        async with processes(set_up.settings, {**set_up.environment, **limits}, webs=2, workers=1) as running:
            await wait_until_ready(set_up.runtime, running, set_up.headers)
            rows, tried = [], _Turns(starts, per_row)
            for peer, fault in plan:
                async with Guests(running.ports, set_up.headers, timeout=60) as guests:
                    row = Row(peer=peer, fault=fault)
                    await _break(set_up, guests, row, tried, broken_for=BROKEN_FOR if short else None)
                    # The short form breaks the next one at once.
                    row.drained_after = 0.0 if short else await wait_until_done(set_up.runtime, within=300)
                rows.append(row)
                tried.note(guests)
                print(row, flush=True)
            last = await wait_until_done(set_up.runtime, within=300)
        return [*_judge(rows, tried, last), *await count_arrived(set_up, tried.bookings, tried.events)]


class _Turns:
    """Whose turn it is to book, and how all of them were answered."""

    def __init__(self, starts: Sequence[datetime], per_row: int) -> None:
        self.starts = starts
        self.per_row = per_row
        self.other_than_json: list[str] = []
        self.refused = 0
        self._numbers = count()
        self.bookings = self.events = 0

    def take(self) -> list[int]:
        numbers = [next(self._numbers) for _ in range(self.per_row)]
        self.bookings += len(numbers)
        self.events += sum(1 + (number % 3 == 0) + (number % 5 == 0) for number in numbers)
        return numbers

    def note(self, guests: Guests) -> None:
        self.other_than_json += guests.other_than_json
        self.refused += sum(many for status, many in guests.answers.items() if status not in {0, 200, 201, 409, 503})


async def _break(set_up: Scene, guests: Guests, row: Row, tried: _Turns, *, broken_for: float | None) -> None:
    """Break one line while people book, see whether everything else gets done, and mend it."""
    silent_for = SILENT_FOR[row.peer] if row.fault in {Fault.BLACK_HOLE, Fault.MUTE} else BROKEN_FOR
    began = time.monotonic()
    line = set_up.proxies[row.peer]
    async with line.broken(row.fault):
        booking = [asyncio.create_task(guests.book(number, tried.starts)) for number in tried.take()]
        if row.peer != "database":
            booked = await asyncio.gather(*booking)
            row.others_after = await _wait_for_others(set_up, booked, EFFECTS[row.peer])
        await asyncio.sleep(max((broken_for or silent_for) - (time.monotonic() - began), 0))
    row.broken_for, row.met = time.monotonic() - began, line.met
    await asyncio.gather(*booking)
    row.slowest, row.unavailable = guests.slowest, guests.answers[503]


async def _wait_for_others(set_up: Scene, bookings: Sequence[UUID], broken: str) -> float:
    """Wait until all that does not need the broken line is done, and tell how many seconds that took."""
    began = time.monotonic()
    async with asyncio.timeout(120):
        while await set_up.runtime.pool.fetchval(OTHERS, bookings, broken):
            await asyncio.sleep(0.05)
    return time.monotonic() - began


def _judge(rows: Sequence[Row], tried: _Turns, last: float) -> list[Figure]:
    cut = [row for row in rows if row.peer == "database" and row.fault is not Fault.DELAY]
    others = [row.others_after for row in rows if row.peer != "database"]
    drained = [row.drained_after for row in rows]
    return [
        Figure("faults", len(rows)),
        Figure("fewest that met a fault", min(row.met for row in rows), at_least=1),
        Figure("without the database: fewest 503s", min(row.unavailable for row in cut), at_least=1),
        Figure("answers that were not JSON", len(tried.other_than_json), at_most=0),
        Figure("answers other than success, 409 and 503", tried.refused, at_most=0),
        Figure("slowest answer, s", round(max(row.slowest for row in rows), 1), within=ANSWERED_WITHIN),
        Figure("slowest of what needs another peer, s", round(max(others), 1), within=OTHERS_WITHIN),
        Figure("longest until all was done, s", round(max([*drained, last]), 1), within=DRAINED_WITHIN),
    ]
