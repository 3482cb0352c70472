"""Opens the server of a connection: one line per vendor."""

from collections.abc import Callable
from uuid import UUID

import msgspec

from openslot.core.outbound import Outbound
from openslot.core.work import Runtime
from openslot.integrations.calendars.caldav import CalDavServer, Credentials
from openslot.integrations.calendars.ics_feed import IcsFeed
from openslot.integrations.calendars.models import ConnectionKind, Secret
from openslot.integrations.calendars.ports import CalendarServer

SERVERS: dict[ConnectionKind, Callable[[Outbound, Secret], CalendarServer]] = {
    ConnectionKind.CALDAV: lambda outbound, secret: CalDavServer(
        outbound, Credentials(url=secret.url, username=secret.username, password=secret.password)
    ),
    ConnectionKind.ICS: lambda outbound, secret: IcsFeed(outbound, secret.url),
}


def open_server(runtime: Runtime, owner_id: UUID, kind: str, sealed: bytes) -> CalendarServer:
    """Open the server of an owner's connection with what was sealed for it."""
    secret = msgspec.json.decode(runtime.secrets.open(sealed), type=Secret)
    return SERVERS[ConnectionKind(kind)](runtime.outbound.on_behalf_of(owner_id), secret)
