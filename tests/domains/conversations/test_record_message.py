"""The verbs of conversations on a real PostgreSQL: threads, repeats, order, races and whose number it is."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.models import Contact
from openslot.domains.contacts.schemas import ContactChanges, ContactWanted
from openslot.domains.conversations.models import Channel, Conversation, Message, MessageDirection, MessageStatus
from openslot.domains.conversations.operations import list_conversations, record_message
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime

PHONE = "+493012345678"
NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


async def record(runtime: Runtime, owner: User, **changed: Any) -> Message:
    wanted: dict[str, Any] = {
        "phone": PHONE,
        "channel": Channel.SMS,
        "direction": MessageDirection.INBOUND,
        "content": "Hello",
        "at": NOON,
    }
    async with runtime.transaction(OPERATOR) as work:
        return await record_message(work, owner_id=owner.id, **{**wanted, **changed})


async def threads(runtime: Runtime, owner: User) -> list[Conversation]:
    found, total = await list_conversations(runtime.work(OPERATOR), owner, limit=50)
    assert len(found) == min(total, 50)
    return found


async def add(runtime: Runtime, owner: User, *, name: str, phone: str | None) -> Contact:
    async with runtime.transaction(OPERATOR) as work:
        typed: dict[str, Any] = {"name": name, "email": f"{name}@guests.example", "phone": phone}
        wanted = ContactWanted(**typed)
        return await contacts.add_contact(work, owner, wanted)


async def name_of_contact(runtime: Runtime, owner: User) -> str | None:
    (thread,) = await threads(runtime, owner)
    return thread.contact.name if thread.contact else None


async def test_a_number_has_one_thread_on_each_channel_of_each_owner(runtime: Runtime, user: User, admin: User) -> None:
    await record(runtime, user, content="one")
    await record(runtime, user, content="two", phone="+49 (0)30 12345678", direction=MessageDirection.OUTBOUND)
    await record(runtime, user, content="three", channel=Channel.WHATSAPP)
    await record(runtime, admin, content="four")

    mine = {thread.channel: thread for thread in await threads(runtime, user)}
    assert [message.content for message in mine[Channel.SMS].messages] == ["one", "two"]
    assert [message.status for message in mine[Channel.SMS].messages] == [MessageStatus.RECEIVED, MessageStatus.SENT]
    assert [message.content for message in mine[Channel.WHATSAPP].messages] == ["three"]
    assert [thread.message_count for thread in await threads(runtime, admin)] == [1]


async def test_a_repeated_notice_changes_nothing(runtime: Runtime, user: User, admin: User) -> None:
    first = await record(runtime, user, vendor_id="SM1")
    (before,) = await threads(runtime, user)

    again = await record(runtime, user, vendor_id="SM1", content="Changed", at=NOON + MINUTE)

    assert again == first
    assert await threads(runtime, user) == [before]
    await record(runtime, user, vendor_id="SM1", channel=Channel.WHATSAPP)
    await record(runtime, admin, vendor_id="SM1")
    assert sum(thread.message_count for thread in [*await threads(runtime, user), *await threads(runtime, admin)]) == 3


async def test_late_arrivals_take_their_place_and_leave_the_last_message_the_last(runtime: Runtime, user: User) -> None:
    for minutes in (2, 0, 1):
        await record(runtime, user, content=str(minutes), at=NOON + minutes * MINUTE)

    (thread,) = await threads(runtime, user)
    assert [message.content for message in thread.messages] == ["0", "1", "2"]
    assert thread.last_message_at == NOON + 2 * MINUTE


async def test_the_newest_fifty_are_read_oldest_first_and_all_are_counted(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for number in range(53):
            await record_message(
                work,
                owner_id=user.id,
                phone=PHONE,
                channel=Channel.SMS,
                direction=MessageDirection.INBOUND,
                content=str(number),
                at=NOON + number * MINUTE,
            )

    (thread,) = await threads(runtime, user)
    assert [message.content for message in thread.messages] == [str(number) for number in range(3, 53)]
    assert thread.message_count == 53


async def test_fifty_first_messages_at_once_make_one_thread(runtime: Runtime, user: User) -> None:
    await asyncio.gather(*(record(runtime, user, content=str(number), vendor_id=f"SM{number}") for number in range(50)))

    (thread,) = await threads(runtime, user)
    assert thread.message_count == 50
    assert {message.content for message in thread.messages} == {str(number) for number in range(50)}


async def test_one_notice_told_twenty_times_at_once_is_one_message(runtime: Runtime, user: User) -> None:
    told = await asyncio.gather(*(record(runtime, user, vendor_id="SM1") for _ in range(20)))

    (thread,) = await threads(runtime, user)
    assert {message.id for message in told} == {thread.messages[0].id}
    assert thread.message_count == len(thread.messages) == 1


async def test_the_contact_is_whoever_has_the_number_now(runtime: Runtime, user: User, admin: User) -> None:
    await record(runtime, user)
    await add(runtime, admin, name="stranger", phone=PHONE)
    older = await add(runtime, user, name="older", phone="+12025550123")
    assert await name_of_contact(runtime, user) is None

    await add(runtime, user, name="younger", phone="+49 30 12345678")
    assert await name_of_contact(runtime, user) == "younger"

    changed: dict[str, Any] = {"phone": PHONE}
    async with runtime.transaction(OPERATOR) as work:
        await contacts.change_contact(work, user, older.id, ContactChanges(**changed))
    assert await name_of_contact(runtime, user) == "older"

    async with runtime.transaction(OPERATOR) as work:
        await contacts.delete_contact(work, user, older.id)
    assert await name_of_contact(runtime, user) == "younger"


async def test_odd_characters_do_not_lose_a_message(runtime: Runtime, user: User) -> None:
    kept = await record(runtime, user, content="a\x00b\x07\n\tc\ud800 é 👍 '; drop table messages; --")

    assert kept.content == "ab\n\tc é 👍 '; drop table messages; --"
    assert (await threads(runtime, user))[0].messages == (kept,)


async def test_a_message_that_makes_no_sense_is_refused_with_every_fault(runtime: Runtime, user: User) -> None:
    with pytest.raises(Invalid) as refused:
        await record(
            runtime,
            user,
            phone="030",
            content="x" * 65_537,
            at=datetime(2201, 1, 1, tzinfo=UTC),
            vendor_id="\x00",
        )

    assert refused.value.details
    assert set(refused.value.details) == {"phone", "content", "at", "vendorId"}
    assert await threads(runtime, user) == []
