"""Effects, and those planned for a time: their table is the queue that workers take them from."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import msgspec

from openslot.platform.core.actor import EffectAttempt
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import WAKE, Cause, Change, Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.queue_order import DUE, WALKED_TO, Ring
from openslot.platform.i18n import CodedReason

# Workers also look without being woken, so what is due later than this needs no notice.
LOOK_EVERY = timedelta(seconds=5)
# A worker without a heartbeat for this long is dead. One with a heartbeat in the future is, too: the database's clock
# was set back, and a worker that lives beats again.
ABANDONED_AFTER = timedelta(seconds=15)
IS_ALIVE = "b.beat_at between now() - {after}::interval and now() + interval '1 minute'"

# What a dead worker was running, and what this one is not running though it has taken it: the answer or the result got
# lost with a connection.
ABANDONED = f"""
due as materialized (
    select id from effects where state = 'running' and id <> all($4::uuid[])
      and not exists (
        select from worker_beats b where b.worker_id = effects.worker_id and b.worker_id <> $1
          and {IS_ALIVE.format(after="$5")})
    order by next_try_at limit $3 for update skip locked
)"""
# An effect that was replaced or dropped while its worker died is not started again. Nothing waits for the disk: if the
# server crashes, the effect is started again, as after a crash of the worker.
TAKE = """
with recursive {due}, started as (
    update effects e set attempts = e.attempts + (superseded is null)::int, worker_id = $1,
        state = case when superseded is null then 'running' else 'skipped' end,
        finished_at = case when superseded is not null then $2::timestamptz end,
        last_error = coalesce(superseded, last_error)
    from due where e.id = due.id returning e.*
)
select s.id, s.key, s.payload, s.reaction, s.target, s.lane, s.attempts, s.round, s.created_at,
       coalesce(v.tenant_id, s.tenant_id) as tenant_id, v.id as event_id, v.type as event_type, v.at as event_at,
       v.actor, v.fact, n.due_at, {walked_to} as walked_to, set_config('synchronous_commit', 'off', true)
from (
    select least(
        (select min(next_try_at) from effects where state = 'queued' and not yields and next_try_at > $2),
        (select min(next_try_at) from effects where state = 'queued' and yields and next_try_at > $2)) as due_at
) n left join started s on s.state = 'running' left join events v on v.id = s.event_id
order by s.yields, s.next_try_at, s.no"""
TAKE_DUE = TAKE.format(due=DUE, walked_to=WALKED_TO)
TAKE_ABANDONED = TAKE.format(due=ABANDONED, walked_to="null::uuid")
HURRY = """
update effects e set next_try_at = $3, yields = false from unnest($1::uuid[], $2::int[]) as w (id, round)
where e.id = w.id and e.round = w.round and e.state = 'queued' and e.next_try_at > $3"""

# What a worker has turned away is called by it, and only it. Nobody knows who has planned an effect that was never
# started: whoever has is gone if all workers are younger.
CALL_LEFT = f"""
update effects e set next_try_at = $1 where id = any(array(
    select id from effects where state = 'queued' and yields and next_try_at > $1 and next_try_at < $1 + $4::interval
      and last_error = any($2::text[])
      and case when worker_id is null then created_at < (
            select min(started_at) from worker_beats b where {IS_ALIVE.format(after="$5")})
          else not exists (
            select from worker_beats b where b.worker_id = effects.worker_id and {IS_ALIVE.format(after="$5")}) end
    order by next_try_at limit $3 for update skip locked))"""

# Rows are locked in one order, so that transactions that finish several effects can't deadlock: effects by their id,
# then lanes by their name. Lanes of expanded effects come last: whoever expands one joins them after leaving its own.
# `offset 0` has each effect looked up by its id, whatever the statistics were when the statement was planned.
FINISH = """
with running as materialized (
    select e.id, e.lane, e.parent_id, g.state, g.error, g.vendor_id
    from (
        select * from unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[])
            as given (id, round, state, error, vendor_id) order by id
    ) g cross join lateral (select * from effects where id = g.id offset 0 for update) e
    where e.round = g.round and e.state = 'running'
), finished as (
    update effects e set finished_at = $1, last_error = r.error, vendor_id = r.vendor_id,
        state = case when r.state = 'dead' and e.superseded is not null then 'skipped' else r.state end
    from running r where e.id = r.id returning e.id, e.round, e.lane
), held as materialized (
    select l.lane, r.count from (
        select lane, bool_or(parent_id is not null) as is_last, count(distinct id) from running group by lane
    ) r join lanes l on l.lane = r.lane order by r.is_last, r.lane for update of l
), left_lanes as (
    update lanes l set unfinished = l.unfinished - h.count from held h where l.lane = h.lane
    returning l.lane, l.unfinished
)
select f.id, f.round, l.unfinished from finished f left join left_lanes l on l.lane = f.lane"""

REPLACED = CodedReason("effects.replaced", "a newer change replaced it", said="a newer change took its place")
# A calendar needs only the newest state: with `collapses`, older effects that are waiting are skipped.
COLLAPSE = f"""
with passed as (
    update effects set state = 'skipped', finished_at = $2, last_error = '{REPLACED.kept}'
    where lane = $1 and state = 'waiting'
      and no < (select max(no) from effects where lane = $1 and state = 'waiting')
    returning id
)
update lanes set unfinished = unfinished - (select count(*) from passed) where lane = $1"""

RELEASE_NEXT = """
update effects set state = 'queued', next_try_at = $2
where id = (select id from effects where lane = $1 and state = 'waiting' order by no limit 1) and state = 'waiting'
returning id"""

# An effect that was replaced or dropped in the meantime is not tried again.
AGAIN = """
update effects set state = case when superseded is null then 'queued' else 'skipped' end,
    finished_at = case when superseded is not null then $5::timestamptz end, attempts = attempts - {uncounted},
    round = round + 1, next_try_at = $3, yields = $6, last_error = left(concat_ws('; ', superseded, $4::text), 1000)
where id = $1 and round = $2 and state = 'running' returning round, state"""
POSTPONE = AGAIN.format(uncounted=0)
# The reaction was never called, so the attempt does not count. Nothing waits for the disk, as in `START`.
PUT_BACK = f"{AGAIN.format(uncounted=1)}, set_config('synchronous_commit', 'off', true)"

# No reaction in this release could handle it, so neither the attempt nor the time counts: effects behind it are held
# back longer by the same time.
HAND_OVER = f"""
with handed_over as ({AGAIN.format(uncounted=1)}, lane
), held as (
    update effects e set hold_until = e.hold_until + $7::interval from handed_over h
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
    update effects e set state = 'queued', next_try_at = $1 from heads where e.id = heads.id returning e.id
), later as (
    update effects e set hold_until = $1 + interval '30 seconds'
    where e.id in (select id from held union select id from behind except select id from heads)
)
select (select count(*) from held) as looked_at, (select count(*) from released) as released"""

BATCH = 200


class EffectEnding(NamedTuple):
    """How an effect ends."""

    effect: Effect
    state: str
    error: str | None = None
    vendor_id: str | None = None


class Finish(NamedTuple):
    is_first: bool
    has_released: bool = False
    """Whether another effect of its lane is due now."""


async def take_effects(
    db: Db, worker_id: UUID, *, now: datetime, limit: int, ring: Ring | None = None
) -> tuple[list[Effect], datetime | None]:
    """Start an attempt of each of the effects that are due; return them, and when the next one is due.

    If there are more than `limit`, up to a quarter more are those of accounts that would have to wait behind others.
    """
    ring = ring or Ring()
    rows = await db.fetch(TAKE_DUE, worker_id, now, limit, ring.after)
    ring.after = rows[0]["walked_to"] or ring.begin
    return _read_taken(rows)


async def take_abandoned(
    db: Db, worker_id: UUID, *, now: datetime, limit: int, running: Sequence[UUID]
) -> list[Effect]:
    """Start another attempt of effects that no worker is running though one has started them."""
    return _read_taken(await db.fetch(TAKE_ABANDONED, worker_id, now, limit, running, ABANDONED_AFTER))[0]


def _read_taken(rows: Sequence[Row]) -> tuple[list[Effect], datetime | None]:
    return [read_effect(row) for row in rows if row["id"] is not None], rows[0]["due_at"]


def read_effect(row: Row) -> Effect:
    has_cause = row["event_id"] is not None
    cause = Cause(**{name: row[name] for name in Cause.__struct_fields__}) if has_cause else None
    return Effect(cause=cause, **{name: row[name] for name in Effect.__struct_fields__ if name != "cause"})


async def hurry(db: Db, attempts: Sequence[EffectAttempt], *, now: datetime) -> None:
    """Let attempts that are due later be made now."""
    await db.execute(HURRY, [each.effect_id for each in attempts], [each.round for each in attempts], now)


async def call_left(db: Db, *, now: datetime, reasons: Sequence[str], within: timedelta, limit: int) -> int:
    """Let effects due within this time be tried now if a worker that is gone has turned them away for such a reason."""
    return count_of(await db.execute(CALL_LEFT, now, reasons, limit, within, ABANDONED_AFTER))


async def finish_effects(
    db: Db, endings: Sequence[EffectEnding], *, now: datetime, collapsing: Collection[str]
) -> list[Finish]:
    """Finish each effect, unless another worker has finished it first, and release the next one in its lane.

    In lanes of the reactions that are `collapsing`, only the newest one is released.
    """
    keys = ([each.effect.id for each in endings], [each.effect.round for each in endings])
    columns = zip(*((each.state, each.error, each.vendor_id) for each in endings), strict=True)
    rows = await db.fetch(FINISH, now, *keys, *map(list, columns))
    first = {(row["id"], row["round"]): row["unfinished"] for row in rows}
    finishes = []
    for effect, *_ in endings:
        is_first = (effect.id, effect.round) in first
        # A worker may have two attempts of one effect: the second one is not the first to finish it.
        is_followed = bool(first.pop((effect.id, effect.round), None))
        if is_followed and effect.reaction in collapsing:
            await db.execute(COLLAPSE, effect.lane, now)
        has_released = is_followed and count_of(await db.execute(RELEASE_NEXT, effect.lane, now)) > 0
        finishes.append(Finish(is_first, has_released))
    return finishes


async def postpone_effect(db: Db, effect: Effect, *, error: str, delay: timedelta, now: datetime) -> None:
    await db.execute(POSTPONE, effect.id, effect.round, now + delay, error, now, True)


async def put_back_effect(
    db: Db, effect: Effect, *, reason: str, delay: timedelta, now: datetime, yields: bool
) -> EffectAttempt | None:
    """Schedule an attempt again that could not start; it is not counted. Return it, unless it was replaced."""
    row = await db.fetchrow(PUT_BACK, effect.id, effect.round, now + delay, reason, now, yields)
    return EffectAttempt(effect.id, row["round"]) if row is not None and row["state"] == "queued" else None


async def hand_over_effect(db: Db, effect: Effect, *, reason: str, delay: timedelta, now: datetime) -> None:
    """Leave an effect to another worker; it keeps its attempts and its place in its lane."""
    await db.execute(HAND_OVER, effect.id, effect.round, now + delay, reason, now, False, delay)


async def release_held(db: Db, *, now: datetime, limit: int = BATCH) -> tuple[int, bool]:
    """Release effects that have waited behind a failing one for as long as their reaction allows.

    Looks at up to `limit` effects, and returns how many were released and whether there are more to look at.
    """
    row = await db.fetchrow(RELEASE_HELD, now, limit)
    return (row["released"], row["looked_at"] == limit) if row else (0, False)


def replay_lane(lane: str) -> str:
    return f"{lane}:replay"


REPLANNED = CodedReason("effects.replanned", "a newer change replaced it", said="it was planned anew")

# A waiting effect is moved, a running one gets no attempt after this one, and a dead one is skipped and replaced. Each
# row is read again under its own lock: a worker starts it before or after that, and the round tells which. What waited
# because messages were stopped has another time now.
PLAN = f"""
with found as (
    update effects e set
        state = case state when 'dead' then 'skipped' else state end,
        superseded = case state when 'running' then '{REPLANNED.kept}' end,
        last_error = case state when 'dead' then
            left(concat_ws('; it had failed: ', '{REPLANNED.kept}', last_error), 1000)
            when 'running' then last_error end,
        round = round + (state = 'queued')::int,
        yields = yields and state <> 'queued',
        attempts = case state when 'queued' then 0 else attempts end,
        next_try_at = case state when 'queued' then $4 else next_try_at end,
        payload = case state when 'queued' then $5 else payload end,
        tenant_id = case state when 'queued' then $6 else tenant_id end,
        target = case state when 'queued' then $7 else target end
    where reaction = $2 and key = $3 and state in ('queued', 'running', 'dead')
    returning id, round, state
), moved as (
    delete from held_effects where effect_id in (select id from found where state = 'queued')
), added as (
    insert into effects as e (id, reaction, key, state, next_try_at, payload, tenant_id, target, created_at)
    select $1, $2, $3, 'queued', $4::timestamptz, $5::jsonb, $6::uuid, $7::text, $8
    where not exists (select from found where state = 'queued')
    on conflict (reaction, key) where state = 'queued' and key is not null do update set
        round = e.round + 1, yields = false, attempts = 0, last_error = null, next_try_at = excluded.next_try_at,
        payload = excluded.payload, tenant_id = excluded.tenant_id, target = excluded.target
    returning id, round
)
select count(*), case when $4 < $8 + interval '5 seconds' then {WAKE} end
from (select from found where state = 'queued' union all select from added) planned"""

MOVE = f"""
update effects set next_try_at = $3::timestamptz, round = round + 1, yields = false, attempts = 0, last_error = null
where reaction = $1 and key = $2 and state = 'queued'
returning case when $3 < $4::timestamptz + interval '5 seconds' then {WAKE} end"""

DROP = """
update effects set
    state = case state when 'running' then state else 'skipped' end,
    superseded = case state when 'running' then $3 end,
    finished_at = case state when 'running' then finished_at else $4 end,
    last_error = case state when 'running' then last_error else $3 end
where reaction = $1 and key = $2 and state in ('queued', 'running', 'dead') returning state"""

# In every collation, what follows the beginning comes before a letter.
LIST_PLANNED = """
select reaction, key from effects
where reaction = any($1) and state in ('queued', 'running', 'dead')
  and key >= $2 and key < $2 || 'z' and starts_with(key, $2 || ':')"""

DELETE_FINISHED = """
delete from effects where id = any(array(
    select id from effects where event_id is null and finished_at < $1 order by finished_at limit $2))"""


def plan_effect(
    reaction: str,
    key: str,
    *,
    due_at: datetime,
    payload: object = None,
    tenant_id: UUID | None = None,
    target: str | None = None,
    now: datetime,
) -> Change:
    """Plan an effect, or move the one that waits under the same key; a running attempt is not repeated."""
    given = None if payload is None else msgspec.json.encode(payload).decode()
    return Change(PLAN, (new_id(), reaction, key, due_at, given, tenant_id, target, now))


async def move_planned(db: Db, reaction: str, key: str, *, due_at: datetime, now: datetime) -> bool:
    """Change when an effect is due; return False if none waits under this key: it has started or does not exist."""
    return bool(count_of(await db.execute(MOVE, reaction, key, due_at, now)))


def drop_effect(reaction: str, key: str, *, reason: CodedReason, now: datetime) -> Change:
    """Cancel an effect if it waits under this key; a running attempt is not repeated."""
    return Change(DROP, (reaction, key, reason.kept, now))


async def drop_planned(db: Db, reaction: str, key: str, *, reason: CodedReason, now: datetime) -> bool:
    """Cancel an effect; return False if none waits under this key, in which case a running attempt is not repeated."""
    rows = await db.fetch(DROP, reaction, key, reason.kept, now)
    return any(row["state"] == "skipped" for row in rows)


async def list_planned(db: Db, reactions: Iterable[str], beginning: str) -> list[tuple[str, str]]:
    """List what waits, runs or has failed under keys that begin like this, up to a colon: each reaction and key."""
    return [(row["reaction"], row["key"]) for row in await db.fetch(LIST_PLANNED, list(reactions), beginning)]


async def delete_finished(db: Db, *, before: datetime, limit: int) -> int:
    """Delete planned effects that were finished long ago."""
    return count_of(await db.execute(DELETE_FINISHED, before, limit))


async def forget_effect(db: Db, effect_id: UUID) -> None:
    """Delete a planned effect that is done, for effects so frequent that a record of each is of no use."""
    await db.execute("delete from effects where id = $1 and event_id is null and state = 'done'", effect_id)


async def find_planned(db: Db, reaction: str, key: str) -> str | None:
    """Return the state of the effect that was last planned under a key."""
    statement = "select state from effects where reaction = $1 and key = $2 order by no desc limit 1"
    state: str | None = await db.fetchval(statement, reaction, key)
    return state


async def forget_planned(db: Db, reaction: str, key: str) -> None:
    """Delete what was planned under a key, whatever has become of it; a worker that runs it finds nothing to finish."""
    await db.execute("delete from effects where reaction = $1 and key = $2 and event_id is null", reaction, key)
