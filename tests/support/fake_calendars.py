"""A calendar server in memory that implements the port, for tests of the code that uses it."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct

from openslot.domains.calendars.errors import CalendarChanged, CalendarFault, CalendarGone
from openslot.domains.calendars.ports import Changes, KeptSeries, RemoteCalendar, RemoteEvent, Scope, StoredEvent
from openslot.domains.mail.calendar_entry import CalendarEntry, write_calendar
from openslot.vendors.caldav.objects import ICalObject, expand_series, find_uid, read_objects


class FakeCalendar(Struct):
    """The events of one calendar by place, and a log of the places that have changed."""

    objects: dict[str, ICalObject] = {}
    log: list[str] = []


class FakeServer:
    """One account; while `fault` is set, every request raises it."""

    can_invite: ClassVar[bool] = False

    def __init__(self) -> None:
        self.calendars: dict[str, FakeCalendar] = {}
        self.names: dict[str, str] = {}
        self.fault: CalendarFault | None = None
        self._number = 0

    def add_calendar(self, name: str, ref: str | None = None) -> str:
        """Create a calendar and return where it is."""
        ref = ref or f"fake://calendars/{name.lower()}/"
        self.calendars[ref] = FakeCalendar(objects={}, log=[])
        self.names[ref] = name
        return ref

    def edit(self, calendar: str, name: str, text: str | None) -> None:
        """Write an event as the host's own program does, or delete it."""
        self._write(self._get(calendar), f"{calendar}{name}.ics", text)

    async def list_calendars(self) -> list[RemoteCalendar]:
        """List the calendars that were added."""
        self._fail()
        return [RemoteCalendar(ref=ref, name=self.names[ref], can_write=True) for ref in self.calendars]

    async def list_addresses(self) -> frozenset[str]:
        """Know no address of the owner."""
        self._fail()
        return frozenset()

    async def list_changes(
        self, calendar: str, *, cursor: str | None, known: Mapping[str, str], scope: Scope
    ) -> Changes:
        """List the places that the log names since the cursor."""
        self._fail()
        found = self._get(calendar)
        places = dict.fromkeys(found.log[int(cursor) :] if cursor else (*known, *found.objects))
        present = [found.objects[each] for each in places if each in found.objects]
        changed = [each for each in present if known.get(each.href) != each.etag]
        return Changes(
            changed=tuple(await read_objects(changed, scope)),
            removed=tuple(each for each in places if each not in found.objects and each in known),
            cursor=str(len(found.log)),
        )

    async def expand(self, kept: Sequence[KeptSeries], scope: Scope) -> list[RemoteEvent]:
        """Read what was kept."""
        self._fail()
        return await expand_series(kept, scope)

    async def find_own(self, calendar: str, uid: str, *, ref: str | None) -> StoredEvent | None:
        """Look at the place."""
        self._fail()
        found = self._get(calendar).objects.get(ref or _place_for(calendar, uid))
        return StoredEvent(ref=found.href, version=found.etag, uid=find_uid(found.text)) if found else None

    async def put(self, calendar: str, event: CalendarEntry, *, ref: str | None, replaces: str | None) -> StoredEvent:
        """Write an event where there is none, or in place of the one with this version."""
        self._fail()
        holder, place = self._get(calendar), ref or _place_for(calendar, event.uid)
        present = holder.objects.get(place)
        if (present.etag if present else None) != replaces:
            raise CalendarChanged
        self._write(holder, place, write_calendar(event).decode())
        return StoredEvent(ref=place, version=holder.objects[place].etag, uid=event.uid)

    async def delete(self, calendar: str, ref: str, *, replaces: str, tells: bool = False) -> None:
        """Remove the event with this version."""
        self._fail()
        holder = self._get(calendar)
        present = holder.objects.get(ref)
        if present is None:
            return
        if present.etag != replaces:
            raise CalendarChanged
        self._write(holder, ref, None)

    async def close(self) -> None:
        """Stay as it is."""

    def _write(self, holder: FakeCalendar, place: str, text: str | None) -> None:
        self._number += 1
        if text is None:
            holder.objects.pop(place, None)
        else:
            holder.objects[place] = ICalObject(href=place, etag=f'"{self._number}"', text=text)
        holder.log.append(place)

    def _get(self, calendar: str) -> FakeCalendar:
        if calendar not in self.calendars:
            raise CalendarGone
        return self.calendars[calendar]

    def _fail(self) -> None:
        if self.fault is not None:
            raise self.fault


def _place_for(calendar: str, uid: str) -> str:
    return f"{calendar}{uid.partition('@')[0]}.ics"
