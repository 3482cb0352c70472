"""The team chat is told who waits, who decided, who spends much, what is stopped or broken; never arguments."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calendars.events import CalendarBroken
from openslot.domains.messaging.connections.events import MessagingBroken
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import ProviderName
from openslot.domains.payments.connections.events import PaymentsUnreadable
from openslot.domains.payments.models import Mode
from openslot.doors.agents import budget
from openslot.doors.agents.chat.operations import list_chat_feed
from openslot.doors.agents.models import ToolCall
from openslot.doors.agents.reactions import expire_approvals
from openslot.platform.core.actor import SYSTEM, Actor, ActorKind, Destination
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from openslot.vendors.chat import Chat, ChatDeferred, team_chat
from tests.doors.agents.approving import ARGUMENTS, ask, send, shared_database
from tests.doors.agents.spending import call_of, clock, make_key
from tests.support.clocks import MovingClock
from tests.support.effects import work_off, work_until_settled
from tests.support.fake_chat import FakeChat
from tests.support.receiver import receiving
from tests.support.switches import resume, stop

__all__ = ["clock", "shared_database"]


@pytest.fixture
def chat() -> FakeChat:
    return FakeChat()


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, chat: FakeChat) -> AsyncIterator[Runtime]:
    async with open_runtime(settings, clock=clock, fakes={Chat: chat}) as opened:
        yield opened


@pytest.fixture
async def support(runtime: Runtime) -> ToolCall:
    return call_of("support", key_id=await make_key(runtime, "support"))


async def test_a_request_and_its_decision_are_told_without_arguments(
    runtime: Runtime, clock: MovingClock, chat: FakeChat, support: ToolCall
) -> None:
    approval_id = await ask(runtime, support)
    await ask(runtime, support)
    await work_off(runtime, clock)
    assert chat.posted == [
        (
            f"Support asks for approval to call mark. It expires at 12:15 UTC. Decide with the Orchestrator, or on the "
            f"terminal: openslot agent approvals approve {approval_id}"
        )
    ]

    await send(runtime, call_of("orchestrator"), approval_id=approval_id, decision="approve")
    await work_off(runtime, clock)
    assert chat.posted[1:] == [
        f"The call of mark by Support was approved by Orchestrator and carried out. Approval {approval_id}"
    ]
    assert not any(value in text for text in chat.posted for value in ARGUMENTS.values() if len(value) > 1)


async def test_a_rejection_and_an_expiry_are_told(
    runtime: Runtime, clock: MovingClock, chat: FakeChat, support: ToolCall
) -> None:
    rejected = await ask(runtime, support)
    await send(runtime, call_of("orchestrator"), approval_id=rejected, decision="reject")
    expired = await ask(runtime, support)
    clock.pass_time(minutes=15)
    async with runtime.transaction(SYSTEM) as work:
        await expire_approvals(work)
    await work_off(runtime, clock)

    assert f"The call of mark by Support was rejected by Orchestrator. Approval {rejected}" in chat.posted
    assert (
        f"The call of mark by Support has expired: nobody decided within 15 minutes. Approval {expired}" in chat.posted
    )


async def test_a_budget_warning_is_told_once(runtime: Runtime, clock: MovingClock, chat: FakeChat) -> None:
    for _ in range(3):
        await budget.report(runtime, "support", 160_000)
    await work_off(runtime, clock)

    assert chat.posted == ["Budget warning for 2026-03-16: Support spent 0.16 of 0.20 USD (80 %)"]


async def test_a_message_is_tried_again(runtime: Runtime, clock: MovingClock, chat: FakeChat) -> None:
    chat.faults.append(ChatDeferred("later", after=timedelta(hours=1)))
    await budget.report(runtime, "support", 160_000)
    begun = clock.now
    await work_off(runtime, clock)
    assert chat.posted == []

    await work_until_settled(runtime, clock)
    assert len(chat.posted) == 1
    assert clock.now >= begun + timedelta(hours=1)


async def test_a_real_webhook_gets_the_message(settings: Settings, clock: MovingClock) -> None:
    async with receiving() as receiver:
        chosen = replace(settings, chat_webhook=receiver.url, outbound_allow=Networks.parse("127.0.0.0/8"))
        async with open_runtime(chosen, clock=clock) as runtime:
            await budget.report(runtime, "support", 160_000)
            await work_off(runtime, clock)
            assert team_chat(runtime.work(SYSTEM), None) == Destination("team chat", None)  # type: ignore[arg-type]

    assert [each.json["text"] for each in receiver.got] == [
        "Budget warning for 2026-03-16: Support spent 0.16 of 0.20 USD (80 %)"
    ]


async def test_without_a_chat_nothing_is_posted_and_nothing_fails(settings: Settings, clock: MovingClock) -> None:
    async with open_runtime(settings, clock=clock) as runtime:
        await budget.report(runtime, "support", 160_000)
        await work_off(runtime, clock)

        row = await runtime.pool.fetchrow("select state, last_error from effects where reaction = 'agents.tell_chat'")
    assert row is not None
    assert (row["state"], row["last_error"]) == ("skipped", "chat.none")


async def test_the_kill_switch_is_told_with_who_and_why(
    runtime: Runtime, clock: MovingClock, chat: FakeChat, admin: User
) -> None:
    session = Actor(kind=ActorKind.SESSION, user_id=admin.id)
    await stop(runtime, "all", reason="wrong texts", actor=session)
    await resume(runtime, "sms", reason="mended", actor=Actor(kind=ActorKind.AGENT, agent="devops"))
    await stop(runtime, "email", reason="a loop")
    await work_off(runtime, clock)

    assert chat.posted == [
        f"Outgoing messages are stopped: SMS, WhatsApp, voice calls. By {admin.email}. Reason: wrong texts",
        "Outgoing messages are resumed: SMS, with 0 waiting messages. By DevOps. Reason: mended",
        "Outgoing messages are stopped: email. By the command line. Reason: a loop",
    ]


async def test_broken_connections_are_told_once_each(
    runtime: Runtime, clock: MovingClock, chat: FakeChat, user: User, admin: User
) -> None:
    account = new_id()
    async with runtime.transaction(SYSTEM) as work:
        await work.record(
            CalendarBroken(
                connection_id=new_id(),
                owner_id=user.id,
                label="Work",
                reason="refused",
                since=clock.now,
                closes_at=None,
            )
        )
        # Each administrator of an organization has an event of their own.
        for told in (user, admin):
            await work.record(
                PaymentsUnreadable(
                    connection_id=account,
                    user_id=told.id,
                    organization_id=new_id(),
                    mode=Mode.TEST,
                    account_name="Harbor",
                    reason="key",
                    since=clock.now,
                    base_url="https://here.example",
                )
            )
        await work.record(
            MessagingBroken(
                connection_id=new_id(),
                user_id=user.id,
                organization_id=None,
                provider=ProviderName.TWILIO,
                channel=ConnectionChannel.SMS,
                number="+14155550100",
                reason="token",
                since=clock.now,
                base_url="https://here.example",
            )
        )
    await work_off(runtime, clock)

    assert sorted(chat.posted) == [
        f"The calendar “Work” of {user.email} can't be synced since 2026-03-16 12:00 UTC: refused",
        f"The number +14155550100 (sms) of {user.email} can't be used since 2026-03-16 12:00 UTC: token",
        "The payment account “Harbor” of an organization can't be read since 2026-03-16 12:00 UTC: key",
    ]


async def test_the_feed_has_every_message_also_without_a_chat(settings: Settings, clock: MovingClock) -> None:
    async with open_runtime(settings, clock=clock) as runtime:
        await budget.report(runtime, "support", 160_000)
        clock.pass_time(minutes=1)
        await stop(runtime, "sms", reason="a loop")
        await work_off(runtime, clock)
        feed = await list_chat_feed(runtime.work(SYSTEM))

    assert [(each.text.partition(":")[0], each.state) for each in feed] == [
        ("Outgoing messages are stopped", "skipped"),
        ("Budget warning for 2026-03-16", "skipped"),
    ]
