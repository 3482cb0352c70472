"""A call of tier T3 waits for the Orchestrator or a person, runs once, and only as it was asked for."""

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from openslot.domains.access import operations as access
from openslot.domains.access.models import CredentialKind
from openslot.doors.agents.approvals import operations as approvals
from openslot.doors.agents.errors import ApprovalRequired
from openslot.doors.agents.models import ToolCall
from openslot.doors.agents.reactions import expire_approvals, tidy_agents
from openslot.doors.mcp.approvals import canonical, hash_arguments
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.db import DOWN
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.doors.agents.approving import ARGUMENTS, BrokenError, ask, mark, marks, other_mark, refused, row_of, send
from tests.doors.agents.spending import call_of, make_key
from tests.support.clocks import MovingClock


async def facts(runtime: Runtime) -> list[tuple[str, str | None]]:
    rows = await runtime.pool.fetch(
        "select type, fact->>'outcome' as outcome from events where type like 'approval.%' order by no"
    )
    return [(row["type"], row["outcome"]) for row in rows]


def test_arguments_have_one_spelling_whatever_their_order() -> None:
    assert canonical({"b": [1, {"d": None, "c": "ü"}], "a": 1.5}) == '{"a":1.5,"b":[1,{"c":"ü","d":null}]}'.encode()


def test_what_belongs_to_the_gates_is_not_part_of_the_hash() -> None:
    assert hash_arguments({**ARGUMENTS, "confirm": True, "approvalId": "x", "decision": "approve"}) == hash_arguments(
        ARGUMENTS
    )


async def test_the_same_call_again_waits_for_the_same_approval(runtime: Runtime, support: ToolCall) -> None:
    first = await ask(runtime, support, {"userId": "7", "reason": "x", "confirm": True})

    assert await ask(runtime, support, {"reason": "x", "userId": "7"}) == first
    assert await ask(runtime, support, {"reason": "y", "userId": "7"}) != first
    assert await facts(runtime) == [("approval.requested", None)] * 2
    assert await marks(runtime) == []


async def test_the_call_runs_once_for_its_requester_and_the_requester_gets_the_result(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    approval_id = await ask(runtime, support)
    verdict = await send(runtime, orchestrator, approval_id=approval_id, decision="approve")

    assert (verdict.status, verdict.agent, verdict.approver) == ("approved", "support", "orchestrator")
    assert await marks(runtime) == [("support", "7")]
    repeated = [await send(runtime, support, approval_id=approval_id) for _ in range(2)]
    assert [(each.status, each.result, each.approver) for each in repeated] == [
        ("ok", {"outcome": "done", "approvalId": str(approval_id), "userId": "7"}, "orchestrator")
    ] * 2
    assert await marks(runtime) == [("support", "7")]
    assert await facts(runtime) == [("approval.requested", None), ("approval.decided", "approved")]


async def test_arguments_are_shown_while_it_waits_and_erased_once_it_is_decided(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    approval_id = await ask(runtime, support)
    (shown,) = await approvals.list_pending_approvals(runtime.work(SYSTEM), [approval_id])
    assert (shown.id, shown.tool, shown.arguments) == (approval_id, "mark", ARGUMENTS)
    assert (shown.requester, iso(shown.expires_at)) == ("support", "2026-03-16T12:15:00Z")

    await send(runtime, orchestrator, approval_id=approval_id, decision="approve")

    row = await row_of(runtime, approval_id)
    assert row["arguments"] is None
    assert b"userId" not in msgspec.json.encode(str(row))
    assert await approvals.list_pending_approvals(runtime.work(SYSTEM), [approval_id]) == []


async def test_a_call_that_waits_is_answered_with_its_id_again(runtime: Runtime, support: ToolCall) -> None:
    approval_id = await ask(runtime, support)

    with pytest.raises(ApprovalRequired) as required:
        await send(runtime, support, approval_id=approval_id)

    assert required.value.data == {
        "reason": "approval_required",
        "approvalId": str(approval_id),
        "expiresAt": "2026-03-16T12:15:00Z",
    }


async def test_a_rejected_call_never_runs_and_its_result_fits_the_tools_own_shape(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    approval_id = await ask(runtime, support)
    verdict = await send(runtime, orchestrator, approval_id=approval_id, decision="reject")

    assert msgspec.to_builtins(verdict.result) == {
        "outcome": "rejected",
        "approvalId": str(approval_id),
        "userId": None,
    }
    assert isinstance(verdict.result, mark.result)
    assert await refused(send(runtime, support, approval_id=approval_id)) == "already_rejected"
    assert (await row_of(runtime, approval_id))["arguments"] is None
    assert await marks(runtime) == []
    assert (await facts(runtime))[-1] == ("approval.decided", "rejected")


async def test_an_approval_is_for_one_tool_and_one_set_of_arguments(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    approval_id = await ask(runtime, support)
    changed = {**ARGUMENTS, "userId": "8"}

    by = {"approval_id": approval_id, "decision": "approve"}
    assert await refused(send(runtime, orchestrator, changed, **by)) == "other_arguments"  # type: ignore[arg-type]
    assert await refused(send(runtime, orchestrator, what=other_mark, **by)) == "not_found"  # type: ignore[arg-type]
    assert await refused(send(runtime, orchestrator, approval_id=new_id(), decision="approve")) == "not_found"
    assert await refused(send(runtime, support, changed, approval_id=approval_id)) == "other_arguments"
    assert await refused(send(runtime, call_of("cto"), approval_id=approval_id)) == "not_found"
    assert await marks(runtime) == []


async def test_only_the_orchestrator_decides_among_agents(runtime: Runtime, support: ToolCall) -> None:
    approval_id = await ask(runtime, support)

    for call in (support, call_of("cto"), call_of("devops")):
        assert await refused(send(runtime, call, approval_id=approval_id, decision="approve")) == "wrong_approver"
        assert await refused(send(runtime, call, approval_id=approval_id, decision="reject")) == "wrong_approver"
    assert (await row_of(runtime, approval_id))["status"] == "pending"


async def test_a_decision_names_its_approval(runtime: Runtime, orchestrator: ToolCall) -> None:
    with pytest.raises(Invalid) as invalid:
        await send(runtime, orchestrator, decision="approve")

    assert invalid.value.details == {"approvalId": "is required together with decision"}


async def test_an_approval_is_used_once(runtime: Runtime, support: ToolCall, orchestrator: ToolCall) -> None:
    approval_id = await ask(runtime, support)
    await send(runtime, orchestrator, approval_id=approval_id, decision="approve")

    for decision in ("approve", "reject"):
        again = send(runtime, orchestrator, approval_id=approval_id, decision=decision)
        assert await refused(again) == "already_approved"
    assert await marks(runtime) == [("support", "7")]
    assert await ask(runtime, support) != approval_id


async def test_an_approval_lasts_15_minutes(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall, clock: MovingClock
) -> None:
    approval_id = await ask(runtime, support)
    clock.pass_time(minutes=15)

    assert await refused(send(runtime, orchestrator, approval_id=approval_id, decision="approve")) == "expired"
    assert await refused(send(runtime, orchestrator, approval_id=approval_id, decision="reject")) == "expired"
    assert await refused(send(runtime, support, approval_id=approval_id)) == "expired"
    assert await approvals.list_pending_approvals(runtime.work(SYSTEM), [approval_id]) == []
    assert await ask(runtime, support) != approval_id
    assert await marks(runtime) == []


async def test_an_approval_is_good_until_the_last_moment(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall, clock: MovingClock
) -> None:
    approval_id = await ask(runtime, support)
    clock.now += timedelta(minutes=15) - timedelta(microseconds=1)

    await send(runtime, orchestrator, approval_id=approval_id, decision="approve")
    assert await marks(runtime) == [("support", "7")]


async def test_an_expired_approval_is_closed_and_its_arguments_erased(
    runtime: Runtime, support: ToolCall, clock: MovingClock
) -> None:
    approval_id = await ask(runtime, support)
    async with runtime.transaction(SYSTEM) as work:
        assert await expire_approvals(work) == "0 approvals expired"
    clock.pass_time(minutes=15)
    async with runtime.transaction(SYSTEM) as work:
        assert await expire_approvals(work) == "1 approvals expired"

    row = await row_of(runtime, approval_id)
    assert (row["status"], row["arguments"], row["approver"]) == ("expired", None, None)
    assert (await facts(runtime))[-1] == ("approval.decided", "expired")


async def test_the_orchestrators_own_call_is_its_approval(runtime: Runtime, orchestrator: ToolCall) -> None:
    verdict = await send(runtime, orchestrator)

    assert (verdict.status, verdict.approver, verdict.approval_id) == ("ok", "orchestrator", None)
    assert await marks(runtime) == [("orchestrator", "7")]


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ("update agents set autonomy_level = 0 where slug = 'support'", "requester_level"),
        ("update agent_keys set scopes = '{users:read}' where agent = 'support'", "requester_scope"),
        ("update agent_keys set revoked_at = now() where agent = 'support'", "requester_key"),
        ("update agent_keys set expires_at = '2026-03-16T12:00:00Z' where agent = 'support'", "requester_key"),
    ],
)
async def test_what_the_requester_lost_meanwhile_it_cant_use(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall, change: str, cause: str
) -> None:
    approval_id = await ask(runtime, support)
    await runtime.pool.execute(change)

    assert await refused(send(runtime, orchestrator, approval_id=approval_id, decision="approve")) == cause
    assert await marks(runtime) == []


async def test_a_refusal_by_the_tool_uses_the_approval_up_and_is_told_to_the_requester(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    arguments = {**ARGUMENTS, "reason": "refused"}
    approval_id = await ask(runtime, support, arguments)
    await send(runtime, orchestrator, arguments, approval_id=approval_id, decision="approve")

    told = await send(runtime, support, arguments, approval_id=approval_id)
    assert (told.status, told.is_error, told.result) == ("tool_error", True, {"error": "This can't be done"})
    assert await marks(runtime) == []


async def test_a_tool_that_breaks_leaves_its_approval_pending(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    arguments = {**ARGUMENTS, "reason": "crash"}
    approval_id = await ask(runtime, support, arguments)
    with pytest.raises(BrokenError):
        await send(runtime, orchestrator, arguments, approval_id=approval_id, decision="approve")

    assert (await row_of(runtime, approval_id))["status"] == "pending"
    assert await marks(runtime) == []


async def test_after_a_crash_between_approval_and_effect_it_still_happens_once(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    approval_id = await ask(runtime, support)
    await _approve_and_lose_the_connection(runtime, orchestrator, ARGUMENTS, approval_id)
    assert (await row_of(runtime, approval_id))["status"] == "pending"
    assert await marks(runtime) == []

    await send(runtime, orchestrator, approval_id=approval_id, decision="approve")
    assert await refused(send(runtime, orchestrator, approval_id=approval_id, decision="approve")) == "already_approved"
    assert await marks(runtime) == [("support", "7")]


async def _approve_and_lose_the_connection(
    runtime: Runtime, orchestrator: ToolCall, arguments: dict[str, str], approval_id: UUID
) -> None:
    with pytest.raises(DOWN):
        async with runtime.transaction(SYSTEM) as work:
            verdict = await approvals.require_approval(
                work, orchestrator, mark, arguments=arguments, approval_id=approval_id, decision="approve", showing=()
            )
            await work.db.execute("insert into marks values ('support', 'lost')")
            await approvals.keep_approved_result(work, verdict, {})
            pid = await work.db.fetchval("select pg_backend_pid()")
            await runtime.pool.execute("select pg_terminate_backend($1)", pid)
            await work.db.execute("select 1")


async def test_where_a_persons_word_is_necessary_the_orchestrator_may_only_reject(
    settings: Settings, runtime: Runtime, support: ToolCall, orchestrator: ToolCall, clock: MovingClock
) -> None:
    async with open_runtime(replace(settings, agent_approval_by_person=True), clock=clock) as strict:
        approval_id = await ask(strict, support)
        approve = send(strict, orchestrator, approval_id=approval_id, decision="approve")
        assert await refused(approve) == "person_required"
        own = await ask(strict, orchestrator)
        reject_own = send(strict, orchestrator, approval_id=own, decision="reject")
        assert await refused(reject_own) == "wrong_approver"
        await send(strict, orchestrator, approval_id=approval_id, decision="reject")

    assert await marks(runtime) == []


async def test_results_are_kept_for_a_day(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall, clock: MovingClock
) -> None:
    approval_id = await ask(runtime, support)
    await send(runtime, orchestrator, approval_id=approval_id, decision="approve")
    clock.now += timedelta(hours=24) - timedelta(seconds=1)
    await tidy_agents(runtime.work(SYSTEM))
    await send(runtime, support, approval_id=approval_id)

    clock.pass_time(seconds=1)
    await tidy_agents(runtime.work(SYSTEM))

    assert await refused(send(runtime, support, approval_id=approval_id)) == "no_longer_kept"
    clock.pass_time(days=90)
    await tidy_agents(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from approvals") == 0


async def test_a_revoked_key_of_the_requester_counts_although_another_one_is_active(
    runtime: Runtime, support: ToolCall, orchestrator: ToolCall
) -> None:
    approval_id = await ask(runtime, support)
    await make_key(runtime, "support")
    async with runtime.transaction(OPERATOR) as work:
        await access.revoke_credential(work, CredentialKind.AGENT_KEY, "support", support.caller.key_id)

    assert await refused(send(runtime, orchestrator, approval_id=approval_id, decision="approve")) == "requester_key"
