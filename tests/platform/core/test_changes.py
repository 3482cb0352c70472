"""Changes: several statements as one, and what their constraints say."""

from typing import ClassVar

import asyncpg
import pytest

from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Conflict
from openslot.platform.core.events import Change, Event, make_changes, write_parts
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime

INSERT = "insert into lanes (lane, unfinished) values ($1, $2)"
UPDATE = "update lanes set unfinished = $2 where lane = $1"


class Twice(Conflict):
    """The lane is there already."""

    code: ClassVar[str] = "twice"

    def __init__(self) -> None:
        super().__init__("There is such a lane")


class Happened(Event, frozen=True, kw_only=True):
    """Something happened."""

    type: ClassVar[str] = "probe.happened"


def test_arguments_are_numbered_on() -> None:
    parts = write_parts(("delete from a where b = $1 or c = $2 or d = $1", "delete from e where f = $10"), first=3)

    assert parts == (
        "change_0 as (delete from a where b = $3 or c = $4 or d = $3 returning 1)",
        "change_1 as (delete from e where f = $14 returning 1)",
    )


async def test_changes_are_made_together_or_not_at_all(runtime: Runtime) -> None:
    await make_changes(runtime.pool, (Change(INSERT, ("a", 1)), Change(INSERT, ("b", 2))))
    with pytest.raises(asyncpg.UniqueViolationError):
        await make_changes(runtime.pool, (Change(UPDATE, ("a", 9)), Change(INSERT, ("b", 3))))

    rows = await runtime.pool.fetch("select lane, unfinished from lanes")
    assert {row["lane"]: row["unfinished"] for row in rows} == {"a": 1, "b": 2}


async def test_a_constraints_name_becomes_the_changes_own_refusal(runtime: Runtime) -> None:
    change = Change(INSERT, ("a", 1), {"lanes_pkey": Twice})
    await make_changes(runtime.pool, (change,))

    with pytest.raises(Twice):
        await make_changes(runtime.pool, (change,))


async def test_a_fact_is_kept_with_its_changes_or_not_at_all(runtime: Runtime) -> None:
    work = runtime.work(OPERATOR)
    change = Change(INSERT, (str(new_id()), 1), {"lanes_pkey": Twice})
    work.stage(change, Happened())
    await work.record(Happened())
    work.stage(change)
    with pytest.raises(Twice):
        await work.record(Happened())

    assert await runtime.pool.fetchval("select count(*) from events where type = 'probe.happened'") == 2
    assert await runtime.pool.fetchval("select count(*) from lanes") == 1


async def test_a_change_that_finds_nothing_refuses_the_rest(runtime: Runtime) -> None:
    lost = Change(UPDATE, ("a", 2), lost=Twice)
    with pytest.raises(Twice):
        async with runtime.transaction(OPERATOR) as work:
            work.stage(Change(INSERT, ("b", 1)), lost)
            await work.record(Happened())
    with pytest.raises(Twice):
        async with runtime.transaction(OPERATOR) as work:
            work.stage(Change(INSERT, ("b", 1)), lost)
            await work.apply()

    assert await runtime.pool.fetchval("select count(*) from lanes") == 0
    assert await runtime.pool.fetchval("select count(*) from events where type = 'probe.happened'") == 0


async def test_work_is_not_committed_while_something_is_staged(runtime: Runtime) -> None:
    with pytest.raises(RuntimeError, match="1 staged"):
        async with runtime.transaction(OPERATOR) as work:
            await work.record(Happened())
            work.acting_as(OPERATOR).stage(Change(INSERT, ("a", 1)))

    assert await runtime.pool.fetchval("select count(*) from events where type = 'probe.happened'") == 0


async def test_staged_facts_need_a_record(runtime: Runtime) -> None:
    work = runtime.work(OPERATOR)
    work.stage(Happened())

    with pytest.raises(RuntimeError, match="record"):
        await work.apply()
