"""The port of the team chat, implemented by an incoming webhook and a fake."""

from datetime import timedelta
from typing import Protocol

from openslot.core.outbound import Outbound


class ChatDeferred(Exception):
    """It could not be posted now; another try may succeed, not before the time that the other side asked for."""

    def __init__(self, message: str, *, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.after = after


class ChatRefused(Exception):
    """It can't be posted, now or later."""


class Chat(Protocol):
    """A room of the team's chat."""

    @property
    def is_open(self) -> bool:
        """Whether there is a room at all."""
        ...

    async def post(self, outbound: Outbound, text: str) -> None:
        """Post a message; raise `ChatDeferred` or `ChatRefused` if that fails."""
        ...
