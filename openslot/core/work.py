"""Work: one request, tool call or job; who, when, where, and what happened."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, Self, TypeVar

from openslot.core.actor import Actor
from openslot.core.changes import Change
from openslot.core.clock import Clock
from openslot.core.config import Settings
from openslot.core.db import Db, Pool, transaction
from openslot.core.effects import Wanted, insert_events
from openslot.core.events import Event, Wiring
from openslot.core.ids import new_id
from openslot.core.outbound import Outbound
from openslot.core.secrets import Secrets
from openslot.core.signing import Signer
from openslot.core.together import Together

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class House:
    """What a process has one of, and all of its work shares."""

    __slots__ = ("_lines", "clock", "outbound", "pool", "secrets", "settings", "signer", "wiring")

    def __init__(
        self,
        *,
        settings: Settings,
        pool: Pool,
        wiring: Wiring,
        secrets: Secrets,
        signer: Signer,
        clock: Clock,
        outbound: Outbound,
    ) -> None:
        self.settings = settings
        self.pool = pool
        self.wiring = wiring
        self.secrets = secrets
        self.signer = signer
        self.clock = clock
        self.outbound = outbound
        self._lines: dict[Callable[..., Any], Together[Any, Any]] = {}

    def reading(self, actor: Actor) -> "Work":
        """Begin work whose statements each stand alone."""
        return Work(house=self, actor=actor, db=self.pool, now=self.clock())

    def together(
        self, ask: Callable[["House", Sequence[Asked]], Awaitable[Sequence[Answer]]]
    ) -> Together[Asked, Answer]:
        """Find the line of those who ask for the same at the same time."""
        if ask not in self._lines:
            self._lines[ask] = Together(partial(ask, self))
        return self._lines[ask]

    @asynccontextmanager
    async def writing(self, actor: Actor) -> AsyncIterator["Work"]:
        """Begin work in one transaction, committed at the end or not at all."""
        async with transaction(self.pool) as db:
            yield Work(house=self, actor=actor, db=db, now=self.clock())


class Work:
    """The one thing that every verb gets first."""

    __slots__ = ("actor", "db", "house", "now")

    def __init__(self, *, house: House, actor: Actor, db: Db, now: datetime) -> None:
        self.house = house
        self.actor = actor
        self.db = db
        self.now = now

    def acting_as(self, actor: Actor) -> Self:
        """Do the same work in another's name."""
        return type(self)(house=self.house, actor=actor, db=self.db, now=self.now)

    async def record(self, *events: Event, changes: Sequence[Change] = ()) -> None:
        """Keep facts with the changes that make them true, write down what is to be done, and let consequences follow.

        Facts, changes and effects are one statement: one round trip, and none of them without the others.
        """
        wiring = self.house.wiring
        happened = {new_id(): event for event in events}
        wanted = [
            Wanted(event_id, reaction, lane=reaction.lane(event) if reaction.lane else None)
            for event_id, event in happened.items()
            for reaction in wiring.reactions
            if type(event) in reaction.on
        ]
        await insert_events(self.db, happened, wanted, changes=changes, actor=self.actor, now=self.now)
        for event in events:
            for consequence in wiring.consequences:
                if consequence.on is type(event):
                    await consequence.run(self, event)
