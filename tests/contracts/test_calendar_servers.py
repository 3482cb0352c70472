"""Every adapter of the calendar port, and its fake, keep the same contract."""

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from ipaddress import ip_network
from typing import Any

import pytest

from openslot.domains.calendars.models import Credentials
from openslot.domains.calendars.ports import CalendarServer
from openslot.domains.oauth.models import PERMISSIONS, OAuthVendor, OneToken, TokenSource
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.vendors.caldav.calendars import CalDavServer
from openslot.vendors.google.calendars import GoogleCalendars
from openslot.vendors.ics_feed import PLACE, IcsFeed
from openslot.vendors.microsoft.calendars import MicrosoftCalendars
from tests.contracts.calendar_servers import DAY, HOUR, NINE, OWN, Account, ReadingContract, WritingContract, write_ical
from tests.support.clocks import MovingClock
from tests.support.fake_calendars import FakeServer
from tests.support.fake_google import FakeGoogle, serving
from tests.support.fake_microsoft import FakeMicrosoft
from tests.support.fake_microsoft import serving as serving_microsoft
from tests.support.fake_microsoft.events import EventChanges, GraphTime
from tests.support.feeds import PublishedFeed, publishing
from tests.support.ical import calendar, event
from tests.support.radicale import PASSWORD, USER, Radicale, radicale_in, without_sync

LOOPBACK = (ip_network("127.0.0.0/8"),)
PLAIN: dict[str, Any] = {"daily": 1, "is_free": False, "is_all_day": False}


@pytest.fixture(scope="module")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Radicale]:
    """Run a real server."""
    with radicale_in(tmp_path_factory.mktemp("radicale")) as server:
        yield server


class FakeAccount:
    """The fake."""

    def __init__(self) -> None:
        self.server = FakeServer()
        self.calendar = self.server.add_calendar("Work")

    async def write(self, name: str, starts_at: datetime = NINE, **options: Any) -> None:
        self.server.edit(self.calendar, name, write_ical(name, starts_at, **PLAIN | options))

    async def delete(self, name: str) -> None:
        self.server.edit(self.calendar, name, None)

    async def move(self, ref: str, starts_at: datetime) -> None:
        assert ref == f"{self.calendar}{OWN}.ics"
        self.server.edit(self.calendar, str(OWN), write_ical(f"{OWN}@openslot", starts_at, **PLAIN))

    async def lose(self) -> str:
        return f"{self.calendar}other/"


class CalDavAccount:
    """A calendar of Radicale; `url` is where the adapter finds the server."""

    def __init__(self, radicale: Radicale, url: str, place: str) -> None:
        credentials = Credentials(url=f"{url}/{USER}/", username=USER, password=PASSWORD)
        self.server = CalDavServer(Outbound(allow=LOOPBACK), credentials)
        self.calendar = place.replace(radicale.url, url)
        self._radicale, self._place = radicale, place

    async def write(self, name: str, starts_at: datetime = NINE, **options: Any) -> None:
        await self._radicale.put(f"{self._place}{name}.ics", write_ical(name, starts_at, **PLAIN | options))

    async def delete(self, name: str) -> None:
        await self._radicale.send("DELETE", f"{self._place}{name}.ics")

    async def move(self, ref: str, starts_at: datetime) -> None:
        text = write_ical(f"{OWN}@openslot", starts_at, **PLAIN)
        await self._radicale.put(f"{self._place}{ref.rpartition('/')[2]}", text)

    async def lose(self) -> str:
        return f"{self.calendar.rstrip('/')}x/"


class FeedAccount:
    """A feed with the events that were written, which nobody can write to."""

    def __init__(self, feed: PublishedFeed) -> None:
        self.server = IcsFeed(Outbound(allow=LOOPBACK), feed.url)
        self.calendar = PLACE
        self._feed = feed
        self._events: dict[str, str] = {}
        self._publish()

    async def write(self, name: str, starts_at: datetime = NINE, **options: Any) -> None:
        text = write_ical(name, starts_at, **PLAIN | options)
        self._events[name] = text[text.index("BEGIN:VEVENT") : text.index("END:VCALENDAR")].strip()
        self._publish()

    async def delete(self, name: str) -> None:
        del self._events[name]
        self._publish()

    async def move(self, ref: str, starts_at: datetime) -> None:
        raise NotImplementedError

    async def lose(self) -> str:
        self._feed.status = 404
        return PLACE

    def _publish(self) -> None:
        self._feed.publish(calendar("X-WR-CALNAME:Work", *self._events.values()))


class GoogleCalendarAccount:
    """A calendar of our Google."""

    def __init__(self, fake: FakeGoogle) -> None:
        self._account = fake.add_account("mara@lindqvist.example")
        self.calendar = self._account.add_calendar("Work")
        scopes = [each.scope for each in PERMISSIONS[OAuthVendor.GOOGLE]]
        token = fake.consents.allow(self._account.email, *scopes)
        url = fake.configure(Settings()).google_api_url
        self.server = GoogleCalendars(Outbound(allow=LOOPBACK), url, OneToken(token))

    async def write(self, name: str, starts_at: datetime = NINE, **options: Any) -> None:
        chosen = PLAIN | options
        is_day = chosen["is_all_day"]
        times = [starts_at, starts_at + (DAY if is_day else HOUR)]
        start, end = ({"date": f"{at:%Y-%m-%d}"} if is_day else {"dateTime": at.isoformat()} for at in times)
        rules = [f"RRULE:FREQ=DAILY;COUNT={chosen['daily']}"] if chosen["daily"] > 1 else []
        more = {"transparency": "transparent"} if chosen["is_free"] else {}
        self._account.edit(self.calendar, name, start=start, end=end, recurrence=rules, **more)

    async def delete(self, name: str) -> None:
        self._account.remove(self.calendar, name)

    async def move(self, ref: str, starts_at: datetime) -> None:
        start, end = ({"dateTime": at.isoformat()} for at in (starts_at, starts_at + HOUR))
        self._account.edit(self.calendar, ref, start=start, end=end)

    async def lose(self) -> str:
        return "other@group.calendar.google.com"


class MicrosoftCalendarAccount:
    """A calendar of our Microsoft, which an adapter is opened for."""

    def __init__(self, fake: FakeMicrosoft, adapter: Callable[[Outbound, str, TokenSource], CalendarServer]) -> None:
        self._mailbox = fake.add_mailbox("mara@lindqvist.example")
        self.calendar = self._mailbox.add_calendar("Work")
        token = fake.login.allow(self._mailbox.email, "User.Read", "Calendars.ReadWrite")
        self.server = adapter(Outbound(allow=LOOPBACK), f"{fake.url}/v1.0", OneToken(token))

    async def write(self, name: str, starts_at: datetime = NINE, **options: Any) -> None:
        chosen = PLAIN | options
        day = starts_at.replace(hour=0)
        times = (day, day + DAY) if chosen["is_all_day"] else (starts_at, starts_at + HOUR)
        start, end = ({"dateTime": f"{each:%Y-%m-%dT%H:%M:%S}", "timeZone": "UTC"} for each in times)
        fields: dict[str, Any] = {"start": start, "end": end, "isAllDay": chosen["is_all_day"]}
        if chosen["daily"] > 1:
            span = {"type": "numbered", "startDate": f"{day:%Y-%m-%d}", "numberOfOccurrences": chosen["daily"]}
            fields["recurrence"] = {"pattern": {"type": "daily", "interval": 1}, "range": span}
        self._mailbox.edit(self.calendar, name, showAs="free" if chosen["is_free"] else "busy", **fields)

    async def delete(self, name: str) -> None:
        items = self._mailbox.calendars[self.calendar].items
        self._mailbox.delete(self.calendar, next(each for each in items if each.fields["subject"] == name))

    async def move(self, ref: str, starts_at: datetime) -> None:
        times = (starts_at, starts_at + HOUR)
        start, end = (GraphTime(f"{each:%Y-%m-%dT%H:%M:%S}", "UTC") for each in times)
        calendar, item = self._mailbox.find(ref)
        self._mailbox.change(calendar, item, EventChanges(start=start, end=end))

    async def lose(self) -> str:
        return "AAMkAGIother="


class TestFake(WritingContract):
    """The fake."""

    @pytest.fixture
    async def account(self) -> Account:
        """Give an account."""
        return FakeAccount()


class TestCalDav(WritingContract):
    """CalDAV with sync tokens."""

    @pytest.fixture
    async def account(self, radicale: Radicale) -> AsyncIterator[Account]:
        """Give an account."""
        radicale.empty()
        account = CalDavAccount(radicale, radicale.url, await radicale.add_calendar())
        yield account
        await account.server.close()


class TestCalDavWithoutSync(WritingContract):
    """CalDAV by tags and ETags."""

    @pytest.fixture
    async def account(self, radicale: Radicale) -> AsyncIterator[Account]:
        """Give an account of a server that knows no sync report."""
        radicale.empty()
        async with without_sync(radicale) as url:
            account = CalDavAccount(radicale, url, await radicale.add_calendar())
            yield account
            await account.server.close()


class TestGoogle(WritingContract):
    """Google Calendar."""

    @pytest.fixture(params=[False, True], ids=["whole", "in pages"])
    async def account(self, request: pytest.FixtureRequest) -> AsyncIterator[Account]:
        """Give an account whose lists come at once, or in small pages of which the first is empty."""
        async with serving(MovingClock()) as fake:
            account = GoogleCalendarAccount(fake)
            if request.param:
                fake.accounts["mara@lindqvist.example"].page_size = 1
                fake.accounts["mara@lindqvist.example"].begins_with_an_empty_page = True
            yield account
            await account.server.close()


class TestMicrosoft(WritingContract):
    """Microsoft 365."""

    @pytest.fixture(params=["whole", "in pages", "with replays"])
    async def account(self, request: pytest.FixtureRequest) -> AsyncIterator[Account]:
        """Give an account whose rounds come at once, in small pages of which the first is empty, or repeat events."""
        async with serving_microsoft(MovingClock()) as fake:
            account = MicrosoftCalendarAccount(fake, MicrosoftCalendars)
            deltas = fake.deltas["mara@lindqvist.example"]
            if request.param == "in pages":
                deltas.page_size, deltas.begins_with_an_empty_page = 1, True
            deltas.replays = request.param == "with replays"
            yield account
            await account.server.close()
            assert fake.refused == []


class TestFeed(ReadingContract):
    """A feed, which can only be read."""

    @pytest.fixture
    async def account(self) -> AsyncIterator[Account]:
        """Give a feed."""
        async with publishing(calendar(event("before", start="20200101T000000Z"))) as feed:
            account = FeedAccount(feed)
            yield account
            await account.server.close()
