"""Events as Graph shows them: times of a wall clock, repetitions that tell little, and whose they are.

A delta does not show our own property of an event. The id of the transaction that has made it says that it is ours.
"""

import re
from datetime import UTC, datetime, time, tzinfo

import msgspec
from msgspec import Struct

from openslot.domains.calendars.ports import RemoteEvent, Scope
from openslot.domains.calendars.zones import find_named
from openslot.vendors.json_client import to_plain

LONGEST_UID = 500
PROPERTY = "String {3f6f3e2c-6a7d-4c58-9c43-b1a1b0a3f7d2} Name openslot"
TRANSACTION = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}@[^\s@/]+)/[0-9a-f]{8}")
# Begins the version of an event of ours, so that a reading knows which of those that are gone were ours.
MARK = "openslot "
NEVER_BUSY = frozenset({"free", "workingElsewhere"})


class GraphTime(Struct, frozen=True, rename="camel"):
    date_time: str
    time_zone: str | None = None


class GraphResponse(Struct, frozen=True):
    response: str | None = None


class GraphLocation(Struct, frozen=True, rename="camel"):
    display_name: str | None = None


class GraphProperty(Struct, frozen=True):
    id: str
    value: str


class GraphRemoval(Struct, frozen=True):
    reason: str = ""


class GraphEvent(Struct, frozen=True, rename="camel"):
    """An event; of a repetition, a delta tells the time alone."""

    id: str
    etag: str = msgspec.field(default="", name="@odata.etag")
    removed: GraphRemoval | None = msgspec.field(default=None, name="@removed")
    type: str | None = None
    start: GraphTime | None = None
    end: GraphTime | None = None
    is_all_day: bool | None = None
    is_cancelled: bool | None = None
    show_as: str | None = None
    response_status: GraphResponse | None = None
    series_master_id: str | None = None
    uid: str | None = msgspec.field(default=None, name="iCalUId")
    transaction_id: str | None = None
    properties: tuple[GraphProperty, ...] = msgspec.field(default=(), name="singleValueExtendedProperties")

    @property
    def own_uid(self) -> str | None:
        """The UID that we gave it; None if it is not ours."""
        ours = next((each.value for each in self.properties if each.id.lower() == PROPERTY.lower()), None)
        made_by = TRANSACTION.fullmatch(self.transaction_id or "")
        return ours or (made_by[1] if made_by else None)

    @property
    def version(self) -> str:
        return f"{MARK if self.own_uid else ''}{to_plain(self.etag)}"

    @property
    def is_live(self) -> bool:
        declined = self.response_status is not None and self.response_status.response == "declined"
        return not self.is_cancelled and not declined

    @property
    def is_brief(self) -> bool:
        return self.type == "occurrence" and self.show_as is None and self.series_master_id is not None


class WrittenGraphEvent(GraphEvent, frozen=True, rename="camel"):
    """What an event looks like right after it was made."""

    subject: str | None = None
    location: GraphLocation | None = None


class GraphEventPage(Struct, frozen=True):
    value: tuple[GraphEvent, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")
    delta_link: str | None = msgspec.field(default=None, name="@odata.deltaLink")


def read_event(found: GraphEvent, scope: Scope) -> RemoteEvent:
    times = find_times(found, scope)
    repeats = found.type not in {None, "singleInstance"}
    is_busy = found.is_live and found.show_as not in NEVER_BUSY and found.type != "seriesMaster"
    return RemoteEvent(
        ref=found.id,
        version=found.version,
        uid=uid_of(found),
        spans=scope.list_spans(times) if is_busy else (),
        starts_at=times[0] if times and not repeats else None,
        ends_at=times[1] if times and not repeats else None,
        is_live=found.is_live,
        is_unread=times is None,
    )


def uid_of(found: GraphEvent) -> str:
    return to_plain(found.own_uid or found.uid or found.id)[:LONGEST_UID]


def find_times(found: GraphEvent, scope: Scope) -> tuple[datetime, datetime] | None:
    if found.start is None or found.end is None:
        return None
    start, end = (read_time(each, scope.zone, is_day=bool(found.is_all_day)) for each in (found.start, found.end))
    return (start, end) if start is not None and end is not None else None


def is_within(found: GraphEvent, scope: Scope, first: datetime, last: datetime) -> bool:
    """Return whether a delta of this window shows the event; of a series it shows the repetitions."""
    times = find_times(found, scope)
    return found.type != "seriesMaster" and times is not None and times[1] > first and times[0] < last


def is_over(found: GraphEvent, scope: Scope) -> bool:
    times = find_times(found, scope)
    return times is not None and times[1] <= scope.first


def read_time(found: GraphTime, zone: tzinfo, *, is_day: bool = False) -> datetime | None:
    """Read the time of a wall clock, with seven digits after the second; a whole day is one of the host's zone."""
    named = find_named(found.time_zone, None) if found.time_zone else zone
    try:
        read = datetime.fromisoformat(found.date_time)
        if is_day:
            return datetime.combine(read.date(), time(), zone).astimezone(UTC)
        if read.tzinfo is None and named is None:
            return None
        return (read if read.tzinfo else read.replace(tzinfo=named)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
