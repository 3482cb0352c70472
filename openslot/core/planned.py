"""Effects that are planned for a time instead of following from an event; they can be moved and dropped."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.core.db import Db, count_of
from openslot.core.ids import new_id
from openslot.core.queue import Job, enqueue

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


class PlannedEffect(Struct, frozen=True, kw_only=True):
    """What is to be done and when; reaction and key together identify the plan."""

    reaction: str
    key: str
    due_at: datetime
    payload: object = None
    tenant_id: UUID | None = None
    target: str | None = None


async def plan_effect(db: Db, plan: PlannedEffect, *, now: datetime) -> None:
    """Plan an effect, or move the one that waits under the same key; a running attempt is not repeated."""
    row = await db.fetchrow(
        PLAN,
        new_id(),
        plan.reaction,
        plan.key,
        plan.due_at,
        None if plan.payload is None else msgspec.json.encode(plan.payload).decode(),
        plan.tenant_id,
        plan.target,
        now,
    )
    if row is None:
        raise LookupError("a plan is either moved or added")
    await _enqueue(db, row["id"], row["round"], plan.due_at, now=now)


async def move_planned(db: Db, reaction: str, key: str, *, due_at: datetime, now: datetime) -> bool:
    """Change when an effect is due; return False if none waits under this key: it has started or does not exist."""
    row = await db.fetchrow(MOVE, reaction, key, due_at)
    if row is not None:
        await _enqueue(db, row["id"], row["round"], due_at, now=now)
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


async def _enqueue(db: Db, effect_id: UUID, number: int, due_at: datetime, *, now: datetime) -> None:
    await enqueue(db, [Job(effect_id=effect_id, round=number, after=max(due_at - now, timedelta()), is_planned=True)])
