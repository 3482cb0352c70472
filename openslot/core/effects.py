"""Effects, and those planned for a time: their rows are the source of truth, and the queue only carries their ids."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec

from openslot.core.db import Db, Row, count_of
from openslot.core.events import Cause, Effect, EffectRules
from openslot.core.ids import new_id
from openslot.core.queue import AHEAD, Job, Priority, enqueue

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
AGAIN = """
update effects set state = case when superseded is null then 'queued' else 'skipped' end,
    finished_at = case when superseded is not null then $5::timestamptz end, attempts = attempts - {uncounted},
    round = round + 1, next_try_at = $3, last_error = left(concat_ws('; ', superseded, $4::text), 1000)
where id = $1 and round = $2 and state = 'running' returning round, state"""
POSTPONE = AGAIN.format(uncounted=0)
# The reaction was never called, so the attempt does not count. Nothing waits for the disk, as in `START`.
PUT_BACK = f"{AGAIN.format(uncounted=1)}, set_config('synchronous_commit', 'off', true)"

# No reaction in this release could handle it, so neither the attempt nor the time counts: effects behind it are held
# back longer by the same time.
HAND_OVER = f"""
with handed_over as ({AGAIN.format(uncounted=1)}, lane
), held as (
    update effects e set hold_until = e.hold_until + $6::interval from handed_over h
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

BATCH = 200
LOOKED_AT = 2_000
BEFORE_ALL = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))


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
    reaction: EffectRules | None,
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
    row = await db.fetchrow(HAND_OVER, effect.id, effect.round, now + delay, reason, now, delay)
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
    return f"{lane}:replay"


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


REPLANNED = "it was planned anew"

# A waiting effect is moved, a running one gets no attempt after this one, and a dead one is skipped and replaced. Each
# row is read again under its own lock: a worker starts it before or after that, and the round tells which.
PLAN = f"""
with found as (
    update effects e set
        state = case state when 'dead' then 'skipped' else state end,
        superseded = case state when 'running' then '{REPLANNED}' end,
        last_error = case state when 'dead' then left(concat_ws('; it had failed: ', '{REPLANNED}', last_error), 1000)
            when 'running' then last_error end,
        round = round + (state = 'queued')::int,
        attempts = case state when 'queued' then 0 else attempts end,
        next_try_at = case state when 'queued' then $4 else next_try_at end,
        payload = case state when 'queued' then $5 else payload end,
        tenant_id = case state when 'queued' then $6 else tenant_id end,
        target = case state when 'queued' then $7 else target end
    where reaction = $2 and key = $3 and state in ('queued', 'running', 'dead')
    returning id, round, state
), added as (
    insert into effects as e (id, reaction, key, state, next_try_at, payload, tenant_id, target, created_at)
    select $1, $2, $3, 'queued', $4::timestamptz, $5::jsonb, $6::uuid, $7::text, $8
    where not exists (select from found where state = 'queued')
    on conflict (reaction, key) where state = 'queued' and key is not null do update set
        round = e.round + 1, attempts = 0, last_error = null, next_try_at = excluded.next_try_at,
        payload = excluded.payload, tenant_id = excluded.tenant_id, target = excluded.target
    returning id, round
)
select id, round from found where state = 'queued' union all select id, round from added"""

MOVE = """
update effects set next_try_at = $3, round = round + 1, attempts = 0, last_error = null
where reaction = $1 and key = $2 and state = 'queued' returning id, round"""

DROP = """
update effects set
    state = case state when 'running' then state else 'skipped' end,
    superseded = case state when 'running' then $3 end,
    finished_at = case state when 'running' then finished_at else $4 end,
    last_error = case state when 'running' then last_error else $3 end
where reaction = $1 and key = $2 and state in ('queued', 'running', 'dead') returning state"""

DELETE_FINISHED = """
delete from effects where id = any(array(
    select id from effects where event_id is null and finished_at < $1 order by finished_at limit $2))"""


async def plan_effect(
    db: Db,
    reaction: str,
    key: str,
    *,
    due_at: datetime,
    payload: object = None,
    tenant_id: UUID | None = None,
    target: str | None = None,
    now: datetime,
) -> None:
    """Plan an effect, or move the one that waits under the same key; a running attempt is not repeated."""
    given = None if payload is None else msgspec.json.encode(payload).decode()
    row = await db.fetchrow(PLAN, new_id(), reaction, key, due_at, given, tenant_id, target, now)
    if row is None:
        raise LookupError("a plan is either moved or added")
    await _enqueue_at(db, row["id"], row["round"], due_at, now=now)


async def move_planned(db: Db, reaction: str, key: str, *, due_at: datetime, now: datetime) -> bool:
    """Change when an effect is due; return False if none waits under this key: it has started or does not exist."""
    row = await db.fetchrow(MOVE, reaction, key, due_at)
    if row is not None:
        await _enqueue_at(db, row["id"], row["round"], due_at, now=now)
    return row is not None


async def drop_planned(db: Db, reaction: str, key: str, *, reason: str, now: datetime) -> bool:
    """Cancel an effect; return False if none waits under this key, in which case a running attempt is not repeated."""
    rows = await db.fetch(DROP, reaction, key, reason, now)
    return any(row["state"] == "skipped" for row in rows)


async def delete_finished(db: Db, *, before: datetime, limit: int) -> int:
    """Delete planned effects that were finished long ago."""
    return count_of(await db.execute(DELETE_FINISHED, before, limit))


async def forget_effect(db: Db, effect_id: UUID) -> None:
    """Delete a planned effect that is done, for effects so frequent that a record of each is of no use."""
    await db.execute("delete from effects where id = $1 and event_id is null and state = 'done'", effect_id)


async def _enqueue_at(db: Db, effect_id: UUID, number: int, due_at: datetime, *, now: datetime) -> None:
    await enqueue(db, [Job(effect_id=effect_id, round=number, after=max(due_at - now, timedelta()), is_planned=True)])
