"""Effects that are finished at the same moment share a transaction: each has its own result, and none is forgotten."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from openslot.platform.core.config import Settings
from openslot.platform.core.effects import EffectEnding, Finish, finish_effects, take_effects
from openslot.platform.core.events import Change, Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Done, Expanded, Outcome, Reaction, Runtime, Skipped, Target, Work
from openslot.platform.i18n import CodedReason
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import LEAVE_MARK, MARKS, Notebook, Poked, wired
from tests.platform.jobs.support import poke, settled, states
from tests.support.effects import working

TOGETHER = 8
BLOCKED_WITHIN = 0.3
# Every row was written last by a transaction that finished its effect.
TRANSACTIONS = "select count(distinct xmin::text) from effects where reaction = 'probe.write'"


class Meeting:
    """A reaction whose attempts end at the same moment, once so many of them are running."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._all_here = asyncio.Event()
        self.notes: list[str] = []

    async def run(self, work: Work, effect: Effect) -> Outcome:
        """Wait for the others, and end as the note says."""
        del work
        note = effect.event(Poked).note
        self.notes.append(note)
        if len(self.notes) >= self._size:
            self._all_here.set()
        await self._all_here.wait()
        if note == "expand":
            return Expanded((Target(reaction="probe.child", target="x", lane=f"{effect.lane}@x"),))
        if note == "skip":
            return Skipped(CodedReason("test.no_need", "no need"))
        return Done(vendor_id=note, changes=(Change(LEAVE_MARK, (note,)),))


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """A runtime with one reaction that has lanes, and no worker."""
    async with open_runtime(settings, wiring=wired(Notebook().write, in_lanes=True)) as opened:
        yield opened


async def start(runtime: Runtime, *notes: str) -> list[Effect]:
    """Start an effect of a new lane for each note."""
    for note in notes:
        await poke(runtime, note)
    taken, _ = await take_effects(runtime.pool, new_id(), now=runtime.clock(), limit=len(notes))
    return sorted(taken, key=lambda effect: notes.index(effect.event(Poked).note))


async def finish(runtime: Runtime, effects: Sequence[Effect], *, collapsing: Sequence[str] = ()) -> list[Finish]:
    endings = [EffectEnding(effect, "done", vendor_id=f"done {place}") for place, effect in enumerate(effects)]
    return await finish_effects(runtime.pool, endings, now=runtime.clock(), collapsing=collapsing)


async def test_effects_that_end_together_are_finished_by_one_transaction_and_none_is_forgotten(
    settings: Settings,
) -> None:
    notes = [*(f"note {number}" for number in range(TOGETHER - 1)), "skip"]
    meeting = Meeting(TOGETHER)
    async with open_runtime(settings, wiring=wired(meeting.run, in_lanes=True)) as runtime:
        for note in notes:
            await poke(runtime, note)
        async with working(runtime):
            assert await settled(runtime) == ["done"] * (TOGETHER - 1) + ["skipped"]
        assert sorted(meeting.notes) == sorted(notes)
        rows = await runtime.pool.fetch("select attempts, vendor_id, last_error from effects order by no")
        done = [(1, note, None) for note in notes[:-1]]
        assert [tuple(row.values()) for row in rows] == [*done, (1, None, "test.no_need")]
        assert await runtime.pool.fetchval(MARKS) == TOGETHER - 1
        assert await runtime.pool.fetchval(TRANSACTIONS) == 1
        assert await runtime.pool.fetchval("select sum(unfinished) from lanes") == 0


async def test_effects_that_are_expanded_together_are_the_parents_of_their_own(settings: Settings) -> None:
    meeting, children = Meeting(TOGETHER), Notebook()
    wiring = wired(meeting.run, in_lanes=True, more=(Reaction(name="probe.child", run=children.write),))
    async with open_runtime(settings, wiring=wiring) as runtime:
        for _ in range(TOGETHER):
            await poke(runtime, "expand")
        async with working(runtime):
            assert await settled(runtime) == ["done"] * 2 * TOGETHER
        assert await runtime.pool.fetchval(TRANSACTIONS) == 1
        families = """select count(distinct p.id) from effects c join effects p on p.id = c.parent_id
            where c.lane = p.lane || '@x' and c.event_id = p.event_id"""
        assert await runtime.pool.fetchval(families) == TOGETHER


async def test_one_that_can_not_be_stored_does_not_keep_the_others_from_it(settings: Settings) -> None:
    meeting = Meeting(TOGETHER)
    async with open_runtime(settings, wiring=wired(meeting.run, delays=())) as runtime:
        await runtime.pool.execute(LEAVE_MARK, "note 3")
        for number in range(TOGETHER):
            await poke(runtime, f"note {number}")
        async with working(runtime):
            assert await settled(runtime) == ["done"] * 3 + ["dead"] + ["done"] * (TOGETHER - 4)
        assert len(meeting.notes) == TOGETHER
        assert "UniqueViolation" in await runtime.pool.fetchval("select last_error from effects where state = 'dead'")
        assert await runtime.pool.fetchval(MARKS) == TOGETHER


async def test_each_attempt_is_told_whether_it_was_the_first_and_what_it_has_released(runtime: Runtime) -> None:
    followed, alone, moved, over = await start(runtime, "followed", "alone", "moved", "over")
    await poke(runtime, "next", thing=followed.event(Poked).thing)
    await runtime.pool.execute("update effects set round = 1 where id = $1", moved.id)
    await finish(runtime, [over])
    repeated = [followed, over, alone, moved, followed]

    assert await finish(runtime, repeated) == [
        Finish(is_first=True, has_released=True),
        Finish(is_first=False),
        Finish(is_first=True),
        Finish(is_first=False),
        Finish(is_first=False),
    ]
    assert await states(runtime) == ["done", "done", "running", "done", "queued"]
    unfinished = "select unfinished from effects join lanes using (lane) order by no"
    assert [row["unfinished"] for row in await runtime.pool.fetch(unfinished)] == [1, 0, 1, 0, 1]


async def test_two_of_one_lane_release_two_unless_it_collapses(runtime: Runtime) -> None:
    for collapsing, left in (
        ((), ["queued", "queued", "waiting"]),
        (("probe.write",), ["skipped", "skipped", "queued"]),
    ):
        await runtime.pool.execute("delete from effects")
        await runtime.pool.execute("delete from lanes")
        thing = new_id()
        for number in range(5):
            await poke(runtime, f"{number}", thing=thing)
        await runtime.pool.execute("update effects set state = 'queued' where no < (select min(no) + 2 from effects)")
        taken, _ = await take_effects(runtime.pool, new_id(), now=runtime.clock(), limit=2)
        await finish(runtime, taken, collapsing=collapsing)

        assert await states(runtime) == ["done", "done", *left]
        open_ = sum(state in ("queued", "waiting") for state in left)
        assert await runtime.pool.fetchval("select unfinished from lanes") == open_


async def test_a_dead_one_that_was_replaced_is_skipped_and_the_others_of_its_batch_are_not(runtime: Runtime) -> None:
    replaced, other = await start(runtime, "replaced", "other")
    await runtime.pool.execute("update effects set superseded = 'planned anew' where id = $1", replaced.id)
    endings = [EffectEnding(effect, "dead", error="it broke") for effect in (replaced, other)]
    await finish_effects(runtime.pool, endings, now=runtime.clock(), collapsing=())
    assert await states(runtime) == ["skipped", "dead"]


@pytest.mark.parametrize("table", ["effects", "lanes", "expanded lanes"])
async def test_batches_lock_their_rows_in_one_order(runtime: Runtime, table: str) -> None:
    """While another transaction holds the first row, a batch that waits for it holds none of those that come later."""
    given = await start(runtime, "a", "b", "c")
    if table == "expanded lanes":
        await runtime.pool.execute("update effects set parent_id = id where lane <> (select max(lane) from lanes)")
    column = "id" if table == "effects" else "lane"
    order = {"effects": "id", "lanes": "lane", "expanded lanes": "lane = (select max(lane) from lanes) desc, lane"}
    name = table.rsplit(maxsplit=1)[-1]
    keys = [row[column] for row in await runtime.pool.fetch(f"select {column} from {name} order by {order[table]}")]
    last_first = sorted(given, key=lambda effect: keys.index(getattr(effect, column)), reverse=True)
    lock = f"select 1 from {name} where {column} = any($1) for update nowait"
    async with runtime.pool.acquire() as holder, runtime.pool.acquire() as other:
        holding = holder.transaction()
        await holding.start()
        await holder.fetch(lock, keys[:1])
        batch = asyncio.create_task(finish(runtime, last_first))
        await asyncio.sleep(BLOCKED_WITHIN)
        assert not batch.done()
        async with other.transaction():
            assert len(await other.fetch(lock, keys[1:])) == len(keys) - 1
        await holding.rollback()
    assert await batch == [Finish(is_first=True)] * 3
