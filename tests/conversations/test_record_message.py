"""The verbs of conversations on a real PostgreSQL: threads, repeats, order, races and whose number it is."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openslot.accounts.models import User
from openslot.contacts import operations as contacts
from openslot.contacts.models import Contact
from openslot.contacts.schemas import ContactChanges, ContactWanted, PhoneOrNone
from openslot.conversations.models import Channel, Conversation, Message, MessageDirection, MessageStatus
from openslot.conversations.operations import list_conversations, record_message
from openslot.core.actor import OPERATOR
from openslot.core.errors import Invalid
from openslot.core.text import EmailAddress, Name
from openslot.core.work import House

PHONE = "+493012345678"
NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


async def record(house: House, owner: User, **changed: Any) -> Message:
    wanted: dict[str, Any] = {
        "phone": PHONE,
        "channel": Channel.SMS,
        "direction": MessageDirection.INBOUND,
        "content": "Hello",
        "at": NOON,
    }
    async with house.writing(OPERATOR) as work:
        return await record_message(work, owner_id=owner.id, **{**wanted, **changed})


async def threads(house: House, owner: User) -> list[Conversation]:
    found, total = await list_conversations(house.reading(OPERATOR), owner, limit=50)
    assert len(found) == min(total, 50)
    return found


async def add(house: House, owner: User, *, name: str, phone: str | None) -> Contact:
    async with house.writing(OPERATOR) as work:
        wanted = ContactWanted(
            name=Name(name), email=EmailAddress(f"{name}@guests.example"), phone=PhoneOrNone(phone) if phone else None
        )
        return await contacts.add_contact(work, owner, wanted)


async def name_of_contact(house: House, owner: User) -> str | None:
    (thread,) = await threads(house, owner)
    return thread.contact.name if thread.contact else None


async def test_a_number_has_one_thread_on_each_channel_of_each_owner(house: House, user: User, admin: User) -> None:
    await record(house, user, content="one")
    await record(house, user, content="two", phone="+49 (0)30 12345678", direction=MessageDirection.OUTBOUND)
    await record(house, user, content="three", channel=Channel.WHATSAPP)
    await record(house, admin, content="four")

    mine = {thread.channel: thread for thread in await threads(house, user)}
    assert [message.content for message in mine[Channel.SMS].messages] == ["one", "two"]
    assert [message.status for message in mine[Channel.SMS].messages] == [MessageStatus.RECEIVED, MessageStatus.SENT]
    assert [message.content for message in mine[Channel.WHATSAPP].messages] == ["three"]
    assert [thread.message_count for thread in await threads(house, admin)] == [1]


async def test_a_repeated_notice_changes_nothing(house: House, user: User, admin: User) -> None:
    first = await record(house, user, vendor_id="SM1")
    (before,) = await threads(house, user)

    again = await record(house, user, vendor_id="SM1", content="Changed", at=NOON + MINUTE)

    assert again == first
    assert await threads(house, user) == [before]
    await record(house, user, vendor_id="SM1", channel=Channel.WHATSAPP)
    await record(house, admin, vendor_id="SM1")
    assert sum(thread.message_count for thread in [*await threads(house, user), *await threads(house, admin)]) == 3


async def test_late_arrivals_take_their_place_and_leave_the_last_message_the_last(house: House, user: User) -> None:
    for minutes in (2, 0, 1):
        await record(house, user, content=str(minutes), at=NOON + minutes * MINUTE)

    (thread,) = await threads(house, user)
    assert [message.content for message in thread.messages] == ["0", "1", "2"]
    assert thread.last_message_at == NOON + 2 * MINUTE


async def test_the_newest_fifty_are_read_oldest_first_and_all_are_counted(house: House, user: User) -> None:
    async with house.writing(OPERATOR) as work:
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

    (thread,) = await threads(house, user)
    assert [message.content for message in thread.messages] == [str(number) for number in range(3, 53)]
    assert thread.message_count == 53


async def test_fifty_first_messages_at_once_make_one_thread(house: House, user: User) -> None:
    await asyncio.gather(*(record(house, user, content=str(number), vendor_id=f"SM{number}") for number in range(50)))

    (thread,) = await threads(house, user)
    assert thread.message_count == 50
    assert {message.content for message in thread.messages} == {str(number) for number in range(50)}


async def test_one_notice_told_twenty_times_at_once_is_one_message(house: House, user: User) -> None:
    told = await asyncio.gather(*(record(house, user, vendor_id="SM1") for _ in range(20)))

    (thread,) = await threads(house, user)
    assert {message.id for message in told} == {thread.messages[0].id}
    assert thread.message_count == len(thread.messages) == 1


async def test_the_contact_is_whoever_has_the_number_now(house: House, user: User, admin: User) -> None:
    await record(house, user)
    await add(house, admin, name="stranger", phone=PHONE)
    older = await add(house, user, name="older", phone="+12025550123")
    assert await name_of_contact(house, user) is None

    await add(house, user, name="younger", phone="+49 30 12345678")
    assert await name_of_contact(house, user) == "younger"

    async with house.writing(OPERATOR) as work:
        await contacts.change_contact(work, user, older.id, ContactChanges(phone=PhoneOrNone(PHONE)))
    assert await name_of_contact(house, user) == "older"

    async with house.writing(OPERATOR) as work:
        await contacts.delete_contact(work, user, older.id)
    assert await name_of_contact(house, user) == "younger"


async def test_odd_characters_do_not_lose_a_message(house: House, user: User) -> None:
    kept = await record(house, user, content="a\x00b\x07\n\tc\ud800 é 👍 '; drop table messages; --")

    assert kept.content == "ab\n\tc é 👍 '; drop table messages; --"
    assert (await threads(house, user))[0].messages == (kept,)


async def test_a_message_that_makes_no_sense_is_refused_with_every_fault(house: House, user: User) -> None:
    with pytest.raises(Invalid) as refused:
        await record(
            house,
            user,
            phone="030",
            content="x" * 65_537,
            at=datetime(2201, 1, 1, tzinfo=UTC),
            vendor_id="\x00",
        )

    assert refused.value.details
    assert set(refused.value.details) == {"phone", "content", "at", "vendorId"}
    assert await threads(house, user) == []
