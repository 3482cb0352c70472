"""One thread: what is unread, what has come meanwhile, what became of messages, and how it is deleted."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.conversations.models import MessageDirection, MessageStatus
from openslot.domains.conversations.operations import get_thread_version
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.flags.switches.operations import stop_messaging
from tests.doors.web.contacts.conftest import PHONE, Add, Say
from tests.support.clocks import MONDAY, MovingClock
from tests.support.host import open_session
from tests.support.messaging import insert_number
from tests.support.page import read_page

OTHER = "+493087654321"


def count_unread(answer: httpx2.Response, place: str) -> str:
    """Read the number beside a link: of the navigation, or of a row."""
    rest = answer.text.partition(f'href="{place}"')[2].partition("</a>")[0]
    badge = rest.partition('<b class="waiting">')[2]
    return badge.partition("<")[0]


async def test_what_is_unread_is_counted_until_its_thread_is_opened(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, say: Say
) -> None:
    await insert_number(runtime, user_id=user.id)
    first = (await say("One")).conversation_id
    clock.pass_time(seconds=1)
    await say("Two")
    await say("Own", direction=MessageDirection.OUTBOUND)
    other = (await say("Elsewhere", phone=OTHER)).conversation_id
    listed = await member.get("/conversations")

    assert count_unread(listed, "/conversations") == "2"
    assert (count_unread(listed, f"/conversations/{first}"), count_unread(listed, f"/conversations/{other}")) == (
        "2",
        "1",
    )
    opened = await member.get(f"/conversations/{first}")
    assert count_unread(opened, "/conversations") == "1"
    listed = await member.get("/conversations")
    assert (count_unread(listed, f"/conversations/{first}"), count_unread(listed, f"/conversations/{other}")) == (
        "",
        "1",
    )
    assert count_unread(await member.get("/pages"), "/conversations") == "1"
    clock.pass_time(seconds=1)
    await say("Three")
    listed = await member.get("/conversations")
    assert (count_unread(listed, "/conversations"), count_unread(listed, f"/conversations/{first}")) == ("2", "1")


async def test_an_older_page_of_a_thread_reads_nothing(member: httpx2.AsyncClient, runtime: Runtime, say: Say) -> None:
    for n in range(51):
        thread = (await say(f"number {n}", at=MONDAY + timedelta(minutes=n))).conversation_id
    await member.get(f"/conversations/{thread}?page=2")
    assert await runtime.pool.fetchval("select read_at from conversations") is None
    await member.get(f"/conversations/{thread}")
    assert await runtime.pool.fetchval("select read_at = last_inbound_at from conversations")


async def test_nobody_else_reads_a_thread(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, say: Say
) -> None:
    thread = (await say()).conversation_id
    etag = f'"{await get_thread_version(runtime.work(OPERATOR), user, thread)}"'
    client.headers.update(await open_session(runtime, stranger))

    for path in (f"/conversations/{thread}", f"/conversations/{thread}/messages"):
        assert (await client.get(path, headers={"if-none-match": etag})).status_code == 404
    assert await runtime.pool.fetchval("select read_at from conversations") is None


async def test_an_open_page_gets_what_is_new_and_nothing_else(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, say: Say
) -> None:
    own = await say("Own", direction=MessageDirection.OUTBOUND, status=MessageStatus.SENT)
    path = f"/conversations/{own.conversation_id}/messages"
    first = await member.get(path)
    page = (await member.get(f"/conversations/{own.conversation_id}")).text
    known = {"if-none-match": first.headers["etag"]}
    nothing = await member.get(path, headers=known)

    assert f'data-version="{first.headers["etag"][1:-1]}"' in page
    assert f'data-updates="{path}"' in page
    assert "<html" not in first.text
    assert (nothing.status_code, nothing.content) == (304, b"")

    clock.pass_time(seconds=1)
    await say("Came <later>")
    new = await member.get(path, headers=known)
    assert (new.status_code, "Came &lt;later&gt;" in new.text, "2 messages" in new.text) == (200, True, True)
    assert new.headers["cache-control"] == "no-store"
    assert await runtime.pool.fetchval("select read_at = last_inbound_at from conversations")

    await runtime.pool.execute("update messages set status = 'delivered' where direction = 'outbound'")
    changed = await member.get(path, headers={"if-none-match": new.headers["etag"]})
    assert (changed.status_code, "delivered" in changed.text) == (200, True)


STATES = [
    ("queued", None, "waiting to be sent"),
    ("sending", None, "being sent"),
    ("unknown", None, "may not have been sent"),
    ("sent", None, "· sent"),
    ("delivered", None, "delivered"),
    ("read", None, "· read"),
    ("undelivered", "invalid_number", "not delivered: the number can't get messages"),
    ("failed", "opted_out", "not delivered: this person has replied STOP"),
    ("failed", "not_allowed", "not delivered: the provider does not allow it"),
    ("failed", "outside_window", "not delivered: WhatsApp allows a reply only within 24 hours"),
    ("failed", "other", "not delivered: the provider refuses it"),
    ("failed", "unavailable", "not delivered: the provider could not be reached"),
    ("failed", "not_connected", "not delivered: the number was disconnected"),
    ("canceled", "opted_out", "not sent: this person has replied STOP"),
]


@pytest.mark.parametrize(("status", "error", "words"), STATES)
async def test_what_became_of_a_message_is_said_in_words(
    member: httpx2.AsyncClient, runtime: Runtime, say: Say, status: str, error: str | None, words: str
) -> None:
    own = await say("Own", direction=MessageDirection.OUTBOUND, status=MessageStatus(status))
    await runtime.pool.execute("update messages set error = $1", error)

    assert words in read_page(await member.get(f"/conversations/{own.conversation_id}")).text


async def test_a_message_says_that_it_waits_because_messages_are_stopped(
    member: httpx2.AsyncClient, runtime: Runtime, say: Say
) -> None:
    own = await say("Own", direction=MessageDirection.OUTBOUND, status=MessageStatus.QUEUED)
    async with runtime.transaction(OPERATOR) as work:
        await stop_messaging(work, "sms", reason="A bill")
    shown = read_page(await member.get(f"/conversations/{own.conversation_id}")).text

    assert "waiting, because messages are stopped at the moment" in shown
    assert "A bill" not in shown


async def test_a_thread_is_deleted_after_a_question_here_and_at_the_provider(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, add: Add, say: Say
) -> None:
    await add(phone=PHONE)
    number = await insert_number(runtime, user_id=user.id)
    thread = (await say("One")).conversation_id
    await say("Elsewhere", phone=OTHER)
    await runtime.pool.execute("update messages set connection_id = $1, vendor_id = 'SM' || id", number.id)
    path = f"/conversations/{thread}/delete"
    asked = read_page(await member.get(path)).text

    assert "Delete the conversation with Noor Haddad?" in asked
    assert "1 message with its files is deleted here and at the provider." in asked
    assert await runtime.pool.fetchval("select count(*) from messages") == 2
    done = await member.post(path)
    assert done.headers["location"] == "/conversations?done=deleted"
    listed = read_page(await member.get(done.headers["location"])).text
    assert "The conversation is deleted." in listed
    assert ("Elsewhere" in listed, "One" in listed) == (True, False)
    assert (await member.get(f"/conversations/{thread}")).status_code == 404
    assert (await member.post(path)).status_code == 404
    erased = await runtime.pool.fetch("select account, vendor_id from message_erasures")
    assert [row["account"] for row in erased] == [number.account]


async def test_a_thread_stays_readable_when_its_contact_is_deleted(
    member: httpx2.AsyncClient, client: httpx2.AsyncClient, runtime: Runtime, add: Add, say: Say
) -> None:
    contact, thread = await add(phone=PHONE), (await say("Where do I park?")).conversation_id
    question = read_page(await member.get(f"/contacts/{contact.id}/delete")).text
    assert "Conversations and calls with this phone number stay, without the name." in question
    assert "Noor Haddad" in (await member.get(f"/conversations/{thread}")).text

    assert (await member.post(f"/contacts/{contact.id}/delete")).status_code == 303
    shown = await member.get(f"/conversations/{thread}")
    assert "Where do I park?" in shown.text
    assert PHONE in shown.text
    assert "Noor Haddad" not in shown.text
    assert await runtime.pool.fetchval("select count(*) from message_erasures") == 0
