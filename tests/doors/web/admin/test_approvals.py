"""The inbox of approvals: what an agent asks for, what would happen, and a person's decision."""

from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking, Status
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent, make_key
from tests.support.clocks import MovingClock
from tests.support.host import TWELVE, Book
from tests.support.live import connect
from tests.support.page import read_page


async def ask(agent: TestAgent, tool: str, **arguments: Any) -> str:
    """Call a tool of tier T3, and return the id of the approval that it waits for."""
    error = (await agent.call(tool, **arguments, confirm=True))["error"]
    return str(error["data"]["approvalId"])


async def status_of(runtime: Runtime, booking: Booking) -> str:
    return str(await runtime.pool.fetchval("select status from bookings where id = $1", booking.id))


async def test_a_cancellation_shows_what_would_happen_and_happens_when_approved(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent, book: Book
) -> None:
    booking = await book()
    arguments = {"bookingId": str(booking.id), "reason": "The invitee <b>wrote</b> that he is ill"}
    approval = await ask(support, "cancel_booking", **arguments)
    inbox = (await admin.get("/admin/approvals")).text
    page = (await admin.get(f"/admin/approvals/{approval}")).text

    assert f"/admin/approvals/{approval}" in inbox
    assert "The invitee &lt;b&gt;wrote&lt;/b&gt; that he is ill" in inbox
    assert "“30 minute meeting” of Mara Lindqvist with Jonas Okafor, Monday 16 March, 11:00" in page
    assert "host, invitee and guests will be notified by email" in page
    assert await status_of(runtime, booking) == Status.CONFIRMED

    answer = await admin.post(f"/admin/approvals/{approval}/approve")

    assert answer.headers["location"] == "/admin/approvals?done=approved"
    assert await status_of(runtime, booking) == Status.CANCELLED
    repeated = await support.result("cancel_booking", **arguments, confirm=True, approvalId=approval)
    assert repeated["booking"]["status"] == "CANCELLED"
    record = await runtime.pool.fetchrow("select * from agent_calls where status = 'approved'")
    assert record is not None
    assert (record["agent"], record["approver"]) == ("support", "administrator")


async def test_a_rejected_call_never_runs_and_the_agent_reads_why(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent, book: Book
) -> None:
    booking = await book()
    arguments = {"bookingId": str(booking.id), "reason": "Ill"}
    approval = await ask(support, "cancel_booking", **arguments)

    answer = await admin.post(f"/admin/approvals/{approval}/reject", data={"reason": "Call the invitee first"})

    assert answer.headers["location"] == "/admin/approvals?done=rejected"
    assert await status_of(runtime, booking) == Status.CONFIRMED
    answered = await support.call("cancel_booking", **arguments, confirm=True, approvalId=approval)
    assert answered["error"]["message"] == "The call was already rejected: Call the invitee first"
    assert "Call the invitee first" in read_page(await admin.get("/admin/approvals")).text
    page = (await admin.get(f"/admin/approvals/{approval}")).text
    assert "an administrator" in page
    assert "Approve and carry out" not in page


@pytest.mark.parametrize("second", ["approve", "reject"])
@pytest.mark.parametrize("first", ["approve", "reject"])
async def test_a_second_decision_changes_nothing_and_says_so(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent, book: Book, first: str, second: str
) -> None:
    booking = await book()
    approval = await ask(support, "cancel_booking", bookingId=str(booking.id), reason="Ill")
    await admin.post(f"/admin/approvals/{approval}/{first}")
    before = await status_of(runtime, booking)

    again = await admin.post(f"/admin/approvals/{approval}/{second}")

    assert again.status_code == 409
    assert "already" in read_page(again).notices[0]
    assert await status_of(runtime, booking) == before


async def test_an_expired_call_can_not_be_approved(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent, book: Book, clock: MovingClock
) -> None:
    booking = await book(TWELVE)
    approval = await ask(support, "cancel_booking", bookingId=str(booking.id), reason="Ill")
    await runtime.pool.execute("update approvals set expires_at = created_at")
    page = (await admin.get(f"/admin/approvals/{approval}")).text

    assert "Expired" in page
    assert "Approve and carry out" not in page
    assert (await admin.post(f"/admin/approvals/{approval}/approve")).status_code == 409
    assert await status_of(runtime, booking) == Status.CONFIRMED


async def test_closing_an_account_lists_what_is_cancelled(
    admin: httpx2.AsyncClient, support: TestAgent, user: User, book: Book
) -> None:
    await book()
    await book(TWELVE, name="Hana <i>Kim", email="hana@kim.example")
    approval = await ask(support, "disable_user", userId=str(user.id), reason="Asked to")
    page = (await admin.get(f"/admin/approvals/{approval}")).text

    assert "2 upcoming bookings will be cancelled" in page
    assert "Hana &lt;i&gt;Kim" in page
    assert "Jonas Okafor" in page


async def test_a_lower_plan_says_that_keys_stop(admin: httpx2.AsyncClient, support: TestAgent, user: User) -> None:
    approval = await ask(support, "change_user_plan", userId=str(user.id), plan="FREE", reason="Did not pay")
    page = (await admin.get(f"/admin/approvals/{approval}")).text

    assert "gets the plan Free instead of Pro" in page
    assert "API keys stop working" in page


async def test_the_kill_switch_says_what_stops_and_stops_when_approved(
    admin: httpx2.AsyncClient, runtime: Runtime, client: httpx2.AsyncClient
) -> None:
    async with connect(str(client.base_url)) as other:
        devops = TestAgent(other, await make_key(runtime, "devops"))
        approval = await ask(devops, "set_messaging_kill_switch", enabled=True, channel="email", reason="A loop")
        resumption = await ask(devops, "set_messaging_kill_switch", enabled=False, reason="Mended")
    page = read_page(await admin.get(f"/admin/approvals/{approval}")).text
    later = read_page(await admin.get(f"/admin/approvals/{resumption}")).text

    assert "Outgoing messages: Email" in page
    assert "Nothing more is sent until you resume it" in page
    assert "about security are always sent" in page
    assert "Outgoing messages: SMS, WhatsApp and voice calls" in later
    assert "0 messages wait" in later
    assert await runtime.pool.fetchval("select count(*) from switches where stopped_at is not null") == 0

    await admin.post(f"/admin/approvals/{approval}/approve")

    stopped = await runtime.pool.fetch("select channel, reason from switches where stopped_at is not null")
    assert [tuple(row.values()) for row in stopped] == [("email", "A loop")]
    assert "DevOps" in read_page(await admin.get("/admin/messaging")).text


async def test_what_is_gone_is_said(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent, stranger: User
) -> None:
    approval = await ask(support, "change_user_plan", userId=str(stranger.id), plan="FREE", reason="Did not pay")
    await runtime.pool.execute("delete from users where id = $1", stranger.id)

    assert "no longer exists" in read_page(await admin.get(f"/admin/approvals/{approval}")).text
    assert (await admin.get("/admin/approvals/01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f")).status_code == 404


@pytest.mark.parametrize("reason", ["x" * 501, "a\x00b"])
async def test_a_reason_that_is_not_taken_is_a_fault_of_its_field(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent, book: Book, reason: str
) -> None:
    booking = await book()
    approval = await ask(support, "cancel_booking", bookingId=str(booking.id), reason="Ill")
    answer = await admin.post(f"/admin/approvals/{approval}/reject", data={"reason": reason})

    assert answer.status_code == 400
    assert read_page(answer).faults.keys() == {"reason"}
    assert await runtime.pool.fetchval("select status from approvals") == "pending"
