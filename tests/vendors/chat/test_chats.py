"""The port: whatever carries messages to the team passes the same tests."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from ipaddress import ip_network

import pytest
from msgspec import Struct

from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.outbound import Outbound
from openslot.vendors.chat import Chat, ChatDeferred, ChatRefused, WebhookChat
from tests.support.fake_chat import FakeChat
from tests.support.receiver import Receiver, hang_up, receiving

LOOPBACK = (ip_network("127.0.0.0/8"),)


class Room(Struct, frozen=True):
    """A chat, what it has posted so far, and how to make it fail."""

    chat: Chat
    read: Callable[[], list[str]]
    defer: Callable[[], None]
    refuse: Callable[[], None]


@pytest.fixture
async def outbound() -> AsyncIterator[Outbound]:
    opened = Outbound(allow=LOOPBACK)
    yield opened
    await opened.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.fixture(params=["webhook", "fake"])
def room(request: pytest.FixtureRequest, receiver: Receiver) -> Room:
    """Give one chat after the other."""
    if request.param == "fake":
        fake = FakeChat()
        return Room(
            fake,
            lambda: fake.posted,
            lambda: fake.faults.append(ChatDeferred("later")),
            lambda: fake.faults.append(ChatRefused("never")),
        )
    return Room(
        WebhookChat(receiver.url),
        lambda: [each.json["text"] for each in receiver.got],
        lambda: receiver.answer(503),
        lambda: receiver.answer(404),
    )


async def test_a_message_arrives(room: Room, outbound: Outbound) -> None:
    await room.chat.post(outbound, "Support asks for approval ✓")

    assert room.chat.is_open
    assert room.read() == ["Support asks for approval ✓"]


async def test_what_may_succeed_later_is_deferred(room: Room, outbound: Outbound) -> None:
    room.defer()
    with pytest.raises(ChatDeferred):
        await room.chat.post(outbound, "Hello")


async def test_what_can_never_succeed_is_refused(room: Room, outbound: Outbound) -> None:
    room.refuse()
    with pytest.raises(ChatRefused):
        await room.chat.post(outbound, "Hello")


async def test_a_webhook_gets_json_with_a_text_whose_markup_is_escaped(receiver: Receiver, outbound: Outbound) -> None:
    await WebhookChat(receiver.url).post(outbound, "<!channel> & <@U1>")

    (got,) = receiver.got
    assert got.headers["content-type"] == "application/json"
    assert got.json == {"text": "&lt;!channel&gt; &amp; &lt;@U1&gt;"}


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
async def test_these_answers_are_worth_another_try(receiver: Receiver, outbound: Outbound, status: int) -> None:
    receiver.answer(status, "Retry-After: 30")
    with pytest.raises(ChatDeferred) as deferred:
        await WebhookChat(receiver.url).post(outbound, "Hello")

    assert deferred.value.after == timedelta(seconds=30)


@pytest.mark.parametrize("status", [301, 302, 400, 403, 404, 410])
async def test_these_answers_are_not(receiver: Receiver, outbound: Outbound, status: int) -> None:
    receiver.answer(status, "Location: http://127.0.0.1:1/")
    with pytest.raises(ChatRefused):
        await WebhookChat(receiver.url).post(outbound, "Hello")


async def test_the_address_is_a_secret_that_no_error_tells(receiver: Receiver, outbound: Outbound) -> None:
    receiver.behaviour = hang_up
    with pytest.raises(ChatDeferred) as failed:
        await WebhookChat(receiver.url).post(outbound, "Hello")
    strict = Outbound()
    with pytest.raises(ChatRefused) as refused:
        await WebhookChat(receiver.url).post(strict, "Hello")
    await strict.close()

    for fault in (failed.value, refused.value):
        assert "hook" not in str(fault)
        assert "127.0.0.1" not in str(fault)


async def test_without_an_address_there_is_no_room(outbound: Outbound) -> None:
    chat = WebhookChat(None)

    assert not chat.is_open
    with pytest.raises(ChatRefused):
        await chat.post(outbound, "Hello")


def test_an_address_that_is_none_is_refused_at_startup() -> None:
    with pytest.raises(StartupError, match="OPENSLOT_CHAT_WEBHOOK"):
        load_settings(environ={"OPENSLOT_CHAT_WEBHOOK": "slack"})
