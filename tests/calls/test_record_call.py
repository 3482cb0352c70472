"""The verbs of calls: endings, repeats and races."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openslot.accounts.models import User
from openslot.calls.models import Call, CallDirection, CallNotFound, CallStatus, Ending
from openslot.calls.operations import finish_call, list_finished_calls, record_call
from openslot.core.actor import OPERATOR
from openslot.core.errors import Invalid
from openslot.core.work import Runtime

NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)
TALKED = Ending(status=CallStatus.COMPLETED, ended_at=NOON + timedelta(seconds=90.9))
MISSED = Ending(status=CallStatus.NO_ANSWER, ended_at=NOON + timedelta(seconds=30))


async def record(runtime: Runtime, owner: User, **changed: Any) -> Call:
    wanted: dict[str, Any] = {
        "direction": CallDirection.INBOUND,
        "phone": "+49 30 12345678",
        "agent_name": "Reception",
        "started_at": NOON,
    }
    async with runtime.transaction(OPERATOR) as work:
        return await record_call(work, owner_id=owner.id, **{**wanted, **changed})


async def finish(runtime: Runtime, owner: User, vendor_id: str, ending: Ending) -> Call:
    async with runtime.transaction(OPERATOR) as work:
        return await finish_call(work, owner_id=owner.id, vendor_id=vendor_id, ending=ending)


async def listed(runtime: Runtime, owner: User) -> list[Call]:
    found, total = await list_finished_calls(runtime.work(OPERATOR), owner)
    assert len(found) == total
    return found


async def test_a_call_is_listed_once_it_is_over(runtime: Runtime, user: User) -> None:
    running = await record(runtime, user, vendor_id="CA1")
    assert running.status is None
    assert await listed(runtime, user) == []

    ended = await finish(runtime, user, "CA1", TALKED)

    assert (ended.status, ended.duration_seconds, ended.caller_phone) == (CallStatus.COMPLETED, 90, "+493012345678")
    assert await listed(runtime, user) == [ended]


async def test_only_a_completed_call_lasts_unless_the_vendor_says_so(runtime: Runtime, user: User) -> None:
    missed = await record(runtime, user, ending=MISSED)
    counted = await record(
        runtime, user, ending=Ending(status=CallStatus.FAILED, ended_at=TALKED.ended_at, duration_seconds=7)
    )

    assert (missed.duration_seconds, counted.duration_seconds) == (0, 7)


async def test_repeated_and_late_notices_change_nothing(runtime: Runtime, user: User, admin: User) -> None:
    whole = await record(runtime, user, vendor_id="CA1", ending=TALKED)

    assert await record(runtime, user, vendor_id="CA1", agent_name="Late") == whole
    assert await record(runtime, user, vendor_id="CA1", ending=MISSED) == whole
    assert await finish(runtime, user, "CA1", MISSED) == whole
    await record(runtime, admin, vendor_id="CA1", ending=MISSED)
    assert await listed(runtime, user) == [whole]


async def test_a_notice_of_the_whole_call_ends_the_running_one(runtime: Runtime, user: User) -> None:
    running = await record(runtime, user, vendor_id="CA1")

    ended = await record(runtime, user, vendor_id="CA1", ending=TALKED)

    assert (ended.id, ended.status) == (running.id, CallStatus.COMPLETED)


async def test_anothers_call_can_not_be_ended(runtime: Runtime, user: User, admin: User) -> None:
    await record(runtime, user, vendor_id="CA1")

    with pytest.raises(CallNotFound):
        await finish(runtime, admin, "CA1", TALKED)


async def test_notices_that_race_leave_one_call_with_one_ending(runtime: Runtime, user: User) -> None:
    endings = [TALKED, MISSED, None] * 8
    told = await asyncio.gather(*(record(runtime, user, vendor_id="CA1", ending=ending) for ending in endings))

    (kept,) = await listed(runtime, user)
    assert {call.id for call in told} == {kept.id}
    assert {call.status for call in told} <= {kept.status, None}


async def test_a_call_that_makes_no_sense_is_refused_with_every_fault(runtime: Runtime, user: User) -> None:
    before = Ending(status=CallStatus.FAILED, ended_at=NOON - timedelta(seconds=1), duration_seconds=-1)
    with pytest.raises(Invalid) as refused:
        await record(runtime, user, phone="anonymous", agent_name=" \n", vendor_id="", ending=before)

    assert refused.value.details
    assert set(refused.value.details) == {"phone", "agentName", "vendorId", "endedAt", "durationSeconds"}
