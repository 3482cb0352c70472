"""Planned effects: what 100,000 that are due later cost those that are due now."""

import time
from datetime import timedelta

import asyncpg
import msgspec
import uvloop

from benchmarks.effects import open_runtime_at
from benchmarks.stage import Stage, stage
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.effects import REPLANNED, TAKE_DUE, drop_planned, move_planned
from openslot.platform.core.ids import new_id
from openslot.platform.core.migrate import migrate
from openslot.platform.core.queue_order import Ring
from openslot.platform.core.work import Runtime, system_clock
from openslot.platform.jobs.housekeeping import sweep_effects

AHEAD_OF_TIME = 100_000
ROUNDS = 200
LOOKS = 9
REACTION = "bench.remind"

PLAN_MANY = """
insert into effects (id, reaction, key, state, next_try_at, payload, created_at)
select gen_random_uuid(), $2, n::text, 'queued', now() + interval '1 day' + n * interval '20 seconds', '{}', now()
from generate_series(1, $1::int) n"""
DUE_NOW = """
insert into effects (id, reaction, key, state, next_try_at, payload, created_at)
select gen_random_uuid(), $1, 'due ' || n, 'queued', now(), '{}', now() from generate_series(1, 5000) n"""


def main() -> None:
    """Print what looking for work takes with all of them and with none, and what each change takes."""
    with stage() as here:
        uvloop.run(_measure(here))


async def _measure(here: Stage) -> None:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    async with open_runtime_at(here) as runtime:
        await _print_look(connection, "nothing planned")
        await connection.execute(PLAN_MANY, AHEAD_OF_TIME, REACTION)
        await connection.execute(DUE_NOW, REACTION)
        await connection.execute("vacuum analyze")
        await _print_look(connection, f"{AHEAD_OF_TIME:,} planned, 5,000 due")
        await _print_changes(runtime)
    await connection.close()


async def _print_look(connection: asyncpg.Connection, label: str) -> None:
    """Look for effects as a worker does, and print what it takes."""
    arguments = (new_id(), system_clock(), 20, Ring.begin)
    found = []
    for _ in range(LOOKS):
        transaction = connection.transaction()
        await transaction.start()
        (plan,) = msgspec.json.decode(
            await connection.fetchval(f"explain (analyze, buffers, format json) {TAKE_DUE}", *arguments)
        )
        await transaction.rollback()
        found.append((plan["Execution Time"], plan["Plan"]["Shared Hit Blocks"]))
    took, pages = sorted(found)[LOOKS // 2]
    print(f"a look for work, {label}: {took:.1f} ms, {pages} pages")


async def _print_changes(runtime: Runtime) -> None:
    later = runtime.clock() + timedelta(days=2)

    async def plan(number: int) -> None:
        async with runtime.transaction(SYSTEM) as work:
            await work.plan(REACTION, f"new {number}", due_at=later)

    async def move(number: int) -> None:
        async with runtime.transaction(SYSTEM) as work:
            await move_planned(work.db, REACTION, str(number + 1), due_at=later, now=work.now)

    async def drop(number: int) -> None:
        async with runtime.transaction(SYSTEM) as work:
            await drop_planned(work.db, REACTION, str(number + 1), reason=REPLANNED, now=work.now)

    async def sweep(number: int) -> None:
        if number < ROUNDS // 10:
            await sweep_effects(runtime.work(SYSTEM))

    for name, change in (("plan", plan), ("move", move), ("drop", drop), ("sweep", sweep)):
        began = time.perf_counter()
        for number in range(ROUNDS):
            await change(number)
        took = (time.perf_counter() - began) * 1000 / (ROUNDS // 10 if name == "sweep" else ROUNDS)
        print(f"{name}: {took:.2f} ms")


if __name__ == "__main__":
    main()
