"""Work: one request, tool call or job, with its actor, time, connection and events."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, Self, TypeVar, cast
from uuid import UUID

import asyncpg

from openslot.core.actor import Actor
from openslot.core.batching import Batcher
from openslot.core.changes import Change, make
from openslot.core.clock import Clock
from openslot.core.config import Settings
from openslot.core.db import Db, Pool, transaction
from openslot.core.effects import NewEffect, insert_events
from openslot.core.events import Event, Wiring
from openslot.core.ids import new_id
from openslot.core.outbound import Outbound
from openslot.core.planned import PlannedEffect, drop_planned, move_planned, plan_effect
from openslot.core.ports import Ports
from openslot.core.secrets import Cipher, Secrets
from openslot.core.signing import Signer
from openslot.core.turns import Turns

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runtime:
    """What exists once per process and is shared by all of its work."""

    __slots__ = (
        "_batchers",
        "_ones",
        "cipher",
        "clock",
        "outbound",
        "pool",
        "ports",
        "secrets",
        "settings",
        "signer",
        "turns",
        "wiring",
    )

    def __init__(
        self,
        *,
        settings: Settings,
        pool: Pool,
        wiring: Wiring,
        secrets: Secrets,
        signer: Signer,
        cipher: Cipher,
        clock: Clock,
        outbound: Outbound,
        ports: Ports,
        turns: Turns,
    ) -> None:
        self.settings = settings
        self.pool = pool
        self.wiring = wiring
        self.secrets = secrets
        self.signer = signer
        self.cipher = cipher
        self.clock = clock
        self.outbound = outbound
        self.ports = ports
        self.turns = turns
        self._batchers: dict[Callable[..., Any], Batcher[Any, Any]] = {}
        self._ones: dict[type, Any] = {}

    def work(self, actor: Actor) -> "Work":
        """Begin work in which every statement is its own transaction."""
        return Work(runtime=self, actor=actor, db=self.pool, now=self.clock())

    def batcher(self, ask: Callable[["Runtime", Sequence[Item]], Awaitable[Sequence[Result]]]) -> Batcher[Item, Result]:
        """Return the batcher for one kind of question."""
        if ask not in self._batchers:
            self._batchers[ask] = Batcher(partial(ask, self))
        return self._batchers[ask]

    def one(self, kind: type[Result]) -> Result:
        """Return the only instance of a class that this process has."""
        if kind not in self._ones:
            self._ones[kind] = kind()
        found: Result = self._ones[kind]
        return found

    @asynccontextmanager
    async def transaction(self, actor: Actor) -> AsyncIterator["Work"]:
        """Begin work in one transaction, committed at the end or not at all."""
        async with transaction(self.pool) as db:
            work = Work(runtime=self, actor=actor, db=db, now=self.clock())
            yield work
            work.check_nothing_is_staged()


class Work:
    """The context that every verb gets as its first argument."""

    __slots__ = ("actor", "db", "now", "runtime", "staged")

    def __init__(
        self, *, runtime: Runtime, actor: Actor, db: Db, now: datetime, staged: list[Change | Event] | None = None
    ) -> None:
        self.runtime = runtime
        self.actor = actor
        self.db = db
        self.now = now
        self.staged: list[Change | Event] = [] if staged is None else staged

    def acting_as(self, actor: Actor) -> Self:
        """Return the same work on behalf of another actor."""
        return type(self)(runtime=self.runtime, actor=actor, db=self.db, now=self.now, staged=self.staged)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Run what follows in one transaction, committed at the end or not at all; for work that began without one.

        Callers that contact another service in the middle of a request open one before and one after, so that no
        connection is held while they wait.
        """
        if self.db is not self.runtime.pool:
            raise RuntimeError("a transaction is open already; a part of it can be tried with work.attempt()")
        staged_before = len(self.staged)
        async with transaction(self.runtime.pool) as connection:
            self.db = connection
            try:
                yield
                self.check_nothing_is_staged()
            except BaseException:
                del self.staged[staged_before:]
                raise
            finally:
                self.db = self.runtime.pool

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """Run part of a transaction: an exception rolls back only this part, and is raised to the caller."""
        if self.db is self.runtime.pool:
            raise RuntimeError("there is no transaction to try a part of; work.transaction() opens one")
        staged_before = len(self.staged)
        try:
            async with cast("asyncpg.Connection", self.db).transaction():
                yield
        except BaseException:
            del self.staged[staged_before:]
            raise

    def stage(self, *parts: Change | Event) -> None:
        """Collect changes and events that the next `record` writes; the work can't be committed before that."""
        self.staged.extend(parts)

    async def record(self, *events: Event) -> None:
        """Store events with the changes that belong to them, insert their effects, and run the consequences.

        Events, staged changes and effects are one statement: one round trip, and none of them without the others.
        """
        wiring = self.runtime.wiring
        changes, staged = self._take_staged()
        happened = {new_id(): event for event in (*staged, *events)}
        wanted = [
            NewEffect(event_id, reaction, lane=reaction.lane and f"{reaction.lane}:{kind}:{subject_id}")
            for event_id, event in happened.items()
            for kind, subject_id in (event.subject,)
            for reaction in wiring.reactions
            if type(event) in reaction.on
        ]
        following = [
            (each, event) for event in happened.values() for each in wiring.consequences if each.on is type(event)
        ]
        for consequence, event in following:
            changes += consequence.changes(event, self.now) if consequence.changes else ()
        await insert_events(self.db, happened, wanted, changes=changes, actor=self.actor, now=self.now)
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
        plan = PlannedEffect(
            reaction=reaction, key=key, due_at=due_at, payload=payload, tenant_id=tenant_id, target=target
        )
        await plan_effect(self.db, plan, now=self.now)

    async def move_planned(self, reaction: str, key: str, *, due_at: datetime) -> bool:
        """Change when something planned is due; return False if nothing waits: it has started or was never planned."""
        return await move_planned(self.db, reaction, key, due_at=due_at, now=self.now)

    async def drop_planned(self, reaction: str, key: str, *, reason: str) -> bool:
        """Cancel something planned; return False if nothing waits. A running attempt is not repeated."""
        return await drop_planned(self.db, reaction, key, reason=reason, now=self.now)

    async def apply(self) -> None:
        """Make the staged changes if there is no event to record."""
        changes, events = self._take_staged()
        if events:
            raise RuntimeError("Staged events are written by record().")
        await make(self.db, changes)

    def check_nothing_is_staged(self) -> None:
        """Raise an error if the work has staged something that was not written."""
        if self.staged:
            raise RuntimeError(f"{len(self.staged)} staged changes were neither recorded nor applied.")

    def _take_staged(self) -> tuple[list[Change], list[Event]]:
        changes = [part for part in self.staged if isinstance(part, Change)]
        events = [part for part in self.staged if isinstance(part, Event)]
        self.staged.clear()
        return changes, events
