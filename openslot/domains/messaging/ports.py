"""The ports of a message provider: what it must offer for one account, and how it can fail."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Protocol

from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import (
    AccountCheck,
    Media,
    MediaLimits,
    MessageCredentials,
    OutboundMessage,
    ProviderName,
    RefusalReason,
    SentMessage,
)
from openslot.platform.core.outbound import Outbound


class MessageFault(Exception):
    """The provider did not do what was asked; no fault repeats a token, a number or a text."""


class MessageRefused(MessageFault):
    """The request itself is refused; the same request never succeeds."""

    def __init__(self, message: str, *, reason: RefusalReason, code: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.code = code
        """The provider's own code."""


class MediaRefused(MessageFault):
    """The file is larger than allowed, or of another type."""


class TokenRefused(MessageFault):
    """The account or its token is not valid, or no longer."""


class AccountRefused(TokenRefused):
    """What was given can't be an account, whatever its token is; its argument says why."""


class MessagesBusy(MessageFault):
    """Too many requests; nothing was done."""

    def __init__(self, after: timedelta | None = None) -> None:
        super().__init__("the message provider asks for fewer requests")
        self.after = after


class MessagesUnavailable(MessageFault):
    """There is no answer, or the provider has a fault of its own; the same request may succeed later."""

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived
        """The request may have been carried out: look with `find_sent`, and never just send again."""


class BadNotice(Exception):
    """A notice is not from the provider, or can't be read; its argument says why and repeats nothing of it."""


class MalformedNotice(BadNotice):
    """A notice is from the provider and can't be used; its argument names the field, and is told to the provider."""


class MessageProviders(Protocol):
    """All providers of this installation."""

    def get(self, name: ProviderName) -> "MessageProvider": ...


class MessageProvider(Protocol):
    """A provider of messages: opens the account of each connection."""

    @property
    def name(self) -> ProviderName: ...

    def open(self, outbound: Outbound, account: MessageCredentials) -> "MessageAccount":
        """Open an account; raise `AccountRefused` or `TokenRefused` for what can't be an account or a token."""
        ...


class MessageAccount(Protocol):
    """One account of a message provider; what it can't do is a `MessageFault`."""

    async def check(self, *, channel: ConnectionChannel, number: str) -> AccountCheck:
        """Tell whether the account and a number of it are good, without sending; raise `TokenRefused` if not valid."""
        ...

    async def send(self, message: OutboundMessage) -> SentMessage:
        """Ask once, without a second try: after `MessagesUnavailable` with `may_have_arrived`, use `find_sent`."""
        ...

    async def find_sent(
        self, message: OutboundMessage, *, since: datetime, known: Collection[str] = ()
    ) -> SentMessage | None:
        """Look for a message whose answer was lost, which was asked for at `since` or later.

        `known` are the provider's ids of other messages to this recipient: the same text may have been sent before.
        None: it is not there, or not yet: providers list some messages only after they have left.
        """
        ...

    async def get_status(self, message_id: str) -> SentMessage:
        """Read what became of a message by the provider's id."""
        ...

    async def fetch_media(self, ref: str, *, limits: MediaLimits) -> Media:
        """Fetch a file of a message, or a recording; raise `MediaRefused` if it is not within the limits."""
        ...

    async def delete_message(self, message_id: str) -> None:
        """Delete a message with its files; one that is gone already is no fault, one on its way is `MessagesBusy`."""
        ...

    async def delete_media(self, ref: str) -> None:
        """Delete a file of a message, or a recording; one that is gone already is no fault."""
        ...

    async def close(self) -> None: ...
