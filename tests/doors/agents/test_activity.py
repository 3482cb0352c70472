"""What agents did by UTC days: the same as counting the records by hand."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from openslot.doors.agents import budget
from openslot.doors.agents.activity import AgentActivity, DayOfAgents, add_up, list_activity
from openslot.doors.agents.audit import operations as audit
from openslot.doors.agents.models import AuditStatus
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.doors.agents.approving import ask, send, shared_database
from tests.doors.agents.spending import NOON, call_of, clock, make_key, spend
from tests.doors.agents.support import record
from tests.support.clocks import MovingClock

__all__ = ["clock", "shared_database"]

TODAY = NOON.date()
FIRST = TODAY - timedelta(days=29)
GOOD = {"ok", "approved", "pending_approval"}


async def keep(runtime: Runtime, *known: dict[str, Any]) -> None:
    async with runtime.transaction(SYSTEM) as work:
        await audit.keep_records_with(work, *(record(**each) for each in known))


async def list_all(runtime: Runtime, agent: str | None = None) -> Mapping[str, AgentActivity]:
    return await list_activity(runtime.work(SYSTEM), first=FIRST, last=TODAY, agent=agent)


async def read(runtime: Runtime, agent: str | None = None) -> dict[str, Sequence[DayOfAgents]]:
    return {slug: each.days for slug, each in (await list_all(runtime, agent)).items()}


async def test_every_day_is_listed_also_without_calls(runtime: Runtime) -> None:
    days = await read(runtime)

    assert len(days) == 10
    assert [day.on for day in days["support"]] == [FIRST + timedelta(days=place) for place in range(30)]
    assert {day for each in days.values() for day in each} == {DayOfAgents(on=day.on) for day in days["cto"]}
    assert list(await read(runtime, "seo")) == ["seo"]


@pytest.mark.parametrize(
    ("at", "place"),
    [
        (datetime(2026, 3, 16, 0, 0, tzinfo=UTC), -1),
        (datetime(2026, 3, 15, 23, 59, 59, 999_999, tzinfo=UTC), -2),
        # The clocks of most of America went forward on the 8th, which is no matter in UTC.
        (datetime(2026, 3, 8, 7, 30, tzinfo=UTC), -9),
        (datetime.combine(FIRST, datetime.min.time(), UTC), 0),
    ],
)
async def test_a_call_counts_on_its_utc_day(runtime: Runtime, at: datetime, place: int) -> None:
    await keep(runtime, {"at": at})
    days = (await read(runtime, "support"))["support"]

    assert days[place].done == 1
    assert sum(day.calls for day in days) == 1


async def test_the_counts_are_those_of_the_records(runtime: Runtime) -> None:
    before = datetime.combine(FIRST, datetime.min.time(), UTC) - timedelta(microseconds=1)
    made: list[dict[str, Any]] = [
        {"agent": agent, "status": status, "at": NOON - timedelta(days=2 * number, hours=number)}
        for number, status in enumerate(AuditStatus)
        for agent in ("support", "cto")
        for _ in range(number % 3 + 1)
    ]
    await keep(runtime, *made, {"agent": "cto", "at": before})
    days = await read(runtime)

    def counted(agent: str, on: date, *, is_refused: bool) -> int:
        return sum(
            each["agent"] == agent and each["at"].date() == on and (each["status"] not in GOOD) is is_refused
            for each in made
        )

    for agent in ("support", "cto", "seo"):
        for day in days[agent]:
            assert day.refused == counted(agent, day.on, is_refused=True)
            assert day.done + day.waiting == counted(agent, day.on, is_refused=False)
    assert sum(day.waiting for day in days["cto"]) == sum(
        each["status"] == "pending_approval" and each["agent"] == "cto" for each in made
    )
    together = add_up((await list_all(runtime)).values())
    assert [day.calls for day in together] == [sum(each["at"].date() == day.on for each in made) for day in together]
    refusals = Counter(each["status"] for each in made if each["agent"] == "cto" and each["status"] not in GOOD)
    found = (await list_all(runtime, "cto"))["cto"].refusals
    assert dict(found) == refusals
    assert [count for _, count in found] == sorted(refusals.values(), reverse=True)


async def test_spending_and_approvals_are_those_of_each_agent(runtime: Runtime, clock: MovingClock) -> None:
    support = call_of("support", key_id=await make_key(runtime, "support"))
    orchestrator = call_of("orchestrator", key_id=await make_key(runtime, "orchestrator"))
    clock.now = NOON - timedelta(days=1)
    await spend(runtime, "support", 30_000)
    await budget.report(runtime, "support", 5_000)
    asked = [{"userId": str(number), "reason": "x"} for number in range(3)]
    ids = [await ask(runtime, support, each) for each in asked]
    await send(runtime, orchestrator, asked[0], approval_id=ids[0], decision="approve")
    await send(runtime, orchestrator, asked[1], approval_id=ids[1], decision="reject")
    clock.now = NOON
    await spend(runtime, "cto", 7_000)
    days = await read(runtime)

    yesterday = days["support"][-2]
    assert (yesterday.spent_micros, yesterday.approved, yesterday.rejected, yesterday.pending) == (35_000, 1, 1, 1)
    assert (days["support"][-1].spent_micros, days["cto"][-1].spent_micros) == (0, 7_000)
    assert [day.spent_micros for day in add_up((await list_all(runtime)).values())][-2:] == [35_000, 7_000]


async def test_another_release_may_know_an_agent_that_this_one_does_not(runtime: Runtime) -> None:
    await keep(runtime, {"agent": "of another release", "key_id": new_id(), "at": NOON})

    assert add_up((await list_all(runtime)).values())[-1].calls == 0
