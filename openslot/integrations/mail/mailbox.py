"""The embedded mailbox: every message is sealed and kept in the database, and none is sent."""

from uuid import UUID

from openslot.core.actor import SYSTEM
from openslot.core.secrets import SealBroken
from openslot.core.work import Runtime
from openslot.integrations.mail import store
from openslot.integrations.mail.models import MAILBOX
from openslot.integrations.mail.ports import OutgoingMail

PURPOSE = "mail"


class Mailbox:
    """Keeps messages instead of sending them, each only once however often it is sent."""

    name = MAILBOX

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def send(self, mail: OutgoingMail) -> None:
        """Keep a message with the log's entry of it."""
        sealed = self._runtime.cipher.seal(PURPOSE, mail.content, owner=mail.id.bytes)
        await store.keep_content(self._runtime.work(SYSTEM).db, mail.id, sealed)


def open_content(runtime: Runtime, mail_id: UUID, sealed: bytes | None) -> bytes | None:
    """Open a kept message; None if there is none, or the key that sealed it is lost."""
    if sealed is None:
        return None
    try:
        return runtime.cipher.open(PURPOSE, sealed, owner=mail_id.bytes)
    except SealBroken:
        return None
