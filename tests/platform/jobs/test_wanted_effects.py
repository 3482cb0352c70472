"""Effects that nobody needs are not inserted, and leave no gap in the lanes of those that are."""

from msgspec.structs import replace

from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Reaction, Runtime, Wiring
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import Notebook, Poked, wired
from tests.platform.jobs.support import settled
from tests.support.effects import working

WANTED = "v.fact ->> 'note' like 'wanted%'"


def wired_if(notebook: Notebook, condition: str, *, more: tuple[Reaction, ...] = ()) -> Wiring:
    wiring = wired(notebook.write, in_lanes=True)
    return replace(wiring, reactions=(replace(wiring.reactions[0], wanted_if=condition), *more))


async def record(runtime: Runtime, *events: Poked) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await work.record(*events)


async def count(runtime: Runtime, table: str) -> int:
    found: int = await runtime.pool.fetchval(f"select count(*) from {table}")
    return found


async def test_an_event_that_nobody_needs_to_hear_of_leaves_no_effect_no_lane_and_no_job(settings: Settings) -> None:
    async with open_runtime(settings, wiring=wired_if(Notebook(), WANTED)) as runtime:
        await record(runtime, Poked(thing=new_id(), note="ignored"))

        left = {table: await count(runtime, table) for table in ("events", "effects", "lanes")}
        assert left == {"events": 1, "effects": 0, "lanes": 0}


async def test_a_reaction_without_a_condition_is_not_asked_for_that_of_another(settings: Settings) -> None:
    other = Reaction(name="probe.other", on=(Poked,), run=Notebook().write, lane="probe")
    async with open_runtime(settings, wiring=wired_if(Notebook(), WANTED, more=(other,))) as runtime:
        await record(runtime, Poked(thing=new_id(), note="ignored"))
        await record(runtime, Poked(thing=new_id(), note="wanted"))

        rows = await runtime.pool.fetch("select reaction from effects order by no")
        assert [row["reaction"] for row in rows] == ["probe.other", "probe.write", "probe.other"]


async def test_effects_that_are_left_out_leave_no_gap_in_their_lane(settings: Settings) -> None:
    notebook, thing = Notebook(), new_id()
    notes = ("ignored first", "wanted 1", "ignored between", "wanted 2", "ignored last")
    async with open_runtime(settings, wiring=wired_if(notebook, WANTED)) as runtime:
        await record(runtime, *(Poked(thing=thing, note=note) for note in notes))
        await record(runtime, Poked(thing=thing, note="ignored later"), Poked(thing=thing, note="wanted 3"))

        rows = await runtime.pool.fetch("select state from effects order by no")
        assert [row["state"] for row in rows] == ["queued", "waiting", "waiting"]
        assert await runtime.pool.fetchval("select unfinished from lanes") == 3
        async with working(runtime):
            assert await settled(runtime) == ["done"] * 3
        assert notebook.notes == ["wanted 1", "wanted 2", "wanted 3"]
        assert await runtime.pool.fetchval("select unfinished from lanes") == 0


async def test_a_condition_is_judged_for_each_event_when_it_is_stored(settings: Settings) -> None:
    condition = "exists (select from worker_beats b where b.worker_id = v.subject_id)"
    thing, stranger = new_id(), new_id()
    async with open_runtime(settings, wiring=wired_if(Notebook(), condition)) as runtime:
        await record(runtime, Poked(thing=thing, note="too early"))
        await runtime.pool.execute("insert into worker_beats values ($1, 'here', 1, now(), now())", thing)
        await record(runtime, Poked(thing=stranger, note="of another"), Poked(thing=thing, note="in time"))

        rows = await runtime.pool.fetch(
            "select v.fact ->> 'note' as note from effects e join events v on v.id = e.event_id"
        )
        assert [row["note"] for row in rows] == ["in time"]
