"""The verbs of calls: endings, repeats and races."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calls.models import Call, CallDirection, CallStatus, Ending, merge
from openslot.domains.calls.operations import list_finished_calls, record_call
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime

NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)
ID = UUID("018f0000-0000-7000-8000-000000000001")
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


async def listed(runtime: Runtime, owner: User) -> list[Call]:
    found, total = await list_finished_calls(runtime.work(OPERATOR), owner)
    assert len(found) == total
    return found


async def test_a_call_is_listed_once_it_is_over(runtime: Runtime, user: User) -> None:
    running = await record(runtime, user, vendor_id="CA1")
    assert running.status is None
    assert await listed(runtime, user) == []

    ended = await record(runtime, user, vendor_id="CA1", ending=TALKED)

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
    await record(runtime, admin, vendor_id="CA1", ending=MISSED)
    assert await listed(runtime, user) == [whole]


async def test_a_notice_of_the_whole_call_ends_the_running_one(runtime: Runtime, user: User) -> None:
    running = await record(runtime, user, vendor_id="CA1")

    ended = await record(runtime, user, vendor_id="CA1", ending=TALKED)

    assert (ended.id, ended.status) == (running.id, CallStatus.COMPLETED)


async def test_a_call_is_completed_if_one_notice_says_so(runtime: Runtime, user: User) -> None:
    for vendor_id, endings in (("CA1", (TALKED, MISSED)), ("CA2", (MISSED, TALKED))):
        for ending in endings:
            kept = await record(runtime, user, vendor_id=vendor_id, ending=ending)

        assert (kept.status, kept.duration_seconds, kept.ended_at) == (CallStatus.COMPLETED, 90, TALKED.ended_at)


async def test_the_same_call_of_somebody_else_is_another_call(runtime: Runtime, user: User, admin: User) -> None:
    running = await record(runtime, user, vendor_id="CA1")
    other = await record(runtime, admin, vendor_id="CA1", ending=TALKED)

    assert other.id != running.id
    assert await listed(runtime, user) == []


def tell(**changed: Any) -> Call:
    told: dict[str, Any] = {"direction": CallDirection.INBOUND, "caller_phone": "+493012345678", "agent_name": ""}
    told |= {"started_at": NOON, "ended_at": None, "duration_seconds": 0, "status": None, "vendor_id": "CA1"}
    return Call(**{"id": ID, "owner_id": ID, "created_at": NOON, "updated_at": NOON, **told, **changed})


TOLD = [
    tell(),
    tell(status=CallStatus.COMPLETED, ended_at=NOON + timedelta(seconds=80), started_at=NOON + timedelta(seconds=80)),
    tell(status=CallStatus.COMPLETED, ended_at=NOON + timedelta(hours=1), recording=b"sealed", duration_seconds=75),
    tell(status=CallStatus.NO_ANSWER, ended_at=NOON - timedelta(seconds=1), started_at=NOON - timedelta(seconds=1)),
    tell(agent_name="Reception"),
    tell(transcript=b"sealed too", started_at=NOON + timedelta(seconds=3)),
]


def test_the_order_of_notices_does_not_matter() -> None:
    results = {reduce(merge, order) for order in permutations(TOLD)}

    (call,) = results
    assert (call.status, call.agent_name, call.recording) == (CallStatus.COMPLETED, "Reception", b"sealed")
    assert (call.ended_at, call.transcript) == (NOON + timedelta(seconds=80), b"sealed too")
    assert call.duration_seconds == 75


async def test_notices_that_race_leave_one_call_with_one_ending(runtime: Runtime, user: User) -> None:
    endings = [TALKED, MISSED, None] * 8
    told = await asyncio.gather(*(record(runtime, user, vendor_id="CA1", ending=ending) for ending in endings))

    (kept,) = await listed(runtime, user)
    assert {call.id for call in told} == {kept.id}
    assert kept.status is CallStatus.COMPLETED


async def test_a_call_that_makes_no_sense_is_refused_with_every_fault(runtime: Runtime, user: User) -> None:
    before = Ending(status=CallStatus.FAILED, ended_at=NOON - timedelta(seconds=1), duration_seconds=-1)
    with pytest.raises(Invalid) as refused:
        await record(runtime, user, phone="anonymous", agent_name="a\nb", vendor_id="", ending=before)

    assert refused.value.details
    assert set(refused.value.details) == {"phone", "agentName", "vendorId", "endedAt", "durationSeconds"}
