"""Which adapter answers the calendar port for each kind of connection, and how it is opened."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID

from msgspec import Struct

from openslot.domains.calendars import store
from openslot.domains.calendars.models import (
    CalendarConnection,
    ConnectionKind,
    ConnectionRef,
    Credentials,
)
from openslot.domains.calendars.ports import CalendarServer, PushServer
from openslot.domains.oauth.models import Consent, OneToken, TokenSource
from openslot.domains.oauth.operations import GrantTokens
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from openslot.vendors.caldav.calendars import CalDavServer
from openslot.vendors.google.calendars import GoogleCalendars
from openslot.vendors.google.channels import GooglePush
from openslot.vendors.ics_feed import IcsFeed
from openslot.vendors.microsoft.calendars import MicrosoftCalendars
from openslot.vendors.microsoft.channels import MicrosoftPush

OpenPush = Callable[[Runtime, CalendarConnection], PushServer]


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


def _open_account(runtime: Runtime, kind: ConnectionKind, ref: ConnectionRef, tokens: TokenSource) -> CalendarServer:
    outbound = runtime.outbound.on_behalf_of(ref.owner_id)
    return ACCOUNTS[kind].open(outbound, ACCOUNTS[kind].url_in(runtime.settings), tokens, ref.id)


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


def _open_google(runtime: Runtime, connection: CalendarConnection) -> PushServer:
    outbound = runtime.outbound.on_behalf_of(connection.owner_id)
    return GooglePush(outbound, runtime.settings.google_api_url, GrantTokens(runtime, connection.id))


def _open_microsoft(runtime: Runtime, connection: CalendarConnection) -> PushServer:
    async def is_live(channel_id: UUID) -> bool:
        found = await store.find_channel(runtime.pool, channel_id)
        return found is not None and bool(found.resource_id) and found.expires_at > runtime.clock()

    outbound, tokens = runtime.outbound.on_behalf_of(connection.owner_id), GrantTokens(runtime, connection.id)
    url = runtime.settings.microsoft_graph_url
    return MicrosoftPush(outbound, url, tokens, mailbox=connection.id, is_live=is_live)


PUSH: dict[ConnectionKind, OpenPush] = {
    ConnectionKind.GOOGLE: _open_google,
    ConnectionKind.MICROSOFT: _open_microsoft,
}


class InstalledServers:
    """Implements the port `CalendarServers`."""

    def can_invite(self, kind: ConnectionKind) -> bool:
        return ADAPTERS[kind].server.can_invite

    def find_url(self, runtime: Runtime, kind: ConnectionKind) -> str:
        return ACCOUNTS[kind].url_in(runtime.settings)

    def open(
        self, runtime: Runtime, kind: ConnectionKind, ref: ConnectionRef, credentials: Credentials
    ) -> CalendarServer:
        return ADAPTERS[kind].open(runtime, ref, credentials)

    def open_with(self, runtime: Runtime, ref: ConnectionRef, consent: Consent) -> CalendarServer:
        return _open_account(runtime, ConnectionKind(consent.vendor), ref, OneToken(consent.tokens.access_token))

    def open_push(self, runtime: Runtime, connection: CalendarConnection) -> PushServer | None:
        opened = PUSH.get(connection.kind)
        return None if opened is None else opened(runtime, connection)

    async def discover(self, runtime: Runtime, owner_id: UUID, credentials: Credentials) -> Credentials:
        server = CalDavServer(runtime.outbound.on_behalf_of(owner_id), credentials)
        try:
            return await server.discover()
        finally:
            await server.close()


@asynccontextmanager
async def open_calendar_servers(_: Settings) -> AsyncIterator[InstalledServers]:
    yield InstalledServers()
