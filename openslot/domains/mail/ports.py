"""The port for sending mail, implemented by SMTP, the embedded mailbox and a fake."""

from typing import Protocol
from uuid import UUID

from msgspec import Struct

from openslot.platform.core.smtp import SmtpServer


class OutgoingMail(Struct, frozen=True, kw_only=True):
    """A message on its way: where it comes from, where it goes, and its bytes."""

    id: UUID
    sender: str
    recipient: str
    content: bytes
    needs_utf8: bool = False


class MailDeferred(Exception):
    """It could not be sent now; another try may succeed.

    `answered` says that the server works and refuses this one message.
    """

    def __init__(self, message: str, *, answered: bool = False) -> None:
        super().__init__(message)
        self.answered = answered


class MailRefused(Exception):
    """It can't be sent, now or later."""


class MailServers(Protocol):
    """Tries servers of mail, without sending anything."""

    async def check(self, server: SmtpServer) -> None:
        """Connect and log in; raise `MailDeferred` if that fails."""
        ...


class Mailer(Protocol):
    """Accepts a message for sending, or says why not."""

    @property
    def name(self) -> str:
        """What the log of mail calls it."""
        ...

    async def send(self, mail: OutgoingMail) -> None:
        """Accept a message for sending; raise `MailDeferred` or `MailRefused` if that fails."""
        ...
