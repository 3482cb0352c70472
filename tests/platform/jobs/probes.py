"""Events and reactions that exist for tests alone."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Effect, Event
from openslot.platform.core.work import Done, Outcome, Reaction, Wiring, Work

# Any table that nobody else writes to meanwhile.
LEAVE_MARK = "insert into rate_log (bucket, stamps, taken) values ($1, '{}', 0)"
MARKS = "select count(*) from rate_log"
# Half a year away: a job that is due every minute may run once more while a test looks at it.
FAR_AWAY = f"0 0 1 {(datetime.now(UTC).month + 5) % 12 + 1} *"
SOON = (timedelta(milliseconds=50),) * 3


class Poked(Event, frozen=True, kw_only=True):
    """Something was poked."""

    type: ClassVar[str] = "probe.poked"
    thing: UUID
    note: str = ""

    @property
    def subject(self) -> tuple[str, UUID | None]:
        """What was poked."""
        return "thing", self.thing


class Notebook:
    """A reaction that writes down what it did, and fails as often as it is told."""

    def __init__(self, *, failures: int = 0) -> None:
        self.notes: list[str] = []
        self.failures = failures
        self.pause = 0.0

    async def write(self, work: Work, effect: Effect) -> Outcome:
        """Write a note, or fail."""
        del work
        note = effect.event(Poked).note
        await asyncio.sleep(self.pause)
        if self.failures > 0:
            self.failures -= 1
            raise RuntimeError(f"no pencil for {note}")
        self.notes.append(note)
        return Done(vendor_id=f"note {note}")


def wired(
    run: Callable[[Work, Effect], Awaitable[Outcome]],
    *,
    in_lanes: bool = False,
    delays: tuple[timedelta, ...] = SOON,
    holds_back: timedelta | None = None,
    collapses: bool = False,
    more: tuple[Reaction, ...] = (),
) -> Wiring:
    """Attach one reaction to the probe event."""
    reaction = Reaction(
        name="probe.write",
        on=(Poked,),
        run=run,
        lane="probe" if in_lanes else None,
        delays=delays,
        holds_back=holds_back,
        collapses=collapses,
    )
    return Wiring(events=(Poked,), reactions=(reaction, *more))
