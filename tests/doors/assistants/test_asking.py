"""Ask me first: a call waits until its user has approved it, runs once, and its result reaches the assistant."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from openslot.domains.access.models import AsksFirst
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import AssistantPolicy, User
from openslot.domains.accounts.organizations.operations import add_organization, change_organization_settings
from openslot.doors.assistants import approvals, reactions
from openslot.doors.assistants.calls.operations import approve_waiting_call
from openslot.doors.oauth import operations
from openslot.doors.oauth.errors import AssistantNotFound, CallDecided
from openslot.platform.core.actor import OPERATOR, SYSTEM, Actor, ActorKind
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import ConnectedAssistant, connect, refresh
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, TEN, Book
from tests.support.page import read_page

NEW = {
    "eventType": "30min",
    "startTime": iso(TEN),
    "inviteeName": "Jonas Okafor",
    "inviteeEmail": "jonas@okafor.example",
    "inviteeTimezone": "Africa/Lagos",
}


async def choose(runtime: Runtime, user: User, asks_first: AsksFirst) -> UUID:
    async with runtime.transaction(OPERATOR) as work:
        (grant, *_) = await operations.list_assistants(work, user)
        await operations.change_asks_first(work, user, grant.id, asks_first)
        return grant.id


@pytest.fixture
async def asking(assistant: ConnectedAssistant, runtime: Runtime, user: User) -> ConnectedAssistant:
    """An assistant that asks before everything that is not reading."""
    await choose(runtime, user, AsksFirst.WRITES)
    return assistant


async def wait(assistant: ConnectedAssistant, tool: str, /, **arguments: Any) -> str:
    """Call a tool whose call must wait, and return the id of its approval."""
    error = (await assistant.call(tool, **arguments))["error"]
    assert (error["code"], error["data"]["reason"]) == (-32013, "approval_required"), error
    assert error["data"]["url"] in error["message"]
    found: str = error["data"]["approvalId"]
    return found


async def decide(runtime: Runtime, user: User, approval_id: str) -> bool:
    async with runtime.transaction(Actor(kind=ActorKind.SESSION, user_id=user.id)) as work:
        return await approve_waiting_call(work, user, UUID(approval_id))


async def decline(runtime: Runtime, user: User, approval_id: str, reason: str | None = None) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await approvals.decline(work, user, UUID(approval_id), reason=reason)


async def count(runtime: Runtime, table: str = "bookings") -> int:
    return int(await runtime.pool.fetchval(f"select count(*) from {table}"))


async def test_a_call_waits_runs_once_and_answers(asking: ConnectedAssistant, runtime: Runtime, user: User) -> None:
    approval_id = await wait(asking, "create_booking", **NEW)
    assert await wait(asking, "create_booking", **NEW) == approval_id
    assert (await asking.result("get_approval", approvalId=approval_id))["status"] == "pending"
    assert await count(runtime) == 0

    assert await decide(runtime, user, approval_id)
    assert await count(runtime) == 1
    made = await asking.result("create_booking", **NEW)
    assert (made["status"], made["startTime"]) == ("CONFIRMED", iso(TEN))
    assert await count(runtime) == 1
    state = await asking.result("get_approval", approvalId=approval_id)
    assert (state["status"], state["result"], state["isError"]) == ("approved", made, False)
    # Whoever knows the result and calls again wants it again.
    assert await wait(asking, "create_booking", **NEW) != approval_id
    actor = await runtime.pool.fetchval("select actor from events where type = 'booking.created'")
    assert '"assistant":"Helper"' in actor.replace(" ", "")


async def test_arguments_are_sealed_and_erased(asking: ConnectedAssistant, runtime: Runtime, user: User) -> None:
    approval_id = await wait(asking, "create_booking", **NEW)
    kept = await runtime.pool.fetchrow("select * from assistant_approvals")
    assert kept is not None
    assert b"Jonas" not in kept["arguments"]
    assert "Jonas" not in str({name: value for name, value in kept.items() if name != "arguments"})
    await decide(runtime, user, approval_id)
    kept = await runtime.pool.fetchrow("select * from assistant_approvals")
    assert kept is not None
    assert kept["arguments"] is None
    assert b"Jonas" not in kept["result"]


async def test_only_what_the_user_has_chosen_waits(assistant: ConnectedAssistant, runtime: Runtime, user: User) -> None:
    await choose(runtime, user, AsksFirst.DESTRUCTIVE)
    made = await assistant.result("create_booking", **NEW)
    await assistant.result("list_bookings")
    await wait(assistant, "cancel_booking", bookingId=made["id"])
    await wait(assistant, "reschedule_booking", bookingId=made["id"], newStartTime=iso(ELEVEN))
    await wait(assistant, "mark_no_show", bookingId=made["id"])
    await wait(assistant, "delete_contact", contactId=str(uuid4()))
    await choose(runtime, user, AsksFirst.NEVER)
    assert (await assistant.result("cancel_booking", bookingId=made["id"]))["status"] == "CANCELLED"


async def test_of_many_approvals_at_once_one_runs(asking: ConnectedAssistant, runtime: Runtime, user: User) -> None:
    for _ in range(3):
        approval_id = await wait(asking, "block_time", startTime=iso(TEN), endTime=iso(ELEVEN))
        before = await count(runtime, "out_of_office")
        outcomes = await asyncio.gather(*(decide(runtime, user, approval_id) for _ in range(8)), return_exceptions=True)
        assert outcomes.count(True) == 1
        assert sum(isinstance(each, CallDecided) for each in outcomes) == 7
        assert await count(runtime, "out_of_office") == before + 1
        await asking.result("block_time", startTime=iso(TEN), endTime=iso(ELEVEN))


async def test_the_same_call_asks_once_however_often_it_comes(asking: ConnectedAssistant, runtime: Runtime) -> None:
    ids = await asyncio.gather(*(wait(asking, "create_booking", **NEW) for _ in range(8)))

    assert len(set(ids)) == 1
    assert await count(runtime, "assistant_approvals") == 1


async def test_a_declined_call_is_refused_with_the_reason(
    asking: ConnectedAssistant, runtime: Runtime, user: User
) -> None:
    approval_id = await wait(asking, "create_booking", **NEW)
    await decline(runtime, user, approval_id, "Not on Monday")
    error = (await asking.call("create_booking", **NEW))["error"]

    assert (error["code"], error["data"]) == (-32018, {"reason": "approval_refused", "cause": "declined"})
    assert error["message"] == "The user has declined this call: Not on Monday"
    assert (await asking.result("get_approval", approvalId=approval_id))["status"] == "rejected"
    with pytest.raises(CallDecided):
        await decide(runtime, user, approval_id)
    assert await count(runtime) == 0
    assert await wait(asking, "create_booking", **NEW) != approval_id


@pytest.mark.parametrize("is_tidied", [True, False])
async def test_what_nobody_decides_expires(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, *, is_tidied: bool
) -> None:
    client_id, tokens = await connect(member)
    await choose(runtime, user, AsksFirst.WRITES)
    approval_id = await wait(ConnectedAssistant(member, tokens.access_token), "create_booking", **NEW)
    clock.pass_time(days=1, minutes=1)
    if is_tidied:
        assert await reactions.expire_approvals(runtime.work(SYSTEM)) == "1 requests expired"
        assert await runtime.pool.fetchval("select arguments from assistant_approvals") is None
    renewed = (await refresh(member, client_id, tokens.refresh_token)).json()["access_token"]
    assistant = ConnectedAssistant(member, renewed)
    with pytest.raises(CallDecided):
        await decide(runtime, user, approval_id)
    error = (await assistant.call("create_booking", **NEW))["error"]

    assert error["data"]["cause"] == "expired"
    assert (await assistant.result("get_approval", approvalId=approval_id))["status"] == "expired"
    assert await count(runtime) == 0


async def test_a_refusal_of_the_tool_is_the_result(
    asking: ConnectedAssistant, runtime: Runtime, user: User, book: Book
) -> None:
    approval_id = await wait(asking, "create_booking", **NEW)
    await book()
    assert not await decide(runtime, user, approval_id)
    refused = await asking.refusal("create_booking", **NEW)

    assert refused["code"] == "slot_unavailable"
    assert await count(runtime) == 1


async def test_what_an_assistant_has_lost_it_can_not_use(
    asking: ConnectedAssistant, runtime: Runtime, user: User
) -> None:
    approval_id = await wait(asking, "create_booking", **NEW)
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Acme", slug="acme")
        await add_organization_member(work, organization, user)
        await change_organization_settings(work, organization, assistants=AssistantPolicy.READ)
    assert not await decide(runtime, user, approval_id)
    assert await count(runtime) == 0


async def test_nothing_waits_for_an_assistant_that_is_disconnected(
    asking: ConnectedAssistant, runtime: Runtime, user: User
) -> None:
    approval_id = await wait(asking, "create_booking", **NEW)
    async with runtime.transaction(OPERATOR) as work:
        (grant,) = await operations.list_assistants(work, user)
        await operations.end_assistant_grant(work, user, grant.id)
        assert await approvals.list_waiting(work, user) == []
    with pytest.raises((CallDecided, AssistantNotFound)):
        await decide(runtime, user, approval_id)
    assert await count(runtime) == 0


async def test_connecting_again_does_not_forget_what_was_chosen(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    client_id, _ = await connect(member)
    await choose(runtime, user, AsksFirst.WRITES)
    _, tokens = await connect(member, client_id)

    await wait(ConnectedAssistant(member, tokens.access_token), "create_booking", **NEW)


async def test_bad_arguments_and_missing_scopes_are_refused_before_anybody_is_asked(
    asking: ConnectedAssistant, runtime: Runtime
) -> None:
    refused = await asking.refusal("create_booking", **{**NEW, "inviteeEmail": "nobody"})

    assert list(refused["details"]) == ["inviteeEmail"]
    assert await count(runtime, "assistant_approvals") == 0


async def test_a_user_is_not_flooded(asking: ConnectedAssistant, runtime: Runtime) -> None:
    for minute in range(approvals.MAX_WAITING):
        await wait(asking, "block_time", startTime=iso(TEN), endTime=iso(TEN + timedelta(minutes=minute + 1)))
    refused = await asking.refusal("block_time", startTime=iso(TEN), endTime=iso(ELEVEN))

    assert refused["code"] == "too_many_approvals"
    assert await count(runtime, "assistant_approvals") == approvals.MAX_WAITING


async def test_nobody_else_sees_or_decides_it(
    asking: ConnectedAssistant, member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    approval_id = await wait(asking, "create_booking", **NEW)
    with pytest.raises(Exception, match="does not exist any more"):
        await decide(runtime, stranger, approval_id)
    _, tokens = await connect(member)
    other = ConnectedAssistant(member, tokens.access_token)
    assert (await other.refusal("get_approval", approvalId=approval_id))["code"] == "assistant_approval_not_found"
    assert await count(runtime) == 0


CONNECTED, ASKED = "An assistant was connected to your account", "Your assistant asks for your approval"


async def test_the_user_is_asked_by_mail(
    asking: ConnectedAssistant, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    approval_id = await wait(asking, "create_booking", **NEW)
    await work_off(runtime, clock)
    rows = await runtime.pool.fetch("select * from mail_messages where host_id = $1 order by created_at", user.id)

    assert [(row["recipient"], row["subject"]) for row in rows] == [(user.email, CONNECTED), (user.email, ASKED)]
    assert approval_id


async def test_what_is_decided_before_the_mail_is_written_needs_none(
    asking: ConnectedAssistant, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    await decline(runtime, user, await wait(asking, "create_booking", **NEW))
    await work_off(runtime, clock)

    assert [row["subject"] for row in await runtime.pool.fetch("select subject from mail_messages")] == [CONNECTED]


async def test_the_pages_show_and_decide(
    asking: ConnectedAssistant, member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    approval_id = await wait(asking, "cancel_booking", bookingId=str(booking.id), reason="<b>Ill</b>")
    listed = read_page(await member.get("/account/approvals")).text
    home = read_page(await member.get("/"))
    elsewhere = read_page(await member.get("/contacts")).text
    shown = await member.get(f"/account/approvals/{approval_id}")
    declined_id = await wait(asking, "mark_no_show", bookingId=str(booking.id))
    moved_id = await wait(asking, "reschedule_booking", bookingId=str(booking.id), newStartTime=iso(ELEVEN))

    assert "Cancel a booking" in listed
    assert "” with Jonas Okafor, " in read_page(shown).text
    assert "&lt;b&gt;Ill&lt;/b&gt;" in shown.text
    # Eleven o'clock in UTC, as the host's clock in Berlin shows it.
    assert "Needs attention 1 1 request of your assistant waits for your decision" in home.text
    assert "/account/approvals" in home.addresses
    assert "Settings 1 waiting" in elsewhere
    assert "New time today, 12:00" in read_page(await member.get(f"/account/approvals/{moved_id}")).text
    without = {**member.headers, "x-csrf-token": "wrong"}
    assert (await member.post(f"/account/approvals/{approval_id}/approve", headers=without)).status_code == 403
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"
    approved = await member.post(f"/account/approvals/{approval_id}/approve")
    assert approved.headers["location"] == "/account/approvals?done=approved"
    assert await runtime.pool.fetchval("select status from bookings") == "CANCELLED"
    again = await member.post(f"/account/approvals/{approval_id}/approve")
    assert again.status_code == 409
    assert "already decided" in read_page(again).text
    declined = await member.post(f"/account/approvals/{declined_id}/decline", data={"reason": "No"})
    assert declined.headers["location"] == "/account/approvals?done=declined"
    assert "Declined" in read_page(await member.get(f"/account/approvals/{declined_id}")).text
    assert (await member.get(f"/account/approvals/{uuid4()}")).status_code == 404


async def test_the_page_of_an_assistant_says_when_it_asks(
    assistant: ConnectedAssistant, member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    grant_id = await choose(runtime, user, AsksFirst.NEVER)
    path = f"/account/assistants/{grant_id}"
    without = {**member.headers, "x-csrf-token": "wrong"}
    assert (await member.post(path, data={"asks_first": "writes"}, headers=without)).status_code == 403
    saved = await member.post(path, data={"asks_first": "writes"})
    shown = await member.get(path)
    wrong = await member.post(path, data={"asks_first": "sometimes"})

    assert saved.headers["location"] == f"{path}?done=saved"
    assert '<option value="writes" selected>' in shown.text
    assert wrong.status_code == 400
    await wait(assistant, "create_booking", **NEW)
    assert (await member.get(f"/account/assistants/{uuid4()}")).status_code == 404
