"""What happened to mail, and what hosts are to be told."""

from typing import ClassVar
from uuid import UUID

from openslot.domains.mail.models import MailPot
from openslot.platform.core.events import Event


class MailLimitReached(Event, frozen=True, kw_only=True):
    """Mail that the public has set off was not sent, for the first time in 24 hours; the host will be notified."""

    type: ClassVar[str] = "mail.limit_reached"
    host_id: UUID
    pot: MailPot
    limit: int

    @property
    def tenant_id(self) -> UUID | None:
        return self.host_id


MAIL_EVENTS: tuple[type[Event], ...] = (MailLimitReached,)
