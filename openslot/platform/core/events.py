"""Facts in the past tense, what follows from them, and the one statement that stores them with the changes they say."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import ClassVar, NamedTuple, TypeVar
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Struct

from openslot.platform.core.actor import Actor
from openslot.platform.core.db import Db
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id


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


class Recorded(NamedTuple):
    """An event that is not stored yet, and whose act it was."""

    event: Event
    actor: Actor


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
        return self._get_cause().event_id

    @property
    def event_type(self) -> str:
        return self._get_cause().event_type

    @property
    def event_at(self) -> datetime:
        return self._get_cause().event_at

    @property
    def actor(self) -> Actor:
        return _read_actor(self._get_cause().actor)

    def event(self, kind: type[E]) -> E:
        return msgspec.json.decode(self._get_cause().fact, type=kind)

    def plan(self, kind: type[T]) -> T:
        return msgspec.json.decode(self.payload or "null", type=kind)

    def _get_cause(self) -> Cause:
        if self.cause is None:
            raise LookupError(f"the effect {self.id} was planned as {self.reaction} and belongs to no event")
        return self.cause


class EffectState(StrEnum):
    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    SKIPPED = "skipped"


RETRY_SOON = tuple(timedelta(seconds=s) for s in (5, 30, 120, 600, 3600, 6 * 3600))


class EffectRules(Struct, frozen=True, kw_only=True):
    """Which events an effect follows from, in which order effects of its kind happen, and how they are retried.

    `lane` begins the name of its lanes, one for each subject: a lane holds the effects of one subject at one target.
    `wanted_if` is a condition in SQL about the event `v`: if it does not hold when the event is stored, nobody needs
    the effect and none is inserted.
    """

    name: str
    on: tuple[type[Event], ...] = ()
    wanted_if: str | None = None
    lane: str | None = None
    delays: tuple[timedelta, ...] = RETRY_SOON
    holds_back: timedelta | None = None
    collapses: bool = False


_ARGUMENT = re.compile(r"\$(\d+)")


class Change(Struct, frozen=True):
    """A statement that writes, its arguments, and the refusal to raise for each constraint that it may violate.

    Changes that are made together all see the data from before: none may depend on what another one writes.
    """

    sql: str
    args: tuple[object, ...]
    refusals: dict[str, type[Refusal]] = {}
    lost: type[Refusal] | None = None
    """The refusal to raise if it changes no row, because the condition in its `where` no longer holds."""


async def make_changes(db: Db, changes: Sequence[Change]) -> None:
    """Make all of these changes in one statement."""
    if not changes:
        return
    statements = tuple(change.sql for change in changes)
    sql = f"with {', '.join(write_parts(statements, first=1))} select {count_parts(len(statements))}"
    with refusing(changes):
        check_counts(changes, await db.fetchval(sql, *arguments(changes)))


async def make_each(db: Db, changes: Iterable[Change]) -> None:
    """Make changes that differ in their arguments alone one after the other in one round trip.

    They are made in the order of their statements and of their first argument, so that transactions that change the
    same rows can't deadlock if that argument names the row.
    """
    by_statement: dict[str, list[tuple[object, ...]]] = {}
    for change in changes:
        by_statement.setdefault(change.sql, []).append(change.args)
    for sql, args in sorted(by_statement.items()):
        await db.executemany(sql, sorted(args, key=lambda each: str(each[0])))


def arguments(changes: Iterable[Change]) -> Iterator[object]:
    """List the arguments of changes in the order in which `write_parts` numbers them."""
    return (argument for change in changes for argument in change.args)


def write_parts(statements: tuple[str, ...], *, first: int) -> tuple[str, ...]:
    """Write statements as parts of a `with`, numbering their arguments from `first` on."""
    parts = []
    for index, sql in enumerate(statements):
        parts.append(f"change_{index} as ({_number_on(sql, first)} returning 1)")
        first += max(int(number) for number in _ARGUMENT.findall(sql))
    return tuple(parts)


def count_parts(count: int) -> str:
    """Write the SQL that returns how many rows each part of a `with` has changed."""
    return f"array[{', '.join(f'(select count(*) from change_{index})' for index in range(count))}]::bigint[]"


def check_counts(changes: Sequence[Change], counts: Sequence[int]) -> None:
    """Raise the refusal of a change that has to find a row and has found none."""
    for change, count in zip(changes, counts, strict=True):
        if change.lost is not None and not count:
            raise change.lost


def _number_on(sql: str, first: int) -> str:
    return _ARGUMENT.sub(lambda found: f"${int(found[1]) - 1 + first}", sql)


@contextmanager
def refusing(changes: Iterable[Change]) -> Iterator[None]:
    """Turn a violated constraint into the refusal that the change declares for it."""
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError as fault:
        refusals = {name: refusal for change in changes for name, refusal in change.refusals.items()}
        if fault.constraint_name not in refusals:
            raise
        raise refusals[fault.constraint_name] from None


NEW_EVENTS = """
new_events as (
    select * from unnest($12::uuid[], $13::text[], $14::uuid[], $15::text[], $16::uuid[], $17::jsonb[], $18::json[],
        $19::jsonb[]) as v (id, type, tenant_id, subject_kind, subject_id, fact, public, actor)
)"""
INSERT_EVENTS = """
insert into events (id, type, at, actor, tenant_id, subject_kind, subject_id, fact, public)
select v.id, v.type, $2, v.actor, v.tenant_id, v.subject_kind, v.subject_id, v.fact, v.public from new_events v"""
FIRST_OF_CHANGES = 20

# How many effects of its lane are inserted here from this one on, itself included.
WANTED = """
wanted as (
    select w.*, count(*) over (partition by w.lane order by w.place desc) as from_here_on
    from unnest($1::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::interval[], $9::interval[],
        $10::text[], $11::bool[])
        with ordinality as w (parent_id, id, event_id, reaction, target, lane, holds_back, after, reason, yields, place)
    {condition}
)"""
# The lane's row is locked and read again before it is compared, so two writers never both see an empty lane. An effect
# is at the head of its lane if the lane holds nothing but this effect and those inserted after it here. Lanes are
# always joined in the same order, so that transactions that join the same lanes can't deadlock.
JOIN_LANES = """
joined as (
    insert into lanes (lane, unfinished)
    select lane, count(*) from wanted where lane is not null group by lane order by lane
    on conflict (lane) do update set unfinished = lanes.unfinished + excluded.unfinished
    returning lane, unfinished
)"""
INSERT_EFFECTS = """
insert into effects (id, event_id, tenant_id, parent_id, reaction, target, lane, state, next_try_at, yields, hold_until,
    last_error, created_at)
select w.id, w.event_id, o.tenant_id, w.parent_id, w.reaction, w.target, w.lane,
       case when w.lane is null or j.unfinished = w.from_here_on then 'queued' else 'waiting' end,
       least($2::timestamptz, now()) + w.after, w.yields, $2 + w.holds_back, w.reason, $2
from wanted w left join joined j on j.lane = w.lane left join {owners} o on o.id = w.event_id
order by w.place
returning state"""
# Wakes the workers when the transaction is committed.
CHANNEL = "effects"
WAKE = f"pg_notify('{CHANNEL}', '')"
WAKE_FOR_WRITTEN = f"(select {WAKE} from written where state = 'queued' limit 1)"
# Each is looked up by its id, whatever the statistics were when the statement was planned.
OWNERS = "lateral (select v.id, v.tenant_id from events v where v.id = w.event_id offset 0)"
INSERT_MORE = f"""
with {WANTED.format(condition="")}, {JOIN_LANES}, written as ({INSERT_EFFECTS.format(owners=OWNERS)})
select {WAKE_FOR_WRITTEN}"""


class NewEffect(NamedTuple):
    """An effect to insert: the reaction and its event, the target, and the lane that orders it."""

    event_id: UUID
    reaction: EffectRules
    target: str | None = None
    lane: str | None = None
    after: timedelta = timedelta()
    reason: str | None = None
    """Why it does not start at once."""
    yields: bool = False
    """Whether others that are due are started before it."""
    parent_id: UUID | None = None
    """The effect that was expanded into it and others."""
    id: UUID | None = None
    """None if nobody has to know it before it is inserted."""


async def insert_events(
    db: Db,
    happened: Mapping[UUID, Recorded],
    wanted: Sequence[NewEffect],
    *,
    changes: Sequence[Change],
    now: datetime,
) -> None:
    """Insert events, the changes that belong to them and their effects in one statement, and wake the workers.

    An effect is left out if the condition of its reaction does not hold.
    """
    events = [event for event, _ in happened.values()]
    subjects = [event.subject for event in events]
    conditions = {each.reaction.name: each.reaction.wanted_if for each in wanted if each.reaction.wanted_if}
    with refusing(changes):
        counts = await db.fetchval(
            _recording(tuple(change.sql for change in changes), tuple(conditions.items())),
            *_effect_columns(wanted, now=now),
            list(happened),
            [event.type for event in events],
            [event.tenant_id for event in events],
            [kind for kind, _ in subjects],
            [subject_id for _, subject_id in subjects],
            [_json(event) for event in events],
            [_json(public) if (public := event.public()) is not None else None for event in events],
            [_json(actor) for _, actor in happened.values()],
            *arguments(changes),
        )
    check_counts(changes, counts)


async def insert_effects(db: Db, wanted: Sequence[NewEffect], *, now: datetime) -> None:
    """Insert effects of stored events, and wake the workers if one of them is at the head of its lane."""
    if wanted:
        await db.execute(INSERT_MORE, *_effect_columns(wanted, now=now))


# benchmarks/caches.py: write the statement that records an event, in every change, 33 times
@cache
def _recording(changes: tuple[str, ...], conditions: tuple[tuple[str, str], ...]) -> str:
    parts = (
        *write_parts(changes, first=FIRST_OF_CHANGES),
        NEW_EVENTS,
        f"happened as ({INSERT_EVENTS})",
        WANTED.format(condition=_write_condition(conditions)),
        JOIN_LANES,
    )
    return f"""with {", ".join(parts)}, written as ({INSERT_EFFECTS.format(owners="new_events")})
        select {count_parts(len(changes))}, {WAKE_FOR_WRITTEN}"""


def _write_condition(conditions: Iterable[tuple[str, str]]) -> str:
    """Write which effects are wanted: those of other reactions, and those whose own condition holds."""
    clauses = [f"(w.reaction <> '{reaction}' or {condition})" for reaction, condition in conditions]
    return f"join new_events v on v.id = w.event_id where {' and '.join(clauses)}" if clauses else ""


def _effect_columns(wanted: Sequence[NewEffect], *, now: datetime) -> tuple[object, ...]:
    return (
        [each.parent_id for each in wanted],
        now,
        [each.id or new_id() for each in wanted],
        [each.event_id for each in wanted],
        [each.reaction.name for each in wanted],
        [each.target for each in wanted],
        [each.lane for each in wanted],
        [each.reaction.holds_back for each in wanted],
        [each.after for each in wanted],
        [each.reason for each in wanted],
        [each.yields for each in wanted],
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
