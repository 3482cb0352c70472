"""The team chat by an incoming webhook, as Slack and Mattermost have them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from http import HTTPStatus

import msgspec

from openslot.core.config import Settings
from openslot.core.outbound import Outbound, OutboundFailed, OutboundRefused
from openslot.integrations.chat.ports import ChatDeferred, ChatRefused

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
        """Whether an address is set."""
        return self._url is not None

    async def post(self, outbound: Outbound, text: str) -> None:
        """Post a message as `{"text": …}`."""
        if self._url is None:
            raise ChatRefused("no team chat is configured")
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
    """Open the chat that the settings name."""
    yield WebhookChat(settings.chat_webhook)
