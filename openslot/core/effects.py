"""Events and effects in the database: the truth that the queue only carries the ids of."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec

from openslot.core.actor import Actor
from openslot.core.db import Db
from openslot.core.events import Effect, Event, Reaction
from openslot.core.ids import new_id
from openslot.core.queue import Job, enqueue

INSERT_EVENT = """
insert into events (id, type, at, actor, tenant_id, subject_kind, subject_id, fact, public)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)"""

# The lane's row is locked and read again before it is counted, so two writers never both see an empty lane.
INSERT_EFFECTS = """
with wanted as (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::interval[])
        with ordinality as w(id, reaction, target, lane, holds_back, place)
), joined as (
    insert into lanes (lane, unfinished)
    select lane, count(*) from wanted where lane is not null group by lane order by lane
    on conflict (lane) do update set unfinished = lanes.unfinished + excluded.unfinished
    returning lane, unfinished
)
insert into effects (id, event_id, parent_id, reaction, target, lane, state, next_try_at, hold_until, created_at)
select w.id, $6, $7, w.reaction, w.target, w.lane,
       case when w.lane is null or j.unfinished - c.together + c.before = 0 then 'queued' else 'waiting' end,
       $8::timestamptz, $8 + w.holds_back, $8
from wanted w
left join joined j on j.lane = w.lane
cross join lateral (
    select count(*) as together, count(*) filter (where o.place < w.place) as before
    from wanted o where o.lane = w.lane
) c
order by w.place
returning id, state"""

START = """
update effects e set state = 'running', attempts = attempts + 1
from events v
where e.id = $1 and e.round = $2 and e.state in ('queued', 'running') and v.id = e.event_id
returning e.id, e.event_id, v.type as event_type, v.at as event_at, v.tenant_id, v.fact, e.reaction, e.target,
          e.lane, e.attempts, e.round"""

FINISH = """
with finished as (
    update effects set state = $3, finished_at = $4, last_error = $5, vendor_id = $6
    where id = $1 and round = $2 and state = 'running' returning lane
), left_lane as (
    update lanes set unfinished = unfinished - 1 from finished where lanes.lane = finished.lane
    returning unfinished
)
select (select unfinished from left_lane) as unfinished from finished"""

# A calendar needs only the newest state: with `collapses` the older ones that wait are passed over.
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

POSTPONE = """
update effects set state = 'queued', round = round + 1, next_try_at = $3, last_error = $4
where id = $1 and round = $2 and state = 'running' returning round"""

# It did not even begin, so the try is given back.
PUT_BACK = """
update effects set state = 'queued', round = round + 1, attempts = attempts - 1, next_try_at = $3, last_error = $4
where id = $1 and round = $2 and state = 'running' returning round"""

REVIVE = """
with revived as (
    update effects set state = 'queued', attempts = 0, round = round + 1, next_try_at = $2, finished_at = null
    where id = $1 and state = 'dead' returning id, round, lane
), joined as (
    insert into lanes (lane, unfinished) select lane, 1 from revived where lane is not null
    on conflict (lane) do update set unfinished = lanes.unfinished + 1
)
select id, round from revived"""

# The first of each lane alone: two that are let go at once would race each other.
RELEASE_HELD = """
update effects set state = 'queued', next_try_at = $1
where state = 'waiting' and id in (
    select distinct on (lane) id from effects where state = 'waiting' and hold_until <= $1 order by lane, no)
returning id, round"""

# What a crash between two steps can leave behind: due, and no job carries it.
FORGOTTEN = """
select id, round from effects e
where state in ('queued', 'running') and next_try_at < $1
  and not exists (
    select 1 from pgqueuer q where q.dedupe_key = e.id || ':' || e.round and q.status in ('queued', 'picked'))
order by next_try_at limit 1000"""


async def insert_event(db: Db, event: Event, *, actor: Actor, now: datetime) -> UUID:
    """Keep the whole fact as it is now."""
    event_id = new_id()
    kind, subject_id = event.subject
    public = event.public()
    await db.execute(
        INSERT_EVENT,
        event_id,
        event.type,
        now,
        msgspec.json.encode(actor).decode(),
        event.tenant_id,
        kind,
        subject_id,
        msgspec.json.encode(event).decode(),
        None if public is None else msgspec.json.encode(public).decode(),
    )
    return event_id


async def insert_effects(
    db: Db,
    event_id: UUID,
    wanted: Sequence[tuple[Reaction, str | None, str | None]],
    *,
    now: datetime,
    parent_id: UUID | None = None,
) -> None:
    """Write one effect per (reaction, target, lane), with a job for each that heads its lane."""
    if not wanted:
        return
    rows = await db.fetch(
        INSERT_EFFECTS,
        [new_id() for _ in wanted],
        [reaction.name for reaction, _, _ in wanted],
        [target for _, target, _ in wanted],
        [lane for _, _, lane in wanted],
        [reaction.holds_back for reaction, _, _ in wanted],
        event_id,
        parent_id,
        now,
    )
    await enqueue(db, [Job(effect_id=row["id"], round=0) for row in rows if row["state"] == "queued"])


async def start_effect(db: Db, job: Job) -> Effect | None:
    """Take up one try, or None where it is done, replaced or gone."""
    row = await db.fetchrow(START, job.effect_id, job.round)
    return Effect(**row) if row else None


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
    """Close an effect and send the next of its lane on its way; False where another worker was first."""
    row = await db.fetchrow(FINISH, effect.id, effect.round, state, now, error, vendor_id)
    if row is None:
        return False
    if effect.lane is None or not row["unfinished"]:
        return True
    if reaction is not None and reaction.collapses:
        await db.execute(COLLAPSE, effect.lane, now)
    await _enqueue_rows(db, await db.fetch(RELEASE_NEXT, effect.lane, now))
    return True


async def postpone_effect(db: Db, effect: Effect, *, error: str, delay: timedelta, now: datetime) -> None:
    """Plan the next try after a failed one."""
    next_round = await db.fetchval(POSTPONE, effect.id, effect.round, now + delay, error)
    if next_round is not None:
        await enqueue(db, [Job(effect_id=effect.id, round=next_round, after=delay)])


async def put_back_effect(db: Db, effect: Effect, *, reason: str, delay: timedelta, now: datetime) -> None:
    """Plan a try anew that could not begin; it is not counted."""
    next_round = await db.fetchval(PUT_BACK, effect.id, effect.round, now + delay, reason)
    if next_round is not None:
        await enqueue(db, [Job(effect_id=effect.id, round=next_round, after=delay)])


async def revive_effect(db: Db, effect_id: UUID, *, now: datetime) -> bool:
    """Give a dead effect a fresh set of tries; False where it is not dead."""
    rows = await db.fetch(REVIVE, effect_id, now)
    await _enqueue_rows(db, rows)
    return bool(rows)


async def release_held(db: Db, *, now: datetime) -> int:
    """Let effects go that have waited behind a failing one for as long as their reaction allows."""
    return await _enqueue_rows(db, await db.fetch(RELEASE_HELD, now))


async def enqueue_forgotten(db: Db, *, due_before: datetime) -> int:
    """Give a job to every due effect that has none."""
    return await _enqueue_rows(db, await db.fetch(FORGOTTEN, due_before))


async def _enqueue_rows(db: Db, rows: Iterable[asyncpg.Record]) -> int:
    jobs = [Job(effect_id=row["id"], round=row["round"]) for row in rows]
    await enqueue(db, jobs)
    return len(jobs)
