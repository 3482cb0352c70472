"""A calendar server in memory that implements the port, for tests of the code that uses it."""

from collections.abc import Mapping

from msgspec import Struct

from openslot.integrations.calendars.errors import CalendarChanged, CalendarFault, CalendarGone
from openslot.integrations.calendars.ports import Changes, RemoteCalendar, RemoteObject


class FakeCalendar(Struct):
    """The events of one calendar by place, and a log of the places that have changed."""

    objects: dict[str, RemoteObject] = {}
    log: list[str] = []


class FakeServer:
    """One account; while `fault` is set, every request raises it."""

    def __init__(self) -> None:
        self.calendars: dict[str, FakeCalendar] = {}
        self.names: dict[str, str] = {}
        self.fault: CalendarFault | None = None
        self._number = 0

    def add_calendar(self, name: str) -> str:
        """Create a calendar and return its URL."""
        url = f"fake://calendars/{name.lower()}/"
        self.calendars[url] = FakeCalendar(objects={}, log=[])
        self.names[url] = name
        return url

    async def list_calendars(self) -> list[RemoteCalendar]:
        """List the calendars that were added."""
        self._fail()
        return [RemoteCalendar(url=url, name=self.names[url], can_write=True) for url in self.calendars]

    async def list_addresses(self) -> frozenset[str]:
        """Know no address of the owner."""
        self._fail()
        return frozenset()

    async def list_changes(self, calendar: str, *, state: str | None, known: Mapping[str, str]) -> Changes:
        """List the places that the log names since the state."""
        self._fail()
        found = self._get(calendar)
        places = dict.fromkeys(found.log[int(state) :] if state else (*known, *found.objects))
        changed = [found.objects[each] for each in places if each in found.objects]
        return Changes(
            changed=tuple(each for each in changed if known.get(each.href) != each.etag),
            removed=tuple(each for each in places if each not in found.objects and each in known),
            state=str(len(found.log)),
        )

    def place_for(self, calendar: str, name: str) -> str:
        """Name the place of an event."""
        return f"{calendar}{name}.ics"

    async def find(self, href: str) -> RemoteObject | None:
        """Read one event."""
        self._fail()
        return self._holder(href).objects.get(href)

    async def put(self, href: str, text: str, *, replaces: str | None) -> str:
        """Write an event where there is none, or in place of the one with this ETag."""
        self._fail()
        holder = self._holder(href)
        present = holder.objects.get(href)
        if (present.etag if present else None) != replaces:
            raise CalendarChanged
        self._number += 1
        holder.objects[href] = RemoteObject(href=href, etag=f'"{self._number}"', text=text)
        holder.log.append(href)
        return f'"{self._number}"'

    async def delete(self, href: str, *, replaces: str) -> None:
        """Remove the event with this ETag."""
        self._fail()
        holder = self._holder(href)
        present = holder.objects.get(href)
        if present is None:
            return
        if present.etag != replaces:
            raise CalendarChanged
        del holder.objects[href]
        holder.log.append(href)

    async def close(self) -> None:
        """Stay as it is."""

    def _holder(self, href: str) -> FakeCalendar:
        return self._get(f"{href.rpartition('/')[0]}/")

    def _get(self, calendar: str) -> FakeCalendar:
        if calendar not in self.calendars:
            raise CalendarGone
        return self.calendars[calendar]

    def _fail(self) -> None:
        if self.fault is not None:
            raise self.fault
