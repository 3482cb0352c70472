"""A mailer that keeps messages in memory, and fails when told to."""

from collections import deque

from openslot.domains.mail.ports import MailDeferred, MailRefused, OutgoingMail


class FakeMailer:
    """Implements the port without a server."""

    name = "fake"

    def __init__(self) -> None:
        self.sent: list[OutgoingMail] = []
        self.faults: deque[MailDeferred | MailRefused | None] = deque()

    async def send(self, mail: OutgoingMail) -> None:
        """Keep a message, or fail with the next given fault."""
        fault = self.faults.popleft() if self.faults else None
        if fault is not None:
            raise fault
        self.sent.append(mail)
