"""Google's part of push: a channel has a token in the headers of its notices, and ends by itself; none is prolonged."""

from datetime import UTC, datetime

from msgspec import Struct

from openslot.domains.calendars.errors import UNREADABLE_ANSWER, CalendarUnreadable
from openslot.domains.calendars.models import CalendarChannel
from openslot.domains.calendars.ports import WantedChannel, Watch
from openslot.domains.oauth.models import TokenSource
from openslot.platform.core.outbound import Outbound
from openslot.vendors.google.client import GoogleClient, path_of

LONGEST_RESOURCE = 500


class WatchAnswer(Struct, frozen=True, rename="camel"):
    resource_id: str
    expiration: str = ""


class GooglePush:
    """The channels of one account; another one takes the place of each before it ends."""

    def __init__(self, outbound: Outbound, url: str, tokens: TokenSource) -> None:
        self._client = GoogleClient(outbound, url, tokens)

    async def watch(self, wanted: WantedChannel) -> Watch:
        body = {
            "id": str(wanted.channel_id),
            "type": "web_hook",
            "address": wanted.address,
            "token": wanted.token,
            "params": {"ttl": str(int((wanted.until - wanted.now).total_seconds()))},
        }
        answer = await self._client.write("POST", f"{path_of(wanted.calendar)}/watch", WatchAnswer, body, query={})
        if not 0 < len(answer.resource_id) <= LONGEST_RESOURCE or not answer.resource_id.isprintable():
            raise CalendarUnreadable(UNREADABLE_ANSWER)
        return Watch(answer.resource_id, _read_expiry(answer.expiration) or wanted.until)

    async def renew(self, channel: CalendarChannel, *, until: datetime) -> datetime | None:
        return None

    async def stop(self, channel: CalendarChannel) -> None:
        await self._client.post("channels/stop", {"id": str(channel.id), "resourceId": channel.resource_id})

    async def close(self) -> None:
        await self._client.close()


class GoogleNotice(Struct, frozen=True, kw_only=True):
    """What the headers of a notice say."""

    channel_id: str
    resource_id: str
    state: str
    number: str

    def concerns(self, channel: CalendarChannel) -> bool:
        """Return whether it names a channel as Google does; the token is compared elsewhere."""
        is_numbered = self.number.isdecimal() and len(self.number) <= 18
        return is_numbered and self.channel_id == str(channel.id) and channel.resource_id in {"", self.resource_id}


def _read_expiry(milliseconds: str) -> datetime | None:
    if not milliseconds.isdecimal() or len(milliseconds) > 15:
        return None
    return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
