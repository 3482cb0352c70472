"""Tarpits: how long a healthy owner's deliveries take while 20 owners keep 20 endpoints each that never answer."""

import asyncio
import os
import time

import uvloop

from benchmarks.effects import Sink, happen, open_runtime_at
from benchmarks.stage import Stage, free_port, running, stage
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import Runtime

OWNERS, TARPITS = 20, 20
# An event a second for the healthy owner; every third second one for each of the others.
SECONDS = 120
HOSTILE_EVERY = 3
PUT_BACKS = "select coalesce(sum(round - attempts + (state = 'running')::int), 0) from effects where target is not null"


async def _hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.transport.abort()


def main() -> None:
    """Let events happen to everybody, with one worker, and print what the healthy owner sees."""
    os.environ["OPENSLOT_OUTBOUND_ALLOW"] = "127.0.0.0/8"
    with stage() as here:
        uvloop.run(_measure(here))


async def _measure(here: Stage) -> None:
    await migrate(here.url)
    sink, healthy_port, pit_port = Sink(), free_port(), free_port()
    healthy_server = await asyncio.start_server(sink.take, "127.0.0.1", healthy_port)
    pit = await asyncio.start_server(_hang, "127.0.0.1", pit_port)
    async with open_runtime_at(here) as runtime:
        hostile = [await _add_owner(runtime, f"h{number}", [pit_port] * TARPITS) for number in range(OWNERS)]
        healthy = await _add_owner(runtime, "healthy", [healthy_port])
        with running(["openslot", "worker"], None, here):
            await _wait_for_worker(runtime)
            waits = await _live_through(runtime, hostile, healthy, sink)
        await _print(runtime, sorted(waits))
    healthy_server.close()
    pit.close()


async def _wait_for_worker(runtime: Runtime) -> None:
    for _ in range(600):
        if await runtime.pool.fetchval("select count(*) from worker_beats"):
            return
        await asyncio.sleep(0.1)
    raise TimeoutError("the worker does not start")


async def _add_owner(runtime: Runtime, name: str, ports: list[int]) -> User:
    async with runtime.transaction(OPERATOR) as work:
        owner = await people.welcome_user(work, UserWanted(email=f"{name}@bench.example", name=name, plan=Plan.PRO))
        for number, port in enumerate(ports):
            await webhooks.add_endpoint(work, owner, EndpointWanted(url=f"http://127.0.0.1:{port}/{number}"))
    return owner


async def _live_through(runtime: Runtime, hostile: list[User], healthy: User, sink: Sink) -> list[float]:
    happened = []
    for second in range(SECONDS):
        began = time.perf_counter()
        if second % HOSTILE_EVERY == 0:
            for owner in hostile:
                await happen(runtime, owner, f"hostile{second}")
        await happen(runtime, healthy, f"healthy{second}")
        happened.append(time.perf_counter())
        await asyncio.sleep(max(0.0, 1 - (time.perf_counter() - began)))
    await asyncio.wait_for(sink.wait_for(SECONDS), 60)
    # Deliveries of one owner may overtake each other by a little; sorted, the pairs are off by no more than that.
    return [came - went for went, came in zip(happened, sorted(sink.came_at), strict=True)]


async def _print(runtime: Runtime, waits: list[float]) -> None:
    put_backs = await runtime.pool.fetchval(PUT_BACKS)
    waiting = await runtime.pool.fetchval(
        "select count(*) from effects where target is not null and state in ('queued', 'running')"
    )
    tries = await runtime.pool.fetchval("select count(*) from webhook_deliveries")
    p50, p95 = waits[len(waits) // 2], waits[len(waits) * 95 // 100]
    print(f"healthy: p50 {p50:.3f} s, p95 {p95:.3f} s, longest {waits[-1]:.3f} s (target p95 5 s)")
    print(f"{waiting} deliveries to tarpits wait; {tries} tries, {put_backs} put back in {SECONDS} s", flush=True)


if __name__ == "__main__":
    main()
