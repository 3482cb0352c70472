"""Retry dead effects without changing the order of what happens to one subject at one target."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.effects import RELEASE_NEXT, REPLACED, replay_lane
from openslot.platform.core.events import WAKE
from openslot.platform.core.retention import kept_since
from openslot.platform.core.work import Work
from openslot.platform.i18n import CodedReason

UNFINISHED = ("waiting", "queued", "running")
WITHOUT_LANE = 100

DEAD = "select id, lane from effects where state = 'dead' and ($1::uuid[] is null or id = any($1)) order by no"

# Adding to a lane and finishing one of its effects both change this row, so locking it prevents both.
LOCK_LANE = """
insert into lanes (lane, unfinished) values ($1, 0)
on conflict (lane) do update set unfinished = lanes.unfinished returning unfinished"""

# Found by their subject: lanes themselves have no index.
IN_LANES = """
from effects d join events dv on dv.id = d.event_id
join events v on v.subject_id = dv.subject_id or v.id = dv.id join effects f on f.event_id = v.id
where d.id = any($1) and f.lane = any($2)"""
# Workers start an effect and put it back without locking the lane: skip those that they are working on now.
LOCK_PLANNED = f"select f.id {IN_LANES} and f.state in ('waiting', 'queued') for update of f skip locked"
READ = f"""
select distinct f.id, f.no, v.no as event_no, v.at as event_at, f.lane, f.state, f.reaction {IN_LANES} order by f.no"""

QUEUE_ALONE = """
update effects e set state = 'queued', attempts = 0, round = round + 1, next_try_at = $2, yields = false,
    finished_at = null
where e.id = any($1) and e.state = 'dead'
  and coalesce((select v.at from events v where v.id = e.event_id), e.finished_at) >= $3
returning e.id"""
SKIP = """
update effects set state = 'skipped', finished_at = $3,
    last_error = left($2 || coalesce('; it had failed: ' || last_error, ''), 1000)
where id = any($1) and state = 'dead' returning id"""
# With a new round, an attempt that was called before its turn is not hurried.
LINE_UP = """
update effects e set state = 'waiting', round = e.round + 1, finished_at = null,
    hold_until = $3::timestamptz + w.holds_back, attempts = case when e.state = 'dead' then 0 else e.attempts end
from unnest($1::uuid[], $2::interval[]) as w (id, holds_back) where e.id = w.id"""
JOIN_LANE = "update lanes set unfinished = unfinished + $2 where lane = $1"

DONE_SINCE = CodedReason(
    "effects.done_since",
    "a later change was already carried out",
    said="a later change has been carried out already",
)
TOO_OLD = CodedReason("effects.too_old", "it is too old", said="its event is older than events are kept")
UNDER_WAY = CodedReason("effects.under_way", "a later change is being carried out at this moment")


class RevivalVerdict(StrEnum):
    QUEUED = "queued"
    SKIPPED = "skipped"
    LEFT = "left"


class Revival(Struct, frozen=True):
    """What happened to one dead effect, and why it is not retried."""

    effect_id: UUID
    verdict: RevivalVerdict
    reason: CodedReason | None = None


class LaneEntry(Struct, frozen=True, kw_only=True):
    """An effect in a lane, or in the lane that repeats it, with what is needed to decide about order."""

    id: UUID
    no: int
    event_no: int
    event_at: datetime
    lane: str
    state: str
    reaction: str
    is_planned: bool = False
    """Whether it can be planned again: it has not started, and no worker is starting it."""

    @property
    def is_unfinished(self) -> bool:
        return self.state in UNFINISHED


def judge(dead: LaneEntry, others: Collection[LaneEntry], *, collapses: bool, kept_since: datetime) -> Revival:
    """Decide whether a dead effect can still be carried out without coming after an effect that followed it.

    Finished effects are compared by their events, since a lane that repeats may carry older ones; unfinished effects
    are in the order in which they joined their lane.
    """
    newer = [each for each in others if (each.event_no, each.no) > (dead.event_no, dead.no)]
    behind = [each for each in others if each.lane == dead.lane and each.no > dead.no]
    if dead.event_at < kept_since:
        return Revival(dead.id, RevivalVerdict.SKIPPED, TOO_OLD)
    if any(each.state == "done" for each in newer):
        return Revival(dead.id, RevivalVerdict.SKIPPED, DONE_SINCE)
    if collapses and any(each.is_unfinished or each.state == "dead" for each in behind):
        return Revival(dead.id, RevivalVerdict.SKIPPED, REPLACED)
    elsewhere = [each for each in newer if each.lane != dead.lane]
    if any(each.is_unfinished and not each.is_planned for each in [*behind, *elsewhere]):
        return Revival(dead.id, RevivalVerdict.LEFT, UNDER_WAY)
    return Revival(dead.id, RevivalVerdict.QUEUED)


async def revive_effects(work: Work, effect_ids: Sequence[UUID] | None) -> list[Revival]:
    """Give these dead effects, or all, a fresh set of attempts; each lane has its own transaction."""
    runtime = work.runtime
    lanes: dict[str | None, list[UUID]] = {}
    for row in await work.db.fetch(DEAD, effect_ids):
        lanes.setdefault(row["lane"], []).append(row["id"])
    alone = lanes.pop(None, [])
    revivals: list[Revival] = []
    for begin in range(0, len(alone), WITHOUT_LANE):
        async with runtime.transaction(work.actor) as batch:
            revivals += await _queue_alone(batch, alone[begin : begin + WITHOUT_LANE])
    for lane, dead in lanes.items():
        async with runtime.transaction(work.actor) as batch:
            revivals += await revive_in_lane(batch, str(lane), dead)
    return revivals


async def revive_in_lane(work: Work, lane: str, effect_ids: Sequence[UUID]) -> list[Revival]:
    """Give dead effects of one lane a fresh set of attempts, ahead of later ones; skip what is outdated."""
    unfinished: int = await work.db.fetchval(LOCK_LANE, lane)
    entries = await _read_lanes(work, lane, effect_ids)
    dead = [entry for entry in entries if entry.id in effect_ids and entry.state == "dead"]
    since = kept_since(work.runtime.settings, now=work.now)
    collapsing = {reaction.name for reaction in work.runtime.wiring.reactions if reaction.collapses}
    revivals = [judge(each, entries, collapses=each.reaction in collapsing, kept_since=since) for each in dead]
    for revival in revivals:
        if revival.verdict is RevivalVerdict.SKIPPED and revival.reason is not None:
            await work.db.execute(SKIP, [revival.effect_id], revival.reason.kept, work.now)
    queued = {revival.effect_id for revival in revivals if revival.verdict is RevivalVerdict.QUEUED}
    if queued:
        own = [entry for entry in entries if entry.lane == lane]
        await _line_up(work, lane, own, queued, unfinished=unfinished)
    return revivals


async def _read_lanes(work: Work, lane: str, effect_ids: Sequence[UUID]) -> list[LaneEntry]:
    planned = {row["id"] for row in await work.db.fetch(LOCK_PLANNED, effect_ids, [lane])}
    rows = await work.db.fetch(READ, effect_ids, [lane, replay_lane(lane)])
    return [LaneEntry(**row, is_planned=row["id"] in planned) for row in rows]


async def _line_up(
    work: Work, lane: str, own: Sequence[LaneEntry], queued: AbstractSet[UUID], *, unfinished: int
) -> None:
    """Make revived effects and all that is planned after them wait in line, and release the first."""
    first = min(entry.no for entry in own if entry.id in queued)
    line = [entry for entry in own if entry.id in queued or (entry.is_planned and entry.no > first)]
    holds = {reaction.name: reaction.holds_back for reaction in work.runtime.wiring.reactions}
    held = [holds.get(entry.reaction) for entry in line]
    await work.db.execute(LINE_UP, [entry.id for entry in line], held, work.now)
    await work.db.execute(JOIN_LANE, lane, len(queued))
    others = [entry for entry in own if entry.is_unfinished and entry not in line]
    is_seen = sum(entry.is_unfinished for entry in own) == unfinished
    # The effect ahead releases the next one when it is finished.
    if is_seen and all(entry.state == "waiting" for entry in others):
        await work.db.execute(RELEASE_NEXT, lane, work.now)
        await work.db.execute(f"select {WAKE}")


async def _queue_alone(work: Work, effect_ids: Sequence[UUID]) -> list[Revival]:
    since = kept_since(work.runtime.settings, now=work.now)
    queued = await work.db.fetch(QUEUE_ALONE, effect_ids, work.now, since)
    await work.db.execute(f"select {WAKE}")
    skipped = await work.db.fetch(SKIP, effect_ids, TOO_OLD.kept, work.now)
    return [
        *(Revival(row["id"], RevivalVerdict.QUEUED) for row in queued),
        *(Revival(row["id"], RevivalVerdict.SKIPPED, TOO_OLD) for row in skipped),
    ]
