"""Replies: sent in order and once, whatever the provider answers, and not at all where they are not wanted."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.conversations.models import Channel, ChannelNotConnected, ConversationNotFound
from openslot.domains.conversations.outbox import operations as outbox
from openslot.domains.messaging import sending, store
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.connections.models import OptOutSource
from openslot.domains.messaging.errors import MessageLimitReached, RecipientOptedOut, WhatsAppWindowClosed
from openslot.domains.messaging.models import RefusalReason
from openslot.domains.messaging.ports import MessageRefused, MessagesBusy, MessagesUnavailable, TokenRefused
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.platform.flags.switches import operations as switches
from tests.domains.messaging.sending.carrier import Carrier
from tests.domains.messaging.sending.support import PHONE, Numbers, hear, pass_time, read, reply
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.messaging import insert_number


async def test_a_reply_waits_and_is_sent_from_the_hosts_number(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    message = await reply(runtime, user, await hear(runtime, user))
    assert await read(runtime, message) == ("queued", None, None)
    assert carrier.sent == []

    await work_off(runtime, clock)

    assert await read(runtime, message) == ("sent", "SM1", None)
    (sent,) = carrier.sent
    assert (sent.sender, sent.recipient, sent.body) == ("+14155550100", PHONE, "See you at ten")
    assert await runtime.pool.fetchval("select count(*) from effects where reaction = 'messaging.send'") == 0


async def test_replies_of_a_thread_are_sent_in_order_although_one_is_refused(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    thread = await hear(runtime, user)
    first, second, third = [await reply(runtime, user, thread, text) for text in ("one", "two", "three")]
    carrier.faults = [MessageRefused("no", reason=RefusalReason.INVALID_NUMBER, code="21211")]
    await work_off(runtime, clock)

    assert carrier.bodies == ["two", "three"]
    assert await read(runtime, first) == ("failed", None, "invalid_number")
    assert [(await read(runtime, each))[1] for each in (second, third)] == ["SM1", "SM2"]


async def test_a_lost_answer_is_looked_up_and_nothing_is_sent_twice(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    message = await reply(runtime, user, await hear(runtime, user))
    carrier.is_deaf, carrier.faults = True, [MessagesUnavailable("cut", may_have_arrived=True)]
    await work_off(runtime, clock)
    assert await read(runtime, message) == ("sending", None, None)

    await pass_time(runtime, clock, seconds=60)

    assert await read(runtime, message) == ("sent", "SMlost", None)
    assert carrier.bodies == ["See you at ten"]


async def test_a_message_that_is_not_found_stays_unknown_and_the_next_one_is_sent(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    thread = await hear(runtime, user)
    lost, later = [await reply(runtime, user, thread, text) for text in ("one", "two")]
    carrier.faults = [MessagesUnavailable("cut", may_have_arrived=True)]
    for seconds in (0, 60, 120, 1200):
        await pass_time(runtime, clock, seconds=seconds)

    assert (await read(runtime, lost))[0] == "unknown"
    assert (await read(runtime, later))[1] == "SM1"
    assert carrier.bodies == ["two"]
    assert carrier.looked >= 2


async def test_a_worker_that_died_while_asking_leads_to_a_look_and_not_to_a_second_message(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    message = await reply(runtime, user, await hear(runtime, user))
    await runtime.pool.execute(
        "update messages set status = 'sending', asked_at = $2 where id = $1", message, clock.now
    )
    for seconds in (0, 60, 120, 1200):
        await pass_time(runtime, clock, seconds=seconds)

    assert carrier.sent == []
    assert (await read(runtime, message))[0] == "unknown"


@pytest.mark.parametrize(
    "fault", [MessagesBusy(timedelta(seconds=9)), MessagesUnavailable("no route", may_have_arrived=False)]
)
async def test_a_provider_that_has_certainly_sent_nothing_is_asked_again(
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    carrier: Carrier,
    numbers: Numbers,
    fault: MessagesBusy | MessagesUnavailable,
) -> None:
    message = await reply(runtime, user, await hear(runtime, user))
    carrier.faults = [fault]
    await work_off(runtime, clock)
    assert await read(runtime, message) == ("queued", None, None)
    assert carrier.sent == []
    tries = await runtime.pool.fetchval("select attempts from effects where reaction = 'messaging.send'")
    assert tries == (0 if isinstance(fault, MessagesBusy) else 1)

    await pass_time(runtime, clock, seconds=20)

    assert await read(runtime, message) == ("sent", "SM1", None)
    assert len(carrier.sent) == 1


async def test_a_refused_token_is_told_and_the_message_fails_after_the_last_try(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    message = await reply(runtime, user, await hear(runtime, user))
    carrier.faults = [TokenRefused("no") for _ in range(20)]
    await work_off(runtime, clock)
    broken = await connection_store.get(runtime.pool, numbers["sms"].id)
    assert broken.failing_since == clock.now
    for delay in sending.DELAYS:
        await pass_time(runtime, clock, seconds=int(delay.total_seconds()) * 2)

    assert await read(runtime, message) == ("failed", None, "unavailable")


async def test_the_kill_switch_stops_what_a_worker_has_chosen_and_it_goes_out_once_after_it(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    thread = await hear(runtime, user)
    texts = [f"number {number}" for number in range(5)]
    for text in texts:
        await reply(runtime, user, thread, text)
    async with runtime.transaction(OPERATOR) as work:
        await switches.stop_messaging(work, "all", reason="A wrong text")
    await pass_time(runtime, clock, seconds=3600)
    assert carrier.sent == []

    async with runtime.transaction(OPERATOR) as work:
        await switches.resume_messaging(work, "all", reason="Mended")
    await work_off(runtime, clock)

    assert carrier.bodies == texts


async def test_a_stop_between_two_messages_of_a_thread_holds_the_second(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    thread = await hear(runtime, user)
    for text in ("one", "two"):
        await reply(runtime, user, thread, text)

    async def stop() -> None:
        carrier.while_sending = None
        async with runtime.transaction(OPERATOR) as work:
            await switches.stop_messaging(work, "sms", reason="A wrong text")

    carrier.while_sending = stop
    await work_off(runtime, clock)

    assert carrier.bodies == ["one"]


async def test_two_workers_send_a_message_once(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    threads = [await hear(runtime, user, phone=f"+49151123456{number:02}") for number in range(8)]
    for thread in threads:
        await reply(runtime, user, thread)
    await asyncio.gather(*(work_off(runtime, clock) for _ in range(2)))

    assert len({each.id for each in carrier.sent}) == len(carrier.sent) == 8


async def test_nobody_who_replied_stop_gets_a_message(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    thread, elsewhere = await hear(runtime, user), await hear(runtime, user, Channel.WHATSAPP)
    waiting = await reply(runtime, user, thread)
    async with runtime.transaction(OPERATOR) as work:
        await store.opt_out(work.db, numbers["sms"], PHONE, source=OptOutSource.MESSAGE, vendor_id="SM9", now=work.now)
    for each in (thread, elsewhere):
        with pytest.raises(RecipientOptedOut):
            await reply(runtime, user, each)
    await work_off(runtime, clock)

    assert carrier.sent == []
    assert await read(runtime, waiting) == ("canceled", None, "opted_out")


async def test_a_refusal_because_of_stop_is_remembered(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    thread = await hear(runtime, user)
    message = await reply(runtime, user, thread)
    carrier.faults = [MessageRefused("no", reason=RefusalReason.OPTED_OUT, code="21610")]
    await work_off(runtime, clock)

    assert await read(runtime, message) == ("failed", None, "opted_out")
    with pytest.raises(RecipientOptedOut):
        await reply(runtime, user, thread)


async def test_whatsapp_takes_a_reply_only_within_a_day_of_the_contacts_last_message(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    thread = await hear(runtime, user, Channel.WHATSAPP)
    clock.now += timedelta(hours=24) - timedelta(seconds=1)
    await reply(runtime, user, thread)
    clock.now += timedelta(seconds=1)
    with pytest.raises(WhatsAppWindowClosed):
        await reply(runtime, user, thread)
    await work_off(runtime, clock)

    assert [each.sender for each in carrier.sent] == ["+14155550101"]


async def test_messages_of_a_host_have_a_limit_that_parallel_replies_cannot_pass(
    runtime: Runtime, user: User, numbers: Numbers
) -> None:
    runtime.settings = replace(runtime.settings, limit_messages=6)
    threads = [await hear(runtime, user, phone=f"+49151123456{number:02}") for number in range(6)]
    answers = await asyncio.gather(*(reply(runtime, user, each) for each in threads), return_exceptions=True)

    assert sum(isinstance(each, UUID) for each in answers) == 3
    assert sum(isinstance(each, MessageLimitReached) for each in answers) == 3


async def test_what_cannot_be_sent_is_refused_and_changes_nothing(
    runtime: Runtime, user: User, stranger: User, numbers: Numbers
) -> None:
    thread, theirs = await hear(runtime, user), await hear(runtime, stranger)
    for text in ("", " \n", "x" * 1601):
        with pytest.raises(Invalid) as refused:
            await reply(runtime, user, thread, text)
        assert "content" in (refused.value.details or {})
    with pytest.raises(ConversationNotFound):
        await reply(runtime, user, theirs)
    with pytest.raises(ChannelNotConnected):
        await reply(runtime, stranger, theirs)

    assert await runtime.pool.fetchval("select count(*) from messages where direction = 'outbound'") == 0


async def test_a_number_that_was_disconnected_meanwhile_sends_nothing(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    message = await reply(runtime, user, await hear(runtime, user))
    gone = replace(numbers["sms"], token=None, disconnected_at=clock.now)
    await connection_store.update(runtime.pool, gone)
    await work_off(runtime, clock)

    assert carrier.sent == []
    assert await read(runtime, message) == ("failed", None, "not_connected")


async def test_a_host_whose_account_was_disabled_meanwhile_sends_nothing(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    message = await reply(runtime, user, await hear(runtime, user))
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)
    await work_off(runtime, clock)

    assert carrier.sent == []
    assert await read(runtime, message) == ("canceled", None, "host_left")
    (dropped,) = await switches.list_dropped(runtime.work(OPERATOR))
    assert (dropped.id, dropped.channel, dropped.recipient, dropped.reason) == (message, "sms", PHONE, "host_left")


async def test_a_host_who_is_disabled_while_a_worker_has_the_message_sends_nothing(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    message_id = await reply(runtime, user, await hear(runtime, user))
    work = runtime.work(OPERATOR)
    thread_id = await runtime.pool.fetchval("select conversation_id from messages where id = $1", message_id)
    chosen = await outbox.find_next_message(work, thread_id)
    assert chosen is not None
    assert chosen.has_host
    async with runtime.transaction(OPERATOR) as inside:
        await people.disable_user(inside, user)

    assert not await outbox.take_message(work, chosen)


async def test_somebody_who_has_left_the_organization_sends_nothing_from_its_number(
    runtime: Runtime, clock: MovingClock, user: User, stranger: User, carrier: Carrier
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        harbor = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, harbor, user, role=Role.OWNER)
        left = await add_organization_member(work, harbor, stranger)
    await insert_number(runtime, organization_id=harbor.id, number="+14155550100")
    stays, leaves = [await reply(runtime, each, await hear(runtime, each)) for each in (user, stranger)]
    await runtime.pool.execute("update memberships set active = false where id = $1", left.id)
    await work_off(runtime, clock)

    assert (await read(runtime, stays))[0] == "sent"
    assert await read(runtime, leaves) == ("canceled", None, "host_left")


async def test_a_host_who_was_deleted_meanwhile_sends_nothing(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, numbers: Numbers
) -> None:
    await reply(runtime, user, await hear(runtime, user))
    await runtime.pool.execute("delete from users where id = $1", user.id)
    await work_off(runtime, clock)

    assert carrier.sent == []
    assert await runtime.pool.fetchval("select count(*) from effects where reaction = 'messaging.send'") == 0
