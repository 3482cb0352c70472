"""The team chat: its port, an incoming webhook as Slack and Mattermost have them, and one message as an effect."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import Protocol

import msgspec

from openslot.platform.core.actor import Destination
from openslot.platform.core.config import Settings
from openslot.platform.core.events import Effect
from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused
from openslot.platform.core.work import Done, GiveUp, Outcome, Skipped, TryLater, Work
from openslot.platform.i18n import CodedReason


class ChatDeferred(Exception):
    """It could not be posted now; another try may succeed, not before the time that the other side asked for."""

    def __init__(self, message: str, *, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.after = after


class ChatRefused(Exception):
    """It can't be posted, now or later."""


class Chat(Protocol):
    @property
    def is_open(self) -> bool:
        """Whether there is a room at all."""
        ...

    async def post(self, outbound: Outbound, text: str) -> None:
        """Post a message; raise `ChatDeferred` or `ChatRefused` if that fails."""
        ...


NO_CHAT = CodedReason("chat.none", "no team chat is configured")


def team_chat(work: Work, _: Effect) -> Destination | None:
    """Name the destination of messages: one chat, owned by the operator; none if there is none."""
    return Destination("team chat", None) if work.runtime.ports.get(Chat).is_open else None


async def post(work: Work, text: str) -> Outcome:
    chat = work.runtime.ports.get(Chat)
    if not chat.is_open:
        return Skipped(NO_CHAT)
    try:
        await chat.post(work.runtime.outbound.on_behalf_of(None), text)
    except ChatRefused as fault:
        raise GiveUp(str(fault), answered=True) from None
    except ChatDeferred as fault:
        raise TryLater(str(fault), after=fault.after) from None
    return Done()


WITHIN = timedelta(seconds=10)
WORTH_ANOTHER_TRY = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
# These three have a meaning of their own in messages.
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class WebhookChat:
    """Posts to the address that the operator has set; the address is a secret and is in no message and no error."""

    def __init__(self, url: str | None) -> None:
        self._url = url

    @property
    def is_open(self) -> bool:
        return self._url is not None

    async def post(self, outbound: Outbound, text: str) -> None:
        """Post a message as `{"text": …}`."""
        if self._url is None:
            raise ChatRefused(NO_CHAT)
        try:
            answer = await outbound.send(
                "POST",
                self._url,
                headers={"Content-Type": "application/json"},
                body=msgspec.json.encode({"text": text.translate(ESCAPES)}),
                within=WITHIN,
            )
        except OutboundRefused as fault:
            raise ChatRefused(f"the team chat's address is not allowed: {fault.reason}") from None
        except OutboundFailed as fault:
            raise ChatDeferred(f"the team chat can't be reached: {fault.kind}") from None
        if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            return
        problem = f"the team chat answered {answer.status}"
        if answer.status < HTTPStatus.INTERNAL_SERVER_ERROR and answer.status not in WORTH_ANOTHER_TRY:
            raise ChatRefused(problem)
        wait = answer.headers.get("retry-after", "")
        is_seconds = wait.isascii() and wait.isdigit() and len(wait) <= 5
        raise ChatDeferred(problem, after=timedelta(seconds=int(wait)) if is_seconds else None)


@asynccontextmanager
async def open_chat(settings: Settings) -> AsyncIterator[WebhookChat]:
    yield WebhookChat(settings.chat_webhook)
