"""Transactions and attempts: what stays of work that is refused in the middle."""

import pytest

from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Runtime, Work


async def write(work: Work, note: str) -> None:
    """Write into a table that has a text as its key."""
    await work.db.execute("insert into lanes (lane, unfinished) values ($1, 0)", note)


async def notes(runtime: Runtime) -> list[str]:
    return [row["lane"] for row in await runtime.pool.fetch("select lane from lanes order by lane")]


@pytest.fixture
async def work(runtime: Runtime) -> Work:
    """Begin work without a transaction."""
    return runtime.work(OPERATOR)


async def test_a_transaction_is_committed_at_its_end_and_not_before(work: Work, runtime: Runtime) -> None:
    async with work.transaction():
        await write(work, "a")
        assert await notes(runtime) == []

    assert await notes(runtime) == ["a"]


async def test_a_refusal_undoes_its_transaction_and_leaves_the_one_before(work: Work, runtime: Runtime) -> None:
    async with work.transaction():
        await write(work, "before")
    with pytest.raises(Conflict):
        async with work.transaction():
            await write(work, "after")
            raise Conflict("no")

    assert await notes(runtime) == ["before"]


async def test_between_transactions_no_connection_is_held(work: Work, runtime: Runtime) -> None:
    async with work.transaction():
        inside = work.db
    assert inside is not runtime.pool
    assert work.db is runtime.pool
    with pytest.raises(Conflict):
        async with work.transaction():
            raise Conflict("no")
    assert work.db is runtime.pool


async def test_a_transaction_inside_another_is_refused(work: Work, runtime: Runtime) -> None:
    async with work.transaction():
        await write(work, "a")
        with pytest.raises(RuntimeError, match=r"work\.attempt"):
            async with work.transaction():
                pass
        await write(work, "b")

    assert await notes(runtime) == ["a", "b"]


async def test_a_refused_attempt_is_undone_and_the_rest_stays(work: Work, runtime: Runtime) -> None:
    async with work.transaction():
        await write(work, "audit")
        with pytest.raises(Conflict):
            async with work.attempt():
                await write(work, "refused")
                raise Conflict("no")
        await write(work, "later")

    assert await notes(runtime) == ["audit", "later"]


async def test_a_statement_that_fails_in_an_attempt_does_not_end_the_transaction(work: Work, runtime: Runtime) -> None:
    async with work.transaction():
        await write(work, "a")
        with pytest.raises(Exception, match="duplicate key"):
            async with work.attempt():
                await write(work, "a")
        await write(work, "b")

    assert await notes(runtime) == ["a", "b"]


async def test_attempts_can_be_nested_and_a_good_one_stays(work: Work, runtime: Runtime) -> None:
    async with work.transaction(), work.attempt():
        await write(work, "outer")
        with pytest.raises(Conflict):
            async with work.attempt():
                await write(work, "inner")
                raise Conflict("no")

    assert await notes(runtime) == ["outer"]


async def test_an_attempt_stays_undone_with_its_transaction(work: Work, runtime: Runtime) -> None:
    with pytest.raises(Conflict):
        async with work.transaction():
            async with work.attempt():
                await write(work, "a")
            raise Conflict("no")

    assert await notes(runtime) == []


async def test_an_attempt_needs_a_transaction(work: Work) -> None:
    with pytest.raises(RuntimeError, match=r"work\.transaction"):
        async with work.attempt():
            pass


async def test_work_that_the_edge_began_can_be_tried_in_parts(work: Work, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as writing:
        with pytest.raises(Conflict):
            async with writing.attempt():
                await write(writing, "refused")
                raise Conflict("no")
        await write(writing, "kept")

    assert await notes(runtime) == ["kept"]
