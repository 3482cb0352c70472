"""Accounts take turns: what one has waiting, however much, delays what others are waiting for by one of it at most."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from openslot.platform.core.actor import EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.effects import TAKE_DUE, take_effects
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.queue_order import WALKED, Ring
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.places import MAX_WAITING, FairLine
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import Notebook, wired

NOW = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)
BUSY, OTHERS = new_id(), [new_id() for _ in range(12)]
QUEUE = """
insert into effects (id, reaction, key, state, next_try_at, tenant_id, created_at, yields)
select gen_random_uuid(), 'probe.note', gen_random_uuid()::text, 'queued', $3::timestamptz + n * interval '1 ms', $1,
       $3, $4
from generate_series(1, $2::int) n"""
LATER = timedelta(minutes=1)


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    async with open_runtime(settings, wiring=wired(Notebook().write)) as opened:
        yield opened


async def queue(
    runtime: Runtime, account: UUID | None, count: int = 1, *, due: datetime = NOW, yields: bool = False
) -> None:
    await runtime.pool.execute(QUEUE, account, count, due, yields)


async def take(runtime: Runtime, *, limit: int = 16) -> list[Effect]:
    taken, _ = await take_effects(runtime.pool, new_id(), now=NOW + LATER, limit=limit)
    return taken


async def take_all(runtime: Runtime) -> list[UUID | None]:
    order: list[UUID | None] = []
    while taken := await take(runtime):
        order += [each.tenant_id for each in taken]
    return order


async def test_others_do_not_wait_for_what_one_has_waiting(runtime: Runtime) -> None:
    await queue(runtime, BUSY, 2000)
    for other in (*OTHERS, None):
        await queue(runtime, other, due=NOW + timedelta(seconds=10))

    order = await take_all(runtime)

    assert len(order) == 2000 + 13
    # Four in each batch of twenty.
    assert max(order.index(other) for other in (*OTHERS, None)) < 4 * 20


async def test_of_accounts_that_wait_behind_another_each_gets_one_in_turn(runtime: Runtime) -> None:
    await queue(runtime, BUSY, 200)
    for other in OTHERS[:4]:
        await queue(runtime, other, 10, due=NOW + timedelta(seconds=10))

    first, second = await take(runtime), await take(runtime)

    for taken in (first, second):
        assert sorted(str(each.tenant_id) for each in taken if each.tenant_id != BUSY) == sorted(map(str, OTHERS[:4]))
        assert len(taken) == 20


async def test_those_that_wait_longest_have_the_next_turn(runtime: Runtime) -> None:
    await queue(runtime, BUSY, 200)
    for place, other in enumerate(OTHERS):
        await queue(runtime, other, due=NOW + timedelta(seconds=30 - place))

    order = [each.tenant_id for each in await take(runtime) if each.tenant_id != BUSY]

    assert set(order) == set(OTHERS[-4:])


async def test_a_worker_walks_around_all_accounts(runtime: Runtime) -> None:
    await queue(runtime, BUSY, 200)
    await runtime.pool.execute(
        f"""insert into effects (id, reaction, key, state, next_try_at, tenant_id, created_at)
        select gen_random_uuid(), 'probe.note', gen_random_uuid()::text, 'queued', $1::timestamptz + interval '1 day',
            md5(n::text)::uuid, $1 from generate_series(1, {2 * WALKED}) n""",
        NOW,
    )
    last, ring, order = UUID("ff" * 16), Ring(), []
    await queue(runtime, last, due=NOW + timedelta(seconds=10))
    for _ in range(4):
        taken, _ = await take_effects(runtime.pool, new_id(), now=NOW + LATER, limit=16, ring=ring)
        order.append(last in {each.tenant_id for each in taken})

    assert order == [False, False, True, False]
    assert ring.after != Ring.begin


async def test_what_is_not_due_has_no_turn_and_what_yields_waits_for_all_others(runtime: Runtime) -> None:
    await queue(runtime, BUSY, 40)
    await queue(runtime, OTHERS[0], due=NOW + 2 * LATER)
    await queue(runtime, OTHERS[1], yields=True)

    first, second, last = [[each.tenant_id for each in await take(runtime)] for _ in range(3)]

    assert {*first, *second} == {BUSY}
    assert last[-1] == OTHERS[1]
    assert len([*first, *second, *last]) == 41


async def test_a_long_queue_is_read_by_indexes_alone(runtime: Runtime) -> None:
    await queue(runtime, BUSY, 20_000)
    for other in OTHERS:
        await queue(runtime, other, 50, due=NOW + 3 * LATER)
        await queue(runtime, other, due=NOW + timedelta(seconds=40))
    await runtime.pool.execute("vacuum analyze effects")

    plan = await runtime.pool.fetchval(
        f"explain (analyze, buffers, format json) {TAKE_DUE}", new_id(), NOW + LATER, 16, Ring.begin
    )

    (found,) = msgspec.json.decode(plan)
    nodes = list(walk(found["Plan"]))
    read = [each for each in nodes if each.get("Relation Name") == "effects"]
    assert read
    assert not [each for each in read if each["Node Type"] == "Seq Scan"]
    assert max(each["Actual Rows"] * each["Actual Loops"] for each in read) < 100
    assert found["Plan"]["Shared Hit Blocks"] < 2000


def walk(node: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [each for child in node.get("Plans", ()) for each in walk(child)]
    return [node, *inner]


def attempts(count: int) -> list[EffectAttempt]:
    return [EffectAttempt(new_id(), 0) for _ in range(count)]


def test_who_waits_for_room_is_called_in_turns_of_accounts() -> None:
    line = FairLine()
    many, few = attempts(5), attempts(2)
    for each in many:
        line.join(each, BUSY)
    for each in few:
        line.join(each, OTHERS[0])

    assert line.take(1) == many[:1]
    assert line.take(4) == [few[0], many[1], few[1], many[2]]
    line.leave(many[3])
    assert line.take(9) == [many[4]]
    assert line.take(1) == []


def test_an_account_with_too_many_forgets_its_own() -> None:
    line = FairLine()
    (other,), many = attempts(1), attempts(MAX_WAITING + 3)
    line.join(other, OTHERS[0])
    for each in many:
        line.join(each, BUSY)

    assert line.take(2) == [other, many[4]]
