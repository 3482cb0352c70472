"""Holding up: order per booking, and a tarpit that delays nobody."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.webhooks.rules import ANSWER_WITHIN
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from openslot.platform.jobs.places import AT_ONCE
from openslot.platform.jobs.worker import run_worker
from openslot.wiring import WIRING
from tests.domains.webhooks.conftest import Add, Happen, live_through
from tests.support.clocks import real_clock as clock
from tests.support.parts import LONG
from tests.support.races import workday
from tests.support.receiver import answering, receiving, tarpit
from tests.support.wait import until

__all__ = ["clock"]

EVENTS, A_SECOND = (500, 20) if LONG else (60, 10)
# What is promised. The short run, beside all other tests, says that none wait for a tarpit: half of what it may take.
OTHERS_WITHIN = 5.0 if LONG else ANSWER_WITHIN.total_seconds() / 2
TRY_NOW = """
update effects set next_try_at = now()
where reaction = 'webhooks.send' and state = 'queued' and attempts > 0"""
SWEEP = next(job for job in WIRING.periodic if job.name == "effects.sweep")


@asynccontextmanager
async def working(runtime: Runtime) -> AsyncIterator[None]:
    """Keep a worker running."""
    stop = asyncio.Event()
    task = asyncio.create_task(run_worker(runtime, stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, 60)


@pytest.mark.rest("waits for seconds")
async def test_what_happens_to_a_booking_arrives_in_order_though_a_try_fails(
    runtime: Runtime, user: User, add: Add
) -> None:
    taken: list[tuple[str, str]] = []
    async with receiving() as receiver:

        async def fail_once(writer: asyncio.StreamWriter) -> None:
            got = receiver.got[-1].json
            first = len([one for one in receiver.got if one.id == got["id"]]) == 1
            if first and got["type"] == "booking.created" and got["data"]["inviteeEmail"].startswith("jonas0"):
                await answering(503, "Retry-After: 3600")(writer)
                return
            taken.append((got["data"]["id"], got["type"]))
            await answering(200)(writer)

        receiver.behaviour = fail_once
        await add(receiver.url, "booking.created", "booking.rescheduled", "booking.cancelled")
        made = [await live_through(runtime, user, workday(number), number) for number in range(4)]
        async with working(runtime):
            await until(lambda: len(taken) == 9, within=60)
            async with asyncio.timeout(60):
                while await runtime.pool.execute(TRY_NOW) != "UPDATE 1":
                    await asyncio.sleep(0.05)
            await run_job(runtime, SWEEP)
            await until(lambda: len(taken) == 12, within=60)

    for booking_id in made:
        told = [kind for subject, kind in taken if subject == str(booking_id)]
        assert told == ["booking.created", "booking.rescheduled", "booking.cancelled"]
    assert [subject for subject, _ in taken[-3:]] == [str(made[0])] * 3, "the others did not wait"


@pytest.mark.rest("waits for a tarpit: one test in make test does")
async def test_a_tarpit_delays_nobody_else(runtime: Runtime, user: User, add: Add, happen: Happen) -> None:
    async with receiving(tarpit) as pit, receiving() as one, receiving() as other:
        for receiver in (pit, one, other):
            await add(receiver.url)
        loop = asyncio.get_running_loop()
        happened: dict[str, float] = {}
        async with working(runtime):
            for _ in range(EVENTS):
                contact = await happen()
                happened[str(contact.id)] = loop.time()
                await asyncio.sleep(1 / A_SECOND)
            await until(lambda: min(len(one.got), len(other.got)) >= EVENTS, within=60)
            inside = pit.most_inside
            await runtime.pool.execute("update webhook_endpoints set state = 'paused' where url = $1", pit.url)

        waits = sorted(got.at - happened[got.json["data"]["id"]] for each in (one, other) for got in each.got)
        print(f"waited: p50 {waits[len(waits) // 2]:.2f} s, p95 {waits[int(len(waits) * 0.95)]:.2f} s")  # noqa: T201
        assert waits[int(len(waits) * 0.95)] <= OTHERS_WITHIN
        assert 1 <= inside <= AT_ONCE
        for each in (one, other):
            assert len({got.id for got in each.got}) == len(each.got) == EVENTS
