"""Which adapter answers the calendar port for each kind of connection, and how it is opened."""

from collections.abc import Callable
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.calendars.models import CalendarConnection, ConnectionKind, ConnectionRef, Credentials
from openslot.domains.calendars.ports import CalendarServer
from openslot.domains.oauth.models import Consent, OneToken, TokenSource
from openslot.domains.oauth.operations import GrantTokens
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from openslot.vendors.caldav.calendars import CalDavServer
from openslot.vendors.google.calendars import GoogleCalendars
from openslot.vendors.ics_feed import IcsFeed
from openslot.vendors.microsoft.calendars import MicrosoftCalendars


class VendorAccounts(Struct, frozen=True):
    """How accounts are opened to which their owners have allowed access."""

    url_in: Callable[[Settings], str]
    open: Callable[[Outbound, str, TokenSource, UUID], CalendarServer]


class Adapter(Struct, frozen=True):
    """What answers the port for a kind of connection, and how it is opened."""

    server: type[CalendarServer]
    open: Callable[[Runtime, ConnectionRef, Credentials], CalendarServer]


ACCOUNTS = {
    ConnectionKind.GOOGLE: VendorAccounts(
        url_in=lambda settings: settings.google_api_url,
        open=lambda outbound, url, tokens, _: GoogleCalendars(outbound, url, tokens),
    ),
    ConnectionKind.MICROSOFT: VendorAccounts(
        url_in=lambda settings: settings.microsoft_graph_url,
        open=lambda outbound, url, tokens, mailbox: MicrosoftCalendars(outbound, url, tokens, mailbox=mailbox),
    ),
}


def find_url(runtime: Runtime, kind: ConnectionKind) -> str:
    """Return where the operator's settings lead to for the accounts of a vendor."""
    return ACCOUNTS[kind].url_in(runtime.settings)


def _open_account(runtime: Runtime, kind: ConnectionKind, ref: ConnectionRef, tokens: TokenSource) -> CalendarServer:
    outbound = runtime.outbound.on_behalf_of(ref.owner_id)
    return ACCOUNTS[kind].open(outbound, find_url(runtime, kind), tokens, ref.id)


def open_with(runtime: Runtime, ref: ConnectionRef, consent: Consent) -> CalendarServer:
    """Open an account by a consent that is not stored yet."""
    return _open_account(runtime, ConnectionKind(consent.vendor), ref, OneToken(consent.tokens.access_token))


ADAPTERS = {
    ConnectionKind.CALDAV: Adapter(
        CalDavServer,
        lambda runtime, ref, secret: CalDavServer(runtime.outbound.on_behalf_of(ref.owner_id), secret),
    ),
    ConnectionKind.ICS: Adapter(
        IcsFeed, lambda runtime, ref, secret: IcsFeed(runtime.outbound.on_behalf_of(ref.owner_id), secret.url)
    ),
    ConnectionKind.GOOGLE: Adapter(
        GoogleCalendars,
        lambda runtime, ref, _: _open_account(runtime, ConnectionKind.GOOGLE, ref, GrantTokens(runtime, ref.id)),
    ),
    ConnectionKind.MICROSOFT: Adapter(
        MicrosoftCalendars,
        lambda runtime, ref, _: _open_account(runtime, ConnectionKind.MICROSOFT, ref, GrantTokens(runtime, ref.id)),
    ),
}


def can_invite(connection: CalendarConnection) -> bool:
    """Return whether the server of a connection can invite those who take part in a booking."""
    return ADAPTERS[connection.kind].server.can_invite


def open_server(runtime: Runtime, ref: ConnectionRef, kind: str, sealed: bytes) -> CalendarServer:
    secret = msgspec.json.decode(runtime.secrets.open(sealed), type=Credentials)
    return ADAPTERS[ConnectionKind(kind)].open(runtime, ref, secret)
