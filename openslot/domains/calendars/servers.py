"""The port that opens the server of a connection, and how it is asked."""

from typing import Protocol
from uuid import UUID

import msgspec

from openslot.domains.calendars.models import CalendarConnection, ConnectionKind, ConnectionRef, Credentials
from openslot.domains.calendars.ports import CalendarServer, PushServer
from openslot.domains.oauth.models import Consent
from openslot.platform.core.work import Runtime


class CalendarServers(Protocol):
    """Opens the server of a connection, by its kind."""

    def can_invite(self, kind: ConnectionKind) -> bool:
        """Return whether servers of this kind can invite those who take part in a booking."""
        ...

    def find_url(self, runtime: Runtime, kind: ConnectionKind) -> str:
        """Return where the operator's settings lead to for the accounts of a vendor."""
        ...

    def open(
        self, runtime: Runtime, kind: ConnectionKind, ref: ConnectionRef, credentials: Credentials
    ) -> CalendarServer: ...

    def open_with(self, runtime: Runtime, ref: ConnectionRef, consent: Consent) -> CalendarServer:
        """Open an account by a consent that is not stored yet."""
        ...

    def open_push(self, runtime: Runtime, connection: CalendarConnection) -> PushServer | None:
        """Open what tells of changes; None if servers of this kind do not."""
        ...

    async def discover(self, runtime: Runtime, owner_id: UUID, credentials: Credentials) -> Credentials:
        """Find where a CalDAV account's calendars are: at the URL itself, or where the server says."""
        ...


def open_server(runtime: Runtime, ref: ConnectionRef, kind: str, sealed: bytes) -> CalendarServer:
    credentials = msgspec.json.decode(runtime.secrets.open(sealed), type=Credentials)
    return runtime.ports.get(CalendarServers).open(runtime, ConnectionKind(kind), ref, credentials)


def can_invite(runtime: Runtime, connection: CalendarConnection) -> bool:
    """Return whether the server of a connection can invite those who take part in a booking."""
    return runtime.ports.get(CalendarServers).can_invite(connection.kind)
