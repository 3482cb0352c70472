"""What happened to connected CRMs, and what their owners are to be told."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Event


class CrmEvent(Event, frozen=True, kw_only=True):
    """Something happened to a connected CRM."""

    connection_id: UUID
    owner_id: UUID
    vendor: str
    label: str

    @property
    def tenant_id(self) -> UUID | None:
        return self.owner_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "crm", self.connection_id


class CrmConnected(CrmEvent, frozen=True, kw_only=True):
    """A CRM was connected, or connected again."""

    type: ClassVar[str] = "crm.connected"


class CrmDisconnected(CrmEvent, frozen=True, kw_only=True):
    """A CRM was disconnected, and its secret was deleted."""

    type: ClassVar[str] = "crm.disconnected"


class CrmBroken(CrmEvent, frozen=True, kw_only=True):
    """A CRM can't be used any more; its owner will be notified."""

    type: ClassVar[str] = "crm.broken"
    reason: str
    since: datetime
    base_url: str


CRM_EVENTS: tuple[type[Event], ...] = (CrmConnected, CrmDisconnected, CrmBroken)
