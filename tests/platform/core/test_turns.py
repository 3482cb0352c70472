"""Turns: few wait with a connection, in order of coming, not for ever, and nothing is left behind."""

import asyncio
from contextlib import AsyncExitStack

import asyncpg
import pytest

from openslot.platform.core.db import open_pool, transaction
from openslot.platform.core.profiles import COMMANDS, JOBS, ConnectionProfile
from openslot.platform.core.turns import MAX_OF_ONE, Turn, Turns, TurnTimeoutError, find_turn

MINE, YOURS, THEIRS = Turn(1, 1), Turn(1, 2), Turn(2, 1)
HASTY = ConnectionProfile(acquire=60, lock=0.2, statement=60, idle=60, refuse_turns=True)


async def hold_place(turns: Turns, turn: Turn, came: list[Turn], leave: asyncio.Event) -> None:
    async with turns.wait(turn):
        came.append(turn)
        await leave.wait()


async def test_of_those_who_wait_for_one_thing_few_come_in_and_others_are_not_kept_out() -> None:
    turns, leave, came = Turns(max_=5, wait_seconds=30), asyncio.Event(), list[Turn]()
    tasks = [asyncio.create_task(hold_place(turns, MINE, came, leave)) for _ in range(10)]
    await asyncio.sleep(0.01)
    tasks.append(asyncio.create_task(hold_place(turns, YOURS, came, leave)))
    await asyncio.sleep(0.01)
    assert came == [MINE] * MAX_OF_ONE + [YOURS]
    leave.set()
    await asyncio.gather(*tasks)
    assert len(came) == 11


async def test_all_who_wait_together_leave_room_for_those_who_do_not() -> None:
    turns, leave, came = Turns(max_=3, wait_seconds=30), asyncio.Event(), list[Turn]()
    tasks = [
        asyncio.create_task(hold_place(turns, turn, came, leave)) for turn in (MINE, YOURS, THEIRS) for _ in range(2)
    ]
    await asyncio.sleep(0.01)
    assert len(came) == 3
    leave.set()
    await asyncio.gather(*tasks)


async def test_who_came_first_is_first() -> None:
    turns, came = Turns(max_=1, wait_seconds=30), list[int]()

    async def come(number: int) -> None:
        async with turns.wait(MINE):
            came.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(come(number) for number in range(10)))
    assert came == list(range(10))


async def test_who_waits_too_long_or_gives_up_takes_nobodys_place() -> None:
    turns = Turns(max_=2, wait_seconds=0.05)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(turns.wait(MINE))
        with pytest.raises(TurnTimeoutError, match=r"others had their turn for 0\.05 seconds"):
            async with turns.wait(MINE):
                pass
        gone = asyncio.create_task(hold_place(turns, YOURS, [], asyncio.Event()))
        await asyncio.sleep(0.01)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
    async with turns.wait(MINE), turns.wait(MINE):
        pass
    assert not turns._lines


async def test_a_transaction_that_can_be_run_again_is_refused_and_every_other_waits(database_url: str) -> None:
    holder = await asyncpg.connect(database_url)
    pool = await open_pool(database_url, max_=2, profile=HASTY)
    held = holder.transaction()
    await held.start()
    await holder.execute("select take_turn(1, 7)")
    with pytest.raises(asyncpg.LockNotAvailableError) as refused:
        async with transaction(pool, waits=False) as db:
            await db.execute("select take_turn(1, 7)")
    with pytest.raises(asyncpg.LockNotAvailableError) as tired:
        async with transaction(pool) as db:
            await db.execute("select take_turn(1, 7)")
    await held.rollback()
    async with transaction(pool, waits=False) as db:
        await db.execute("select take_turn(1, 7)")
    await pool.close()
    await holder.close()

    assert find_turn(refused.value) == Turn(1, 7)
    assert find_turn(tired.value) is None


@pytest.mark.parametrize("through_pooler", [False, True], ids=["direct", "through a pooler"])
async def test_the_server_keeps_the_time_outs_of_a_transaction(database_url: str, *, through_pooler: bool) -> None:
    chosen = ConnectionProfile(acquire=1, lock=2, statement=3, idle=4, refuse_turns=True)
    pool = await open_pool(database_url, max_=1, profile=chosen, through_pooler=through_pooler)
    shown = []
    for waits in (True, False):
        async with transaction(pool, waits=waits) as db:
            names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "openslot.turns")
            shown.append([await db.fetchval(f"show {name}") for name in names])
    outside = await pool.fetchval("show lock_timeout")
    await pool.close()

    assert shown == [["2s", "3s", "4s", "wait"], ["2s", "3s", "4s", "refuse"]]
    # What a pooler's client sets for longer than a transaction would reach somebody else.
    assert outside == ("0" if through_pooler else "2s")


def test_jobs_and_commands_wait_longer_than_requests() -> None:
    for patient in (JOBS, COMMANDS):
        assert patient.acquire >= 60
        assert patient.lock >= 60
        assert patient.statement is None or patient.statement >= 300
        assert not patient.refuse_turns
