"""Facts in the past tense, and what follows from them."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.core.actor import Actor
from openslot.core.changes import Change
from openslot.core.destinations import Destination

if TYPE_CHECKING:
    from openslot.core.work import Work


class Event(Struct, frozen=True, kw_only=True):
    """Something that happened, whole, as it was then."""

    type: ClassVar[str]

    @property
    def tenant_id(self) -> UUID | None:
        """The tenant that the event belongs to; None for the platform's own."""
        return None

    @property
    def subject(self) -> tuple[str, UUID | None]:
        """What it happened to: a kind and an id."""
        return self.type.partition(".")[0], None

    def public(self) -> object | None:
        """Return what webhooks and the feed publish about it; None keeps it internal."""
        return None


E = TypeVar("E", bound=Event)
T = TypeVar("T")

_read_actor = msgspec.json.Decoder(Actor).decode


class Cause(Struct, frozen=True, kw_only=True):
    """The event that an effect follows from."""

    event_id: UUID
    event_type: str
    event_at: datetime
    actor: str
    fact: str


class Effect(Struct, frozen=True, kw_only=True):
    """One thing to be done, as the worker sees it: because an event happened, or because it was planned under a key."""

    id: UUID
    cause: Cause | None
    key: str | None
    payload: str | None
    tenant_id: UUID | None
    reaction: str
    target: str | None
    lane: str | None
    attempts: int
    round: int
    created_at: datetime

    @property
    def event_id(self) -> UUID:
        """The id of the event that it follows from."""
        return self._get_cause().event_id

    @property
    def event_type(self) -> str:
        """The type of the event that it follows from."""
        return self._get_cause().event_type

    @property
    def event_at(self) -> datetime:
        """When the event happened."""
        return self._get_cause().event_at

    @property
    def actor(self) -> Actor:
        """Who caused the event."""
        return _read_actor(self._get_cause().actor)

    def event(self, kind: type[E]) -> E:
        """Decode the stored fact as the event that it was."""
        return msgspec.json.decode(self._get_cause().fact, type=kind)

    def plan(self, kind: type[T]) -> T:
        """Decode the payload that it was planned with."""
        return msgspec.json.decode(self.payload or "null", type=kind)

    def _get_cause(self) -> Cause:
        if self.cause is None:
            raise LookupError(f"the effect {self.id} was planned as {self.reaction} and belongs to no event")
        return self.cause


class Done(Struct, frozen=True, kw_only=True):
    """It happened; `write` runs in the transaction that says so."""

    vendor_id: str | None = None
    write: Callable[["Work"], Awaitable[None]] | None = None


class Skipped(Struct, frozen=True):
    """It has lost its meaning; the reason stays on the effect."""

    reason: str


class Target(Struct, frozen=True, kw_only=True):
    """One of the many that an effect fans out to."""

    reaction: str
    target: str
    lane: str | None = None


class Expanded(Struct, frozen=True):
    """It stands for many: one effect per target takes its place, in the transaction in which `write` runs too."""

    targets: tuple[Target, ...]
    write: Callable[["Work"], Awaitable[None]] | None = None


Outcome = Done | Skipped | Expanded


class TryLater(Exception):
    """It failed and is worth another try, after the schedule's delay or at least the one given.

    `answered` says that the other side works and refuses this one thing: others need not wait because of it.
    """

    def __init__(self, message: str, *, after: timedelta | None = None, answered: bool = False) -> None:
        super().__init__(message)
        self.after = after
        self.answered = answered


class GiveUp(Exception):
    """It failed in a way that no further try can fix; `answered` as in `TryLater`."""

    def __init__(self, message: str, *, answered: bool = False) -> None:
        super().__init__(message)
        self.answered = answered


def to_target(_: "Work", effect: Effect) -> Destination:
    """Send an effect to its own target, on behalf of its tenant."""
    if effect.target is None:
        raise LookupError(f"the effect {effect.id} has no target")
    return Destination(effect.target, effect.tenant_id)


HASTY = tuple(timedelta(seconds=s) for s in (5, 30, 120, 600, 3600, 6 * 3600))


class Reaction(Struct, frozen=True, kw_only=True):
    """What is done, later and by the worker, because an event happened.

    `lane` begins the name of its lanes, one for each subject: a lane holds the effects of one subject at one target.
    With a `destination` it begins only when the worker has a
    place for it: whatever calls somebody else declares one. `wanted_if` is a condition in SQL about the event `v`: if
    it does not hold when the event is stored, nobody needs the effect and none is inserted.
    """

    name: str
    run: Callable[["Work", Effect], Awaitable[Outcome]]
    on: tuple[type[Event], ...] = ()
    wanted_if: str | None = None
    lane: str | None = None
    delays: tuple[timedelta, ...] = HASTY
    holds_back: timedelta | None = None
    collapses: bool = False
    destination: Callable[["Work", Effect], Destination | None] | None = None


class Consequence(Struct, frozen=True, kw_only=True):
    """A change of our own data that must be true at once, in the event's own transaction.

    `changes` are written by the statement that stores the event, so that they cost no round trip; `run` comes after it.
    """

    name: str
    on: type[Event]
    run: Callable[["Work", Event], Awaitable[None]] | None = None
    changes: Callable[[Event, datetime], tuple[Change, ...]] | None = None


class Periodic(Struct, frozen=True, kw_only=True):
    """What is done because time passed: a cron expression in UTC and a verb that says what it did.

    It runs in one transaction; with none, each statement stands alone and the verb opens the transactions it needs.
    """

    name: str
    expression: str
    run: Callable[["Work"], Awaitable[str]]
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
        """Find a reaction by its name."""
        return next((reaction for reaction in self.reactions if reaction.name == name), None)
