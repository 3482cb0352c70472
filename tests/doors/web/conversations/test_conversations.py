"""Conversations: the list, one thread, and the reply where a channel is connected."""

from datetime import timedelta

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.conversations.models import Channel, MessageDirection, MessageStatus
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.platform.core.work import Runtime
from tests.doors.web.contacts.conftest import PHONE, Add, Say
from tests.support.clocks import MONDAY
from tests.support.messaging import insert_number
from tests.support.page import read_page

OTHER = "+493087654321"


async def test_threads_are_listed_by_their_newest_message(member: httpx2.AsyncClient, add: Add, say: Say) -> None:
    await add(phone=PHONE)
    await say("The first", at=MONDAY - timedelta(days=3))
    await say("See you <then>", direction=MessageDirection.OUTBOUND, at=MONDAY - timedelta(hours=1))
    await say("By another way", channel=Channel.WHATSAPP, at=MONDAY - timedelta(days=1))
    await say("", phone=OTHER, at=MONDAY - timedelta(days=2))
    text = (await member.get("/conversations")).text

    assert "The first" not in text
    assert text.index("See you &lt;then&gt;") < text.index("By another way") < text.index("A message without text")
    assert "You: <bdi>See you" in text
    assert text.count("<bdi>Noor Haddad</bdi>") == 2
    assert f"<bdi>{OTHER}</bdi>" in text
    assert "Today, 07:00" in text


FILTERS: list[tuple[dict[str, str], set[str]]] = [
    ({"q": "noor"}, {"mine", "wa"}),
    ({"q": "HADDAD.ex"}, {"mine", "wa"}),
    ({"q": "3087 654"}, {"other"}),
    ({"q": "+49 30 1234"}, {"mine", "wa"}),
    ({"q": "nobody"}, set()),
    ({"q": "none"}, set()),
    ({"q": "+"}, set()),
    ({"channel": "whatsapp"}, {"wa"}),
    ({"channel": "nonsense"}, {"mine", "wa", "other"}),
    ({"from": "2026-03-15"}, {"mine"}),
    ({"to": "2026-03-14"}, {"other", "wa"}),
]


async def test_filters_narrow_the_list(member: httpx2.AsyncClient, add: Add, say: Say) -> None:
    await add(phone=PHONE)
    await say("content-mine", at=MONDAY)
    await say("content-wa", channel=Channel.WHATSAPP, at=MONDAY - timedelta(days=2))
    await say("content-other", phone=OTHER, at=MONDAY - timedelta(days=3))
    for query, found in FILTERS:
        text = (await member.get("/conversations", params=query)).text

        assert {name for name in ("mine", "wa", "other") if f"content-{name}" in text} == found, (query, found)
        assert ("No conversation matches this filter." in text) == (not found), (query, found)


async def test_what_is_wrong_with_a_filter_stands_at_its_field(member: httpx2.AsyncClient) -> None:
    wrong = await member.get("/conversations?from=yesterday&to=2026-13-01&q=%00")
    swapped = await member.get("/conversations?from=2026-03-20&to=2026-03-01")

    assert wrong.status_code == swapped.status_code == 400
    assert wrong.text.count("Must be a date, such as 2026-03-16") == 2
    assert read_page(wrong).faults["q"] == "Has characters that are not allowed"
    assert read_page(swapped).faults == {"to": "Must not be before the first day"}


async def test_without_conversations_the_list_says_what_will_appear(member: httpx2.AsyncClient) -> None:
    assert (
        "There are no conversations yet. SMS and WhatsApp messages"
        in read_page(await member.get("/conversations")).text
    )


async def test_a_thread_shows_its_messages_in_order_and_older_ones_on_other_pages(
    member: httpx2.AsyncClient, add: Add, say: Say
) -> None:
    contact = await add(phone=PHONE)
    for n in range(60):
        message = await say(f"number {n}.", at=MONDAY + timedelta(minutes=n))
    failed = await say(
        "Lost", at=MONDAY + timedelta(hours=2), direction=MessageDirection.OUTBOUND, status=MessageStatus.FAILED
    )
    path = f"/conversations/{message.conversation_id}"
    first, second = (await member.get(path)).text, (await member.get(f"{path}?page=2")).text

    assert failed.conversation_id == message.conversation_id
    assert ["number 10." in first, "number 11." in first] == [False, True]
    assert first.index("number 58.") < first.index("number 59.") < first.index("Lost")
    assert "not delivered" in first
    assert ["number 10." in second, "number 11." in second] == [True, False]
    assert (f'href="{path}?page=2"' in first, f'href="{path}?page=1"' in second) == (True, True)
    assert f'href="/contacts/{contact.id}"' in first
    assert "61 messages" in first


async def test_without_a_connected_channel_there_is_no_reply(
    member: httpx2.AsyncClient, runtime: Runtime, say: Say
) -> None:
    path = f"/conversations/{(await say()).conversation_id}"
    page = (await member.get(path)).text
    forced = await member.post(f"{path}/reply", data={"content": "Hello"})

    assert "<textarea" not in page
    assert "You can reply here once SMS is connected" in page
    assert forced.status_code == 400
    assert "You have not connected this channel, so the message was not sent" in read_page(forced).notices[0]
    assert await runtime.pool.fetchval("select count(*) from messages") == 1


async def test_a_reply_waits_in_its_thread_if_the_channel_is_connected(
    member: httpx2.AsyncClient, user: User, runtime: Runtime, say: Say
) -> None:
    thread = (await say()).conversation_id
    elsewhere = (await say(channel=Channel.WHATSAPP)).conversation_id
    await insert_number(runtime, user_id=user.id)
    assert "<textarea" in (await member.get(f"/conversations/{thread}")).text
    assert "<textarea" not in (await member.get(f"/conversations/{elsewhere}")).text
    refused = [
        await member.post(f"/conversations/{thread}/reply", data={"content": content})
        for content in ("", "  ", "x" * 1601)
    ]
    other = await member.post(f"/conversations/{elsewhere}/reply", data={"content": "Hello"})
    sent = await member.post(f"/conversations/{thread}/reply", data={"content": "Behind the\r\ngreen gate <b>"})
    page = (await member.get(sent.headers["location"])).text

    assert [answer.status_code for answer in (*refused, other)] == [400, 400, 400, 400]
    assert read_page(refused[0]).faults == {"content": "Must not be empty"}
    assert "1600 characters" in read_page(refused[2]).faults["content"]
    assert "The message is being sent." in page
    assert "green gate &lt;b&gt;" in page
    assert "waiting to be sent" in page
    row = await runtime.pool.fetchrow("select content, status, sent_by from messages where direction = 'outbound'")
    assert row is not None
    assert tuple(row.values()) == ("Behind the\ngreen gate <b>", "queued", user.id)


async def test_a_thread_says_why_a_message_was_not_delivered_and_when_whatsapp_takes_no_reply(
    member: httpx2.AsyncClient, user: User, runtime: Runtime, say: Say
) -> None:
    message = await say(channel=Channel.WHATSAPP, direction=MessageDirection.OUTBOUND, status=MessageStatus.FAILED)
    await insert_number(runtime, user_id=user.id, channel=ConnectionChannel.WHATSAPP)
    await runtime.pool.execute("update messages set error = 'invalid_number'")
    page = (await member.get(f"/conversations/{message.conversation_id}")).text
    forced = await member.post(f"/conversations/{message.conversation_id}/reply", data={"content": "Hello"})

    assert "not delivered: the number can&#39;t get messages" in page
    assert "<textarea" not in page
    assert "You can reply here when they write again." in page
    assert "WhatsApp allows a reply only within 24 hours" in read_page(forced).notices[0]
    assert await runtime.pool.fetchval("select count(*) from messages") == 1


async def test_conversations_and_calls_are_in_the_navigation_once_a_number_is_connected(
    member: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    before = read_page(await member.get("/")).text
    await insert_number(runtime, user_id=user.id)
    after = read_page(await member.get("/")).text

    assert [word in before for word in ("Conversations", "Calls")] == [False, False]
    assert [word in after for word in ("Conversations", "Calls")] == [True, True]


async def test_nobody_replies_in_anothers_thread(
    member: httpx2.AsyncClient, user: User, stranger: User, runtime: Runtime, say: Say
) -> None:
    theirs = (await say(owner=stranger)).conversation_id
    await insert_number(runtime, user_id=user.id)
    answer = await member.post(f"/conversations/{theirs}/reply", data={"content": "Hello"})

    assert answer.status_code == 404
    assert await runtime.pool.fetchval("select count(*) from messages where direction = 'outbound'") == 0
