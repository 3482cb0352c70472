"""One of many that fails does not keep the others from being served, and it is told."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import asyncpg
import httpx2
import pytest

from openslot.domains.doctor.database import look_at_database
from openslot.domains.messaging.jobs import erase
from openslot.domains.payments.polling import finish_endings
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.sealing import seal
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.each import Served, serve_each
from openslot.platform.jobs.periodic import run_job
from openslot.wiring import PERIODIC, WIRING
from tests.platform.jobs.probes import LEAVE_MARK
from tests.platform.jobs.support import forget_run, list_failed


async def mark(work_db: Any, item: str) -> str:
    await work_db.execute(LEAVE_MARK, item)
    if item == "broken":
        await work_db.execute("select 1 / 0")
    return item.upper()


async def marks(runtime: Runtime) -> list[str]:
    return [row["bucket"] for row in await runtime.pool.fetch("select bucket from rate_log order by bucket")]


async def list_all_failed(runtime: Runtime) -> list[tuple[str, str, str, int]]:
    rows = await runtime.pool.fetch("select job, item, error, failures from failed_items order by job, item")
    return [(row["job"], row["item"], row["error"], row["failures"]) for row in rows]


async def test_in_a_transaction_only_what_failed_is_undone(runtime: Runtime) -> None:
    async with runtime.transaction(SYSTEM) as work:
        served = await serve_each(work, "x", ["a", "broken", "c"], lambda each: mark(work.db, each))
    assert served == Served(["A", "C"], 1)
    assert await marks(runtime) == ["a", "c"]
    assert await list_all_failed(runtime) == [("x", "broken", "DivisionByZeroError: division by zero", 1)]


async def test_what_fails_again_is_counted_and_what_succeeds_is_forgotten(runtime: Runtime) -> None:
    work = runtime.work(SYSTEM)
    is_broken = True

    async def serve(item: str) -> None:
        if item == "b" and is_broken:
            raise RuntimeError("out of paper")

    for _ in range(3):
        await serve_each(work, "x", "abc", serve)
    assert await list_all_failed(runtime) == [("x", "b", "RuntimeError: out of paper", 3)]
    is_broken = False
    await serve_each(work, "y", "b", serve)
    assert await list_all_failed(runtime) == [("x", "b", "RuntimeError: out of paper", 3)]
    await serve_each(work, "x", "ab", serve)
    assert await list_all_failed(runtime) == []


async def test_rows_that_the_database_quotes_are_not_kept(runtime: Runtime) -> None:
    async def twice(_: str) -> None:
        await runtime.pool.execute("insert into migrations select * from migrations limit 1")

    await serve_each(runtime.work(SYSTEM), "x", ["a"], twice)
    ((_, _, error, _),) = await list_all_failed(runtime)
    assert error.startswith("UniqueViolationError: ")
    assert "Key" not in error
    assert "\n" not in error


def raising(fault: BaseException) -> Callable[[str], Awaitable[None]]:
    async def serve(_: str) -> None:
        raise fault

    return serve


TURN = asyncpg.LockNotAvailableError("refused")
TURN.detail = "turn 1 2"


@pytest.mark.parametrize(
    "fault",
    [
        asyncio.CancelledError(),
        TURN,
        asyncpg.ConnectionDoesNotExistError("gone"),
        asyncpg.CannotConnectNowError("starting"),
    ],
    ids=lambda each: type(each).__name__,
)
async def test_what_is_about_none_of_them_ends_it(runtime: Runtime, fault: BaseException) -> None:
    with pytest.raises(type(fault)):
        await serve_each(runtime.work(SYSTEM), "x", ["a", "b"], raising(fault))
    assert await list_all_failed(runtime) == []


async def test_a_fault_that_all_would_have_ends_it_and_keeps_what_was_before(runtime: Runtime) -> None:
    asked = []

    async def serve(item: str) -> None:
        asked.append(item)
        if item == "a":
            raise RuntimeError("only a")
        raise ConnectionRefusedError("everybody")

    with pytest.raises(ConnectionRefusedError):
        await serve_each(runtime.work(SYSTEM), "x", "abc", serve, for_all=(ConnectionRefusedError,))
    assert asked == ["a", "b"]
    assert await list_all_failed(runtime) == [("x", "a", "RuntimeError: only a", 1)]


async def test_a_lock_that_was_not_free_in_time_is_about_one(runtime: Runtime) -> None:
    served = await serve_each(runtime.work(SYSTEM), "x", ["a"], raising(asyncpg.LockNotAvailableError("in time")))
    assert served.failed == 1


async def test_metrics_and_doctor_show_it(client: httpx2.AsyncClient, runtime: Runtime, settings: Settings) -> None:
    await serve_each(runtime.work(SYSTEM), "wait_list.hand_out", "abcdefg", raising(RuntimeError("out of paper")))
    assert 'openslot_items_failed{name="wait_list.hand_out"} 7.0' in (await client.get("/metrics")).text
    found = {each.name: each for each in await look_at_database(settings, WIRING, is_asleep=False)}
    told = found["single items"].meaning
    assert told.startswith("Failed for some, while others went on: wait_list.hand_out for a, 1 times since ")
    assert "RuntimeError: out of paper" in told
    assert told.endswith("; and 2 more.")


async def test_what_is_not_tried_again_is_forgotten_after_days(runtime: Runtime) -> None:
    await runtime.pool.execute(
        """insert into failed_items (job, item, error, first_at, last_at)
        select 'x', n, 'gone', at, at from (values ('old', now() - interval '4 days'), ('new', now())) f (n, at)"""
    )
    tidy = next(job for job in PERIODIC if job.name == "queue.tidy")
    await forget_run(runtime, tidy)
    await run_job(runtime, tidy)
    assert [item for _, item, _, _ in await list_all_failed(runtime)] == ["new"]


async def test_one_key_that_cannot_be_opened_does_not_stop_the_others(runtime: Runtime) -> None:
    """The ending of an account for payments that comes first has a key that nobody can open."""
    ids = [new_id(), new_id()]
    sealed = await seal(runtime.work(SYSTEM), "rk_test_0123456789")
    insert = "insert into payment_endings (id, behalf_of, key, ended_at) values ($1, $1, $2, $3)"
    for id_, key in zip(ids, (b"broken", sealed), strict=True):
        await runtime.pool.execute(insert, id_, key, runtime.clock())
    assert await finish_endings(runtime.work(SYSTEM)) == "1 payment accounts left, 1 to leave"
    assert [row["id"] for row in await runtime.pool.fetch("select id from payment_endings")] == ids[:1]
    assert list(await list_failed(runtime, "payments.finish_endings")) == [str(ids[0])]

    # As with every account that can't be left, it is given up after a week.
    await runtime.pool.execute("update payment_endings set ended_at = ended_at - interval '7 days'")
    await finish_endings(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from payment_endings") == 0
    assert await list_failed(runtime, "payments.finish_endings") == {}


async def test_messages_whose_deletion_fails_make_way_for_others(runtime: Runtime) -> None:
    ids = [new_id(), new_id()]
    await runtime.pool.executemany(
        """insert into message_erasures (id, behalf_of, provider, account, token, vendor_id, next_try_at)
        values ($1, $1, 'twilio', 'AC1', 'broken', 'SM1', $2)""",
        [(id_, datetime(2020, 1, 1, tzinfo=UTC)) for id_ in ids],
    )
    await erase(runtime.work(SYSTEM))
    assert sorted(await list_failed(runtime, "messaging.erase")) == sorted(map(str, ids))
    rows = await runtime.pool.fetch("select tries, next_try_at > now() as is_later from message_erasures")
    assert [tuple(row.values()) for row in rows] == [(1, True), (1, True)]
