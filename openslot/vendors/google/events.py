"""One event in the words of Google's Calendar API: what is read of it, and what is written of a booking."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import msgspec
from msgspec import Struct

from openslot.domains.calendars.ports import RemoteEvent, Scope
from openslot.domains.mail.calendar_entry import CalendarEntry
from openslot.platform.core.text import defuse, fold_ascii, one_line
from openslot.vendors.json_client import to_plain

LONGEST_UID = 500
OWN = "openslot"
NEVER_BUSY = frozenset({"workingLocation", "birthday"})
# Titles, notes and guests are not asked for.
EVENT = (
    "id,etag,status,iCalUID,start,end,transparency,eventType,recurringEventId,recurrence,"
    "attendees(self,responseStatus),extendedProperties/private"
)
# Of an event of ours to which people are invited.
SHARED = "etag,status,summary,location,start,end,attendees"


class GoogleTime(Struct, frozen=True, rename="camel"):
    date: str | None = None
    date_time: str | None = None


class GoogleAttendee(Struct, frozen=True, rename="camel"):
    is_self: bool = msgspec.field(default=False, name="self")
    response_status: str = ""


class GoogleProperties(Struct, frozen=True):
    private: dict[str, str] = {}


class GoogleEvent(Struct, frozen=True, rename="camel"):
    id: str
    etag: str = ""
    status: str = "confirmed"
    uid: str = msgspec.field(default="", name="iCalUID")
    start: GoogleTime = GoogleTime()
    end: GoogleTime = GoogleTime()
    transparency: str = "opaque"
    event_type: str = "default"
    recurring_event_id: str | None = None
    recurrence: tuple[str, ...] = ()
    attendees: tuple[GoogleAttendee, ...] = ()
    extended_properties: GoogleProperties = GoogleProperties()

    @property
    def is_cancelled(self) -> bool:
        return self.status == "cancelled"

    @property
    def own_uid(self) -> str:
        """The UID that we gave it, or its own."""
        return to_plain(self.extended_properties.private.get(OWN) or self.uid or self.id)[:LONGEST_UID]

    @property
    def version(self) -> str:
        return to_plain(self.etag)


class SharedEvent(Struct, frozen=True):
    """An event of ours as those see it who take part."""

    etag: str = ""
    status: str = "confirmed"
    summary: str = ""
    location: str = ""
    start: GoogleTime = GoogleTime()
    end: GoogleTime = GoogleTime()
    attendees: tuple[dict[str, Any], ...] = ()

    @property
    def version(self) -> str:
        return to_plain(self.etag)

    def shows(self, written: Mapping[str, Any]) -> bool:
        """Return whether nothing that people see is different in what is written."""
        return (
            self.status == written["status"]
            and (self.summary, self.location.strip()) == (written["summary"], written["location"].strip())
            and all(_is_same(getattr(self, name), written[name]["dateTime"]) for name in ("start", "end"))
            and "attendees" not in written
        )

    def add_missing(self, wanted: Sequence[Mapping[str, str]]) -> list[Mapping[str, Any]] | None:
        """List whom an event has, those that its host has added included, and who is missing; None if nobody is."""
        present = {fold_ascii(str(each.get("email", ""))) for each in self.attendees}
        missing = [each for each in wanted if fold_ascii(each["email"]) not in present]
        return [*self.attendees, *missing] if missing else None


def write_event(event: CalendarEntry) -> dict[str, Any]:
    """Write a booking; whom it invites is written by `list_attendees`."""
    body: dict[str, Any] = {
        "summary": event.summary,
        "description": event.description[:8000],
        "location": event.location,
        "start": {"dateTime": write_time(event.starts_at), "timeZone": "UTC"},
        "end": {"dateTime": write_time(event.ends_at), "timeZone": "UTC"},
        "status": "confirmed",
        "transparency": "opaque",
        "extendedProperties": {"private": {OWN: event.uid}},
    }
    if event.url:
        body["source"] = {"title": "Openslot", "url": event.url}
    return body


def read_event(found: GoogleEvent, scope: Scope) -> RemoteEvent:
    times = _find_times(found, scope)
    is_live = not any(each.is_self and each.response_status == "declined" for each in found.attendees)
    is_busy = is_live and found.transparency != "transparent" and found.event_type not in NEVER_BUSY
    repeats = found.recurring_event_id is not None or bool(found.recurrence)
    return RemoteEvent(
        ref=found.id,
        version=found.version,
        uid=found.own_uid,
        spans=scope.list_spans(times) if is_busy else (),
        starts_at=times[0] if times and not repeats else None,
        ends_at=times[1] if times and not repeats else None,
        is_live=is_live,
        is_unread=times is None,
    )


def _find_times(found: GoogleEvent, scope: Scope) -> tuple[datetime, datetime] | None:
    try:
        start, end = (_read_time(each, scope) for each in (found.start, found.end))
    except (ValueError, OverflowError):
        return None
    return (start, end) if start is not None and end is not None else None


def is_over(found: GoogleEvent, scope: Scope) -> bool:
    times = _find_times(found, scope)
    return times is not None and times[1] <= scope.first


def _read_time(found: GoogleTime, scope: Scope) -> datetime | None:
    if found.date_time is not None:
        read = datetime.fromisoformat(found.date_time)
        return (read if read.tzinfo else read.replace(tzinfo=scope.zone)).astimezone(UTC)
    if found.date is not None:
        # A whole day is one of the host's zone.
        return datetime.combine(date.fromisoformat(found.date), time(), scope.zone).astimezone(UTC)
    return None


def list_attendees(event: CalendarEntry) -> list[dict[str, str]]:
    """List those whom an event invites, each once; names are mailed in the host's name, and must not become links."""
    if not event.invites:
        return []
    by_address = {fold_ascii(each.address.email): each.address for each in reversed(event.attendees)}
    named = ((each.email, defuse(one_line(each.name))) for each in reversed(by_address.values()))
    return [{"email": email, "displayName": name} if name else {"email": email} for email, name in named]


def _is_same(found: GoogleTime, written: str) -> bool:
    try:
        return datetime.fromisoformat(found.date_time or "") == datetime.fromisoformat(written)
    except (ValueError, TypeError):
        return False


def write_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
