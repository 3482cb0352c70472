"""Work: one request, tool call or job, with its actor, time, connection and events; and what is attached to events."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar, cast
from uuid import UUID

import asyncpg
from msgspec import Struct

from openslot.platform.core.actor import Actor, Destination
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Db, Pool, transaction
from openslot.platform.core.effects import drop_planned, move_planned, plan_effect
from openslot.platform.core.events import (
    Change,
    Effect,
    EffectRules,
    Event,
    NewEffect,
    Recorded,
    insert_events,
    make_changes,
    make_each,
)
from openslot.platform.core.ids import Signer, new_id
from openslot.platform.core.outages import REFUSED
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.ports import Ports
from openslot.platform.core.reading import StandbyReader
from openslot.platform.core.secrets import Cipher, Secrets
from openslot.platform.core.turns import Batcher, Turns
from openslot.platform.i18n import CodedReason

Clock = Callable[[], datetime]
Item = TypeVar("Item")
Result = TypeVar("Result")
P = ParamSpec("P")
Verb = Callable[Concatenate["Work", P], Coroutine[Any, Any, Result]]


def system_clock() -> datetime:
    """Return the current time as aware UTC; nothing else reads it."""
    return datetime.now(UTC)


@dataclass(slots=True, kw_only=True, eq=False)
class Runtime:
    """What exists once per process and is shared by all of its work."""

    settings: Settings
    pool: Pool
    wiring: "Wiring"
    secrets: Secrets
    signer: Signer
    cipher: Cipher
    clock: Clock
    outbound: Outbound
    ports: Ports
    turns: Turns
    standby: StandbyReader | None = None
    """Where to read what may be a few seconds old; None if it is the database itself."""
    _batchers: dict[Callable[..., Any], Batcher[Any, Any]] = field(default_factory=dict, init=False)
    _ones: dict[type, Any] = field(default_factory=dict, init=False)

    def work(self, actor: Actor) -> "Work":
        """Begin work in which every statement is its own transaction."""
        return Work(runtime=self, actor=actor, db=self.pool, now=self.clock())

    @asynccontextmanager
    async def transaction(self, actor: Actor, *, waits: bool = True) -> AsyncIterator["Work"]:
        """Begin work in one transaction, committed at the end or not at all; `waits` as for `core.db.transaction`."""
        async with transaction(self.pool, waits=waits, rolls_back=lambda: work.rolls_back) as db:
            work = Work(runtime=self, actor=actor, db=db, now=self.clock())
            yield work
            if not work.rolls_back:
                work.check_nothing_is_staged()

    async def run(self, actor: Actor, act: Callable[["Work"], Awaitable[Result]]) -> Result:
        """Run something in a transaction of its own; to wait for its turn takes no connection, and begins it anew."""

        async def run_once(*, waits: bool) -> Result:
            async with self.transaction(actor, waits=waits) as work:
                result = await act(work)
            if REFUSED.is_full and not work.rolls_back:
                REFUSED.forget()
            return result

        return await self.turns.run(run_once)

    def batcher(self, ask: Callable[["Runtime", Sequence[Item]], Awaitable[Sequence[Result]]]) -> Batcher[Item, Result]:
        if ask not in self._batchers:
            self._batchers[ask] = Batcher(partial(ask, self))
        return self._batchers[ask]

    def one(self, kind: type[Result]) -> Result:
        """Return the only instance of a class that this process has."""
        if kind not in self._ones:
            self._ones[kind] = kind()
        found: Result = self._ones[kind]
        return found


@dataclass(slots=True, kw_only=True, eq=False)
class Work:
    """The context that every verb gets as its first argument."""

    runtime: Runtime
    actor: Actor
    db: Db
    now: datetime
    staged: list[Change | Recorded] = field(default_factory=list)
    rolls_back: bool = False
    """Whether its transaction is rolled back at the end although nothing was raised."""
    gathered: list[Recorded] | None = None
    """The events to be stored when a verb that is `recorded_together` ends; None outside of one."""

    @property
    def reader(self) -> Db:
        """Where to read what may be a few seconds old; inside a transaction, the transaction itself."""
        return self.runtime.standby or self.db if self.db is self.runtime.pool else self.db

    def acting_as(self, actor: Actor) -> Self:
        """Return the same work on behalf of another actor."""
        return replace(self, actor=actor)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Run what follows in one transaction, committed at the end or not at all; for work that began without one.

        Callers that contact another service in the middle of a request open one before and one after, so that no
        connection is held while they wait.
        """
        if self.db is not self.runtime.pool:
            raise RuntimeError("a transaction is open already; a part of it can be tried with work.attempt()")
        async with self.runtime.transaction(self.actor) as inside:
            self.db = inside.db
            try:
                with self._unstaging():
                    yield
                    self.check_nothing_is_staged()
            finally:
                self.db = self.runtime.pool

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """Run part of a transaction: an exception rolls back only this part, and is raised to the caller."""
        if self.db is self.runtime.pool:
            raise RuntimeError("there is no transaction to try a part of; work.transaction() opens one")
        with self._unstaging():
            async with cast("asyncpg.Connection", self.db).transaction():
                yield

    @contextmanager
    def _unstaging(self) -> Iterator[None]:
        """Forget what was staged meanwhile if an exception is raised."""
        staged_before, gathered_before = len(self.staged), len(self.gathered or ())
        try:
            yield
        except BaseException:
            del self.staged[staged_before:]
            if self.gathered is not None:
                del self.gathered[gathered_before:]
            raise

    def stage(self, *parts: Change | Event) -> None:
        """Collect changes and events that the next `record` writes; the work can't be committed before that."""
        self.staged.extend(part if isinstance(part, Change) else Recorded(part, self.actor) for part in parts)

    async def record(self, *events: Event) -> None:
        """Store events with the changes that belong to them, insert their effects, and run the consequences.

        Events, staged changes and effects are one statement: one round trip, and none of them without the others.
        """
        self.stage(*events)
        changes, staged = self._take_staged()
        if self.gathered is not None:
            await make_changes(self.db, changes)
            self.gathered += staged
            return
        wiring = self.runtime.wiring
        happened = {new_id(): each for each in staged}
        wanted = [
            NewEffect(event_id, reaction, lane=reaction.lane and f"{reaction.lane}:{kind}:{subject_id}")
            for event_id, (event, _) in happened.items()
            for kind, subject_id in (event.subject,)
            for reaction in wiring.reactions
            if type(event) in reaction.on
        ]
        following = [(each, event) for event, _ in staged for each in wiring.consequences if each.on is type(event)]
        for consequence, event in following:
            changes += consequence.changes(event, self.now) if consequence.changes else ()
        await insert_events(self.db, happened, wanted, changes=changes, now=self.now)
        for consequence, event in following:
            if consequence.run is not None:
                await consequence.run(self, event)

    async def plan(
        self,
        reaction: str,
        key: str,
        *,
        due_at: datetime,
        payload: object = None,
        tenant_id: UUID | None = None,
        target: str | None = None,
    ) -> None:
        """Plan something for a time if this transaction is committed; planning it again under the same key moves it.

        If it is already running, that attempt is not repeated, and another one is planned.
        """
        if self.runtime.wiring.reaction(reaction) is None:
            raise LookupError(f"no reaction is named {reaction}")
        plan = plan_effect(
            reaction, key, due_at=due_at, payload=payload, tenant_id=tenant_id, target=target, now=self.now
        )
        await make_each(self.db, [plan])

    async def move_planned(self, reaction: str, key: str, *, due_at: datetime) -> bool:
        """Change when something planned is due; return False if nothing waits: it has started or was never planned."""
        return await move_planned(self.db, reaction, key, due_at=due_at, now=self.now)

    async def drop_planned(self, reaction: str, key: str, *, reason: CodedReason) -> bool:
        """Cancel something planned; return False if nothing waits. A running attempt is not repeated."""
        return await drop_planned(self.db, reaction, key, reason=reason, now=self.now)

    async def apply(self) -> None:
        """Make the staged changes if there is no event to record."""
        changes, happened = self._take_staged()
        if happened:
            raise RuntimeError("Staged events are written by record().")
        await make_changes(self.db, changes)

    def check_nothing_is_staged(self) -> None:
        """Raise an error if the work has staged something that was not written."""
        if self.staged:
            raise RuntimeError(f"{len(self.staged)} staged changes were neither recorded nor applied.")

    def _take_staged(self) -> tuple[list[Change], list[Recorded]]:
        changes = [part for part in self.staged if isinstance(part, Change)]
        happened = [part for part in self.staged if isinstance(part, Recorded)]
        self.staged.clear()
        return changes, happened


def recorded_together(verb: Verb[P, Result]) -> Verb[P, Result]:
    """Let a verb make its changes as it goes, and store what it records at its end: one statement takes all lanes."""

    @wraps(verb)
    async def run(work: Work, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        if work.gathered is not None:
            return await verb(work, *args, **kwargs)
        work.gathered = gathered = list[Recorded]()
        try:
            result = await verb(work, *args, **kwargs)
        finally:
            work.gathered = None
        work.staged += gathered
        if gathered:
            await work.record()
        return result

    return run


class Done(Struct, frozen=True, kw_only=True):
    """It happened; `changes` are made and `write` runs in the transaction that says so.

    Effects without a `write` share that transaction with others that are done at the same moment.
    """

    vendor_id: str | None = None
    changes: tuple[Change, ...] = ()
    """Changes of rows that are its own; their first argument names the row."""
    write: Callable[[Work], Awaitable[None]] | None = None


class Skipped(Struct, frozen=True):
    """It has lost its meaning; the reason stays on the effect."""

    reason: CodedReason


class Waits(Struct, frozen=True):
    """The channel of its message is stopped: it waits until that is resumed, and no attempt is counted."""

    channel: str


class Target(Struct, frozen=True, kw_only=True):
    """One of the many that an effect fans out to."""

    reaction: str
    target: str
    lane: str | None = None


class Expanded(Struct, frozen=True):
    """It stands for many: one effect per target takes its place, in the transaction in which `changes` are made too."""

    targets: tuple[Target, ...]
    changes: tuple[Change, ...] = ()


Outcome = Done | Skipped | Waits | Expanded


class TryLater(Exception):
    """It failed and is worth another try, after the schedule's delay or at least the one given.

    `answered` says that the other side works and refuses this one thing: others need not wait because of it.
    """

    def __init__(self, reason: str, *, after: timedelta | None = None, answered: bool = False) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.after = after
        self.answered = answered


class AskedToWait(TryLater):
    """The other side has done nothing and asks us to wait: nothing is sent there until then, and no try is counted.

    Tries are counted if it asks again and again for longer than all of them would take.
    """

    after: timedelta

    def __init__(self, message: str, *, after: timedelta) -> None:
        super().__init__(message, after=after, answered=True)


class GiveUp(Exception):
    """It failed in a way that no further try can fix; `answered` as in `TryLater`."""

    def __init__(self, reason: str, *, answered: bool = False) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.answered = answered


def to_target(_: Work, effect: Effect) -> Destination:
    """Send an effect to its own target, on behalf of its tenant."""
    if effect.target is None:
        raise LookupError(f"the effect {effect.id} has no target")
    return Destination(effect.target, effect.tenant_id)


class Reaction(EffectRules, frozen=True, kw_only=True):
    """What is done, later and by the worker, because an event happened.

    With a `destination` it begins only when the worker has a place for it: whatever calls somebody else declares one.
    """

    run: Callable[[Work, Effect], Awaitable[Outcome]]
    destination: Callable[[Work, Effect], Destination | None] | None = None
    unless_done: Callable[[Work, Effect], Awaitable[None]] | None = None
    """Runs in the transaction that says that an effect will not be done: it was given up, or has lost its meaning."""


class Consequence(Struct, frozen=True, kw_only=True):
    """A change of our own data that must be true at once, in the event's own transaction.

    `changes` are written by the statement that stores the event, so that they cost no round trip; `run` comes after it.
    """

    name: str
    on: type[Event]
    run: Callable[[Work, Event], Awaitable[None]] | None = None
    changes: Callable[[Event, datetime], tuple[Change, ...]] | None = None


class Periodic(Struct, frozen=True, kw_only=True):
    """What is done because time passed: a cron expression in UTC and a verb that says what it did.

    It runs in one transaction; with none, each statement stands alone and the verb opens the transactions it needs.
    """

    name: str
    expression: str
    run: Callable[[Work], Awaitable[str]]
    transaction: Literal["one", "none"] = "one"


class Wiring(Struct, frozen=True, kw_only=True):
    """All that a release knows: events, consequences, reactions, periodic jobs, uses of events, migrations by name.

    `event_uses` are subqueries: an event `v` is kept beyond its time while one of them finds a row.
    """

    events: tuple[type[Event], ...] = ()
    consequences: tuple[Consequence, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    periodic: tuple[Periodic, ...] = ()
    event_uses: tuple[str, ...] = ()
    migrations: Mapping[str, str] = {}

    def reaction(self, name: str) -> Reaction | None:
        return next((reaction for reaction in self.reactions if reaction.name == name), None)
