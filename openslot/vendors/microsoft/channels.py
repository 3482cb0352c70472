"""Microsoft's part of push: subscriptions that are prolonged, and notices whose items have a secret each."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from openslot.domains.calendars.errors import UNREADABLE_ANSWER, CalendarGone, CalendarNoticeRefused, CalendarUnreadable
from openslot.domains.calendars.models import CalendarChannel
from openslot.domains.calendars.ports import WantedChannel, Watch
from openslot.domains.oauth.models import TokenSource
from openslot.platform.core.outbound import Outbound
from openslot.vendors.json_client import AlreadyThere
from openslot.vendors.microsoft.client import MicrosoftClient

LONGEST_ID = 200
LONGEST_SECRET = 128
MAX_ITEMS = 1000

IsLive = Callable[[UUID], Awaitable[bool]]


class GraphSubscription(Struct, frozen=True, rename="camel"):
    id: str = ""
    expiration_date_time: str = ""
    resource: str = ""
    notification_url: str = ""


class GraphSubscriptions(Struct, frozen=True):
    value: tuple[GraphSubscription, ...] = ()


class GraphNotice(Struct, frozen=True, rename="camel"):
    """One item of a notice: something has changed, or something is to be done for the subscription."""

    subscription_id: str = ""
    client_state: str | None = None
    lifecycle_event: str | None = None

    @property
    def token(self) -> str:
        return (self.client_state or "")[: LONGEST_SECRET + 1]

    def concerns(self, channel: CalendarChannel) -> bool:
        """Return whether it names a channel as Graph does; the token is compared elsewhere."""
        return channel.resource_id in {"", self.subscription_id}


class GraphNotices(Struct, frozen=True):
    value: Annotated[tuple[GraphNotice, ...], Meta(min_length=1, max_length=MAX_ITEMS)]


class MicrosoftPush:
    """The subscriptions of one mailbox; `is_live` tells whether a channel of ours is used."""

    def __init__(self, outbound: Outbound, url: str, tokens: TokenSource, *, mailbox: UUID, is_live: IsLive) -> None:
        self._client = MicrosoftClient(outbound, url, tokens, mailbox=mailbox)
        self._is_live = is_live

    async def watch(self, wanted: WantedChannel) -> Watch:
        """Subscribe to a calendar; one address gets the notices and what is to be done for the subscription."""
        body = {
            "changeType": "created,updated,deleted",
            "notificationUrl": wanted.address,
            "lifecycleNotificationUrl": wanted.address,
            "resource": _resource_of(wanted),
            "expirationDateTime": _write_moment(wanted.until),
            "clientState": wanted.token,
        }
        try:
            made = await self._client.write("POST", "subscriptions", GraphSubscription, body)
        except AlreadyThere:
            await self._end_unused(wanted)
            made = await self._client.write("POST", "subscriptions", GraphSubscription, body)
        if not 0 < len(made.id) <= LONGEST_ID or not made.id.isprintable():
            raise CalendarUnreadable(UNREADABLE_ANSWER)
        return Watch(made.id, _read_moment(made.expiration_date_time) or wanted.until)

    async def renew(self, channel: CalendarChannel, *, until: datetime) -> datetime | None:
        """Prolong a subscription, which also says again that it is allowed."""
        body = {"expirationDateTime": _write_moment(until)}
        found = await self._client.write("PATCH", _path_of(channel.resource_id), GraphSubscription, body)
        return _read_moment(found.expiration_date_time) or until

    async def stop(self, channel: CalendarChannel) -> None:
        try:
            await self._client.delete(_path_of(channel.resource_id))
        except CalendarGone:
            return

    async def close(self) -> None:
        await self._client.close()

    async def _end_unused(self, wanted: WantedChannel) -> None:
        """End the subscription of an answer that was lost, or of a connection that is gone; others are left alone."""
        folder = wanted.address.removesuffix(str(wanted.channel_id))
        for each in (await self._client.get("subscriptions", GraphSubscriptions)).value:
            name = each.notification_url.removeprefix(folder)
            if each.resource.strip("/") != _resource_of(wanted) or name == each.notification_url:
                continue
            if not await self._is_live(_read_id(name)):
                await self._client.delete(_path_of(each.id))


def read_notices(body: bytes) -> tuple[GraphNotice, ...]:
    """Read the items of a notice, or refuse it."""
    try:
        return msgspec.json.decode(body, type=GraphNotices).value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CalendarNoticeRefused from None


def _resource_of(wanted: WantedChannel) -> str:
    return f"me/calendars/{wanted.calendar}/events"


def _path_of(subscription: str) -> str:
    return f"subscriptions/{quote(subscription, safe='')}"


def _read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)


def _write_moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _read_moment(text: str) -> datetime | None:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
