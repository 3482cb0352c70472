"""Events and effects in the database, which is the source of truth; the queue only carries their ids."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from uuid import UUID

import msgspec

from openslot.core.actor import Actor
from openslot.core.changes import Change, arguments, check_counts, count_parts, refusing, write_parts
from openslot.core.db import Db, Row
from openslot.core.events import Cause, Effect, Event, Reaction
from openslot.core.ids import new_id
from openslot.core.queue import AHEAD, Job, Priority, enqueue, enqueue_new

NEW_EVENTS = """
new_events as (
    select * from unnest($11::uuid[], $12::text[], $13::uuid[], $14::text[], $15::uuid[], $16::jsonb[], $17::json[])
        as v (id, type, tenant_id, subject_kind, subject_id, fact, public)
)"""
INSERT_EVENTS = """
insert into events (id, type, at, actor, tenant_id, subject_kind, subject_id, fact, public)
select v.id, v.type, $2, $18, v.tenant_id, v.subject_kind, v.subject_id, v.fact, v.public from new_events v"""
FIRST_OF_CHANGES = 19

# How many effects of its lane are inserted here from this one on, itself included.
WANTED = """
wanted as (
    select w.*, count(*) over (partition by w.lane order by w.place desc) as from_here_on
    from unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::interval[], $9::interval[],
        $10::text[]) with ordinality as w (id, event_id, reaction, target, lane, holds_back, after, reason, place)
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
insert into effects (id, event_id, parent_id, reaction, target, lane, state, next_try_at, hold_until, last_error,
    created_at)
select w.id, w.event_id, $1, w.reaction, w.target, w.lane,
       case when w.lane is null or j.unfinished = w.from_here_on then 'queued' else 'waiting' end,
       $2::timestamptz + w.after, $2 + w.holds_back, w.reason, $2
from wanted w left join joined j on j.lane = w.lane
order by w.place
returning id, state"""
INSERT_EXPANDED = f"with {WANTED.format(condition='')}, {JOIN_LANES} {INSERT_EFFECTS}"

# A worker may have died while running an effect that has since been replaced or dropped: it is not started again.
# Nothing waits for the disk: if the server crashes, the effect is started again, as after a crash of the worker.
START = """
with started as (
    update effects set attempts = attempts + (superseded is null)::int,
        state = case when superseded is null then 'running' else 'skipped' end,
        finished_at = case when superseded is not null then $3::timestamptz end,
        last_error = coalesce(superseded, last_error)
    where id = $1 and round = $2 and state in ('queued', 'running') returning *
)
select s.id, s.key, s.payload, s.reaction, s.target, s.lane, s.attempts, s.round, s.created_at,
       coalesce(v.tenant_id, s.tenant_id) as tenant_id, v.id as event_id, v.type as event_type, v.at as event_at,
       v.actor, v.fact, set_config('synchronous_commit', 'off', true)
from started s left join events v on v.id = s.event_id where s.state = 'running'"""

FINISH = """
with finished as (
    update effects set state = case when $3 = 'dead' and superseded is not null then 'skipped' else $3 end,
        finished_at = $4, last_error = $5, vendor_id = $6
    where id = $1 and round = $2 and state = 'running' returning lane
), left_lane as (
    update lanes set unfinished = unfinished - 1 from finished where lanes.lane = finished.lane
    returning unfinished
)
select (select unfinished from left_lane) as unfinished from finished"""

# A calendar needs only the newest state: with `collapses`, older effects that are waiting are skipped.
COLLAPSE = """
with passed as (
    update effects set state = 'skipped', finished_at = $2, last_error = 'a newer change took its place'
    where lane = $1 and state = 'waiting'
      and no < (select max(no) from effects where lane = $1 and state = 'waiting')
    returning id
)
update lanes set unfinished = unfinished - (select count(*) from passed) where lane = $1"""

RELEASE_NEXT = """
update effects set state = 'queued', next_try_at = $2
where id = (select id from effects where lane = $1 and state = 'waiting' order by no limit 1) and state = 'waiting'
returning id, round"""

# An effect that was replaced or dropped in the meantime is not tried again.
POSTPONE = """
update effects set state = case when superseded is null then 'queued' else 'skipped' end,
    finished_at = case when superseded is not null then $5::timestamptz end,
    round = round + 1, next_try_at = $3, last_error = left(concat_ws('; ', superseded, $4::text), 1000)
where id = $1 and round = $2 and state = 'running' returning round, state"""

# The reaction was never called, so the attempt does not count. Nothing waits for the disk, as in `START`.
PUT_BACK = """
update effects set state = case when superseded is null then 'queued' else 'skipped' end,
    finished_at = case when superseded is not null then $5::timestamptz end, attempts = attempts - 1,
    round = round + 1, next_try_at = $3, last_error = left(concat_ws('; ', superseded, $4::text), 1000)
where id = $1 and round = $2 and state = 'running' returning round, state,
    set_config('synchronous_commit', 'off', true)"""

# No reaction in this release could handle it, so neither the attempt nor the time counts: effects behind it are held
# back longer by the same time.
HAND_OVER = """
with handed_over as (
    update effects set state = case when superseded is null then 'queued' else 'skipped' end,
        finished_at = case when superseded is not null then $6::timestamptz end, attempts = attempts - 1,
        round = round + 1, next_try_at = $3, last_error = left(concat_ws('; ', superseded, $4::text), 1000)
    where id = $1 and round = $2 and state = 'running' returning lane, round, state
), held as (
    update effects e set hold_until = e.hold_until + $5::interval from handed_over h
    where e.lane = h.lane and e.state = 'waiting' and e.hold_until is not null
)
select round, state from handed_over"""

# Only the first of each lane: two that are released at once would race each other. Those behind it are released in
# later runs. Rows that are locked are skipped, so that this statement never waits.
RELEASE_HELD = """
with held as materialized (
    select id, lane from effects where state = 'waiting' and hold_until <= $1
    order by hold_until, no limit $2 for update skip locked
), heads as materialized (
    select h.id, h.lane from held h join lateral (
        select id from effects where lane = h.lane and state = 'waiting' order by no limit 1) f on f.id = h.id
), behind as materialized (
    select f.id from heads h cross join lateral (
        select id from effects where lane = h.lane and state = 'waiting' and hold_until <= $1 and id <> h.id
        for update skip locked) f
), released as (
    update effects e set state = 'queued', next_try_at = $1 from heads where e.id = heads.id returning e.id, e.round
), later as (
    update effects e set hold_until = $1 + interval '30 seconds'
    where e.id in (select id from held union select id from behind except select id from heads)
)
select r.id, r.round, h.looked_at from (select count(*) as looked_at from held) h left join released r on true"""

# Due by then, and not in the queue: it was planned for later, or a crash between two steps has lost its job. `offset 0`
# makes PostgreSQL look each job up by its key.
WITHOUT_JOB = """
with due as materialized (
    select id, round, state, next_try_at, last_error, event_id from effects
    where state in ('queued', 'running') and next_try_at < $1 and (next_try_at, id) > ($3, $4)
    order by next_try_at, id limit $5
), without_job as (
    select id, round, greatest(next_try_at - $2, interval '0') as after, last_error is not null as is_later,
           event_id is null as is_planned
    from due d
    where (state = 'queued' or next_try_at < $2 - interval '1 minute') and not exists (
        select from pgqueuer q
        where q.dedupe_key = d.id || ':' || d.round and q.status in ('queued', 'picked') offset 0)
)
select w.*, l.next_try_at as last_due_at, l.id as last_id, (select count(*) from due) as looked_at
from (select next_try_at, id from due order by next_try_at desc, id desc limit 1) l left join without_job w on true"""

REPLAYS = ":replay"
BATCH = 200
LOOKED_AT = 2_000
BEFORE_ALL = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))


class NewEffect(NamedTuple):
    """An effect to insert: the reaction and its event, the target, and the lane that orders it."""

    event_id: UUID
    reaction: Reaction
    target: str | None = None
    lane: str | None = None
    priority: Priority = Priority.SOON
    after: timedelta = timedelta()
    reason: str | None = None
    """Why it does not start at once."""


async def insert_events(
    db: Db,
    events: Mapping[UUID, Event],
    wanted: Sequence[NewEffect],
    *,
    changes: Sequence[Change],
    actor: Actor,
    now: datetime,
) -> None:
    """Insert events, the changes that belong to them, their effects and the jobs of these, in one statement.

    An effect is left out if the condition of its reaction does not hold.
    """
    subjects = [event.subject for event in events.values()]
    conditions = {each.reaction.name: each.reaction.wanted_if for each in wanted if each.reaction.wanted_if}
    with refusing(changes):
        counts = await db.fetchval(
            _recording(tuple(change.sql for change in changes), tuple(conditions.items())),
            *_effect_columns(wanted, parent_id=None, now=now),
            list(events),
            [event.type for event in events.values()],
            [event.tenant_id for event in events.values()],
            [kind for kind, _ in subjects],
            [subject_id for _, subject_id in subjects],
            [_json(event) for event in events.values()],
            [_json(public) if (public := event.public()) is not None else None for event in events.values()],
            _json(actor),
            *arguments(changes),
        )
    check_counts(changes, counts)


async def insert_effects(db: Db, wanted: Sequence[NewEffect], *, now: datetime, parent_id: UUID | None = None) -> None:
    """Insert effects of stored events, and enqueue a job for each that is at the head of its lane."""
    if not wanted:
        return
    columns = _effect_columns(wanted, parent_id=parent_id, now=now)
    rows = await db.fetch(INSERT_EXPANDED, *columns)
    # Rows are returned in the order in which they were given.
    heads = [(row, each) for row, each in zip(rows, wanted, strict=True) if row["state"] == "queued"]
    jobs = [Job(effect_id=row["id"], round=0, after=each.after, priority=each.priority) for row, each in heads]
    await enqueue(db, jobs)


async def start_effect(db: Db, job: Job, *, now: datetime) -> Effect | None:
    """Start one attempt and return the effect, or None if it is finished, replaced or deleted."""
    row = await db.fetchrow(START, job.effect_id, job.round, now)
    if row is None:
        return None
    has_cause = row["event_id"] is not None
    cause = Cause(**{name: row[name] for name in Cause.__struct_fields__}) if has_cause else None
    return Effect(cause=cause, **{name: row[name] for name in Effect.__struct_fields__ if name != "cause"})


async def finish_effect(
    db: Db,
    effect: Effect,
    state: str,
    *,
    now: datetime,
    reaction: Reaction | None,
    error: str | None = None,
    vendor_id: str | None = None,
) -> bool:
    """Finish an effect and release the next one in its lane; return False if another worker has finished it first."""
    row = await db.fetchrow(FINISH, effect.id, effect.round, state, now, error, vendor_id)
    if row is None:
        return False
    if effect.lane is None or not row["unfinished"]:
        return True
    if reaction is not None and reaction.collapses:
        await db.execute(COLLAPSE, effect.lane, now)
    await enqueue_rows(db, await db.fetch(RELEASE_NEXT, effect.lane, now))
    return True


async def postpone_effect(db: Db, effect: Effect, *, error: str, delay: timedelta, now: datetime) -> None:
    """Schedule the next attempt after a failed one."""
    row = await db.fetchrow(POSTPONE, effect.id, effect.round, now + delay, error, now)
    await _enqueue_again(db, effect, row, after=delay, priority=Priority.LATER)


async def put_back_effect(
    db: Db, effect: Effect, *, reason: str, delay: timedelta, now: datetime, priority: Priority
) -> Job | None:
    """Schedule an attempt again that could not start; it is not counted. Return its job, if it gets one."""
    row = await db.fetchrow(PUT_BACK, effect.id, effect.round, now + delay, reason, now)
    return await _enqueue_again(db, effect, row, after=delay, priority=priority)


async def hand_over_effect(db: Db, effect: Effect, *, reason: str, delay: timedelta, now: datetime) -> None:
    """Leave an effect to another worker; it keeps its attempts and its place in its lane."""
    row = await db.fetchrow(HAND_OVER, effect.id, effect.round, now + delay, reason, delay, now)
    await _enqueue_again(db, effect, row, after=delay, priority=Priority.SOON)


async def release_held(db: Db, *, now: datetime, limit: int = BATCH) -> tuple[int, bool]:
    """Release effects that have waited behind a failing one for as long as their reaction allows.

    Looks at up to `limit` effects, and returns how many were released and whether there are more to look at.
    """
    rows = await db.fetch(RELEASE_HELD, now, limit)
    released = await enqueue_rows(db, [row for row in rows if row["id"] is not None])
    return released, rows[0]["looked_at"] == limit


async def enqueue_due(
    db: Db, *, now: datetime, behind: tuple[datetime, UUID] = BEFORE_ALL, limit: int = LOOKED_AT
) -> tuple[int, tuple[datetime, UUID] | None]:
    """Enqueue a job for effects that are due soon or overdue and have none.

    Looks at up to `limit` effects, longest overdue first, and returns how many got a job and where to continue.
    """
    rows = await db.fetch(WITHOUT_JOB, now + AHEAD, now, *behind, limit)
    jobs = [
        Job(
            effect_id=row["id"],
            round=row["round"],
            after=row["after"],
            priority=Priority.LATER if row["is_later"] else Priority.SOON,
            is_planned=row["is_planned"],
        )
        for row in rows
        if row["id"] is not None
    ]
    await enqueue(db, jobs)
    is_cut = bool(rows) and rows[0]["looked_at"] == limit
    return len(jobs), (rows[0]["last_due_at"], rows[0]["last_id"]) if is_cut else None


def replay_lane(lane: str) -> str:
    """Return the name of the lane in which effects of this lane are sent again."""
    return f"{lane}{REPLAYS}"


async def enqueue_rows(db: Db, rows: Iterable[Row]) -> int:
    """Enqueue a job for each of these effects of events, and return how many there are."""
    jobs = [Job(effect_id=row["id"], round=row["round"]) for row in rows]
    await enqueue(db, jobs)
    return len(jobs)


async def _enqueue_again(
    db: Db, effect: Effect, row: Row | None, *, after: timedelta, priority: Priority
) -> Job | None:
    if row is None or row["state"] != "queued":
        return None
    is_planned = effect.cause is None
    job = Job(effect_id=effect.id, round=row["round"], after=after, priority=priority, is_planned=is_planned)
    await enqueue(db, [job])
    return job


@cache
def _recording(changes: tuple[str, ...], conditions: tuple[tuple[str, str], ...]) -> str:
    parts = (
        *write_parts(changes, first=FIRST_OF_CHANGES),
        NEW_EVENTS,
        f"happened as ({INSERT_EVENTS})",
        WANTED.format(condition=_write_condition(conditions)),
        JOIN_LANES,
    )
    return f"""with {", ".join(parts)}, written as ({INSERT_EFFECTS}),
        enqueued as ({enqueue_new("written where state = 'queued'")})
        select {count_parts(len(changes))}"""


def _write_condition(conditions: Iterable[tuple[str, str]]) -> str:
    """Write which effects are wanted: those of other reactions, and those whose own condition holds."""
    clauses = [f"(w.reaction <> '{reaction}' or {condition})" for reaction, condition in conditions]
    return f"join new_events v on v.id = w.event_id where {' and '.join(clauses)}" if clauses else ""


def _effect_columns(wanted: Sequence[NewEffect], *, parent_id: UUID | None, now: datetime) -> tuple[object, ...]:
    return (
        parent_id,
        now,
        [new_id() for _ in wanted],
        [each.event_id for each in wanted],
        [each.reaction.name for each in wanted],
        [each.target for each in wanted],
        [each.lane for each in wanted],
        [each.reaction.holds_back for each in wanted],
        [each.after for each in wanted],
        [each.reason for each in wanted],
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
