"""Events as Graph takes and shows them: times of a wall clock in a named zone, repetitions, and online meetings."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from dateutil.rrule import DAILY, WEEKLY, rrule
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON
from msgspec import Struct

from tests.support.fake_microsoft.errors import Preferences, bad_request

PROPERTY = re.compile(r"(String|Integer|Boolean) \{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\} Name [\w.-]+")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,7})?)?(Z|[+-]\d\d:\d\d)?")
FARTHEST = timedelta(days=3660)
BLOB = "<div>Microsoft Teams meeting {join_url}</div>"
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class GraphTime(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    date_time: str
    time_zone: str = "UTC"


class Body(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    content: str
    content_type: Literal["text", "html", "HTML", "Text"] = "text"


class EmailAddress(Struct, frozen=True, forbid_unknown_fields=True):
    address: str
    name: str = ""


class Attendee(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    email_address: EmailAddress
    type: Literal["required", "optional", "resource"] = "required"


class Location(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    display_name: str
    location_uri: str = ""


class Property(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    value: str


class Pattern(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    type: Literal["daily", "weekly"]
    interval: int = 1
    days_of_week: tuple[str, ...] = ()
    first_day_of_week: str = "sunday"


class Range(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    type: Literal["numbered", "noEnd", "endDate"]
    start_date: str
    number_of_occurrences: int | None = None
    end_date: str = ""
    recurrence_time_zone: str = "UTC"


class Recurrence(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Pattern
    range: Range


class EventChanges(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True, omit_defaults=True):
    """What an update may have."""

    subject: str | None = None
    body: Body | None = None
    start: GraphTime | None = None
    end: GraphTime | None = None
    is_all_day: bool | None = None
    location: Location | None = None
    attendees: tuple[Attendee, ...] | None = None
    show_as: Literal["free", "tentative", "busy", "oof", "workingElsewhere", "unknown"] | None = None
    sensitivity: Literal["normal", "personal", "private", "confidential"] | None = None
    importance: Literal["low", "normal", "high"] | None = None
    categories: tuple[str, ...] | None = None
    is_reminder_on: bool | None = None
    reminder_minutes_before_start: int | None = None
    response_requested: bool | None = None
    allow_new_time_proposals: bool | None = None
    hide_attendees: bool | None = None
    is_online_meeting: bool | None = None
    online_meeting_provider: Literal["teamsForBusiness", "skypeForBusiness", "skypeForConsumer"] | None = None
    recurrence: Recurrence | None = None
    single_value_extended_properties: tuple[Property, ...] | None = None


class NewEvent(EventChanges, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True, omit_defaults=True):
    """What a new event may have; the id of the transaction can't be changed later."""

    transaction_id: str | None = None


class Item(Struct, kw_only=True):
    """One event as it is kept: a single one, or a series."""

    immutable_id: str
    plain_id: str
    """Another one after each move between calendars."""
    version: int
    fields: dict[str, Any]
    """In the names of Graph, without times."""
    starts_at: datetime
    ends_at: datetime
    """Of a whole day: midnights of a wall clock, written as UTC."""
    recurrence: Recurrence | None = None
    exceptions: dict[str, dict[str, Any] | None] = {}
    """By the date of the repetition; None: this one was deleted."""
    properties: dict[str, str] = {}
    transaction: tuple[str, bytes] | None = None
    """The id and the request that made it."""
    ready_at: datetime | None = None
    """When its online meeting will have a link."""

    @property
    def etag(self) -> str:
        return f'W/"{self.change_key}"'

    @property
    def change_key(self) -> str:
        return f"DwAAABYAAAC9{self.version:08}=="

    @property
    def is_all_day(self) -> bool:
        return bool(self.fields.get("isAllDay"))


class Instance(Struct, frozen=True, kw_only=True):
    """A single event, or one repetition of a series."""

    item: Item
    kind: str
    suffix: str = ""
    starts_at: datetime
    ends_at: datetime
    fields: dict[str, Any]

    def id_for(self, preferences: Preferences) -> str:
        return _write_id(self.item, preferences, self.suffix)


def find_zone(name: str) -> ZoneInfo:
    """Find a zone by the name that Windows or the rest of the world gives it."""
    try:
        return ZoneInfo(WINDOWS_TO_OLSON.get(name, name))
    except (ZoneInfoNotFoundError, ValueError):
        raise bad_request(f"The time zone {name} is not supported.") from None


def read_moment(text: str) -> datetime:
    """Read a time with up to seven digits of a second, and maybe an offset."""
    if not MOMENT.fullmatch(text):
        raise bad_request(f"{text} is not a date and time")
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d", r"\1", text))
    except ValueError:
        raise bad_request(f"{text} is not a date and time") from None


def read_time(given: GraphTime, *, is_all_day: bool) -> datetime:
    """Read the time of an event; an offset counts, and else the zone."""
    read = read_moment(given.date_time)
    zone = find_zone(given.time_zone)
    if not is_all_day:
        return (read if read.tzinfo else read.replace(tzinfo=zone)).astimezone(UTC)
    if read.time() != datetime.min.time():
        raise bad_request("The Event.Start and Event.End of an all-day event must be midnight.")
    return read.replace(tzinfo=UTC)


def read_properties(given: tuple[Property, ...] | None) -> dict[str, str]:
    for each in given or ():
        if not PROPERTY.fullmatch(each.id):
            raise bad_request(f"{each.id} is not the id of an extended property")
    return {each.id: each.value for each in given or ()}


def expand(item: Item) -> Iterator[Instance]:
    """List what takes place: the event, or the repetitions of a series with their exceptions."""
    if item.recurrence is None:
        yield single(item)
        return
    for begins in _list_starts(item):
        day = f"{begins:%Y%m%d}"
        changed = item.exceptions.get(day, {})
        if changed is None:
            continue
        fields = {**item.fields, **changed}
        starts_at = fields.pop("starts_at", begins)
        ends_at = fields.pop("ends_at", begins + (item.ends_at - item.starts_at))
        kind = "exception" if changed else "occurrence"
        yield Instance(item=item, kind=kind, suffix=day, starts_at=starts_at, ends_at=ends_at, fields=fields)


def single(item: Item) -> Instance:
    kind = "singleInstance" if item.recurrence is None else "seriesMaster"
    return Instance(item=item, kind=kind, starts_at=item.starts_at, ends_at=item.ends_at, fields=item.fields)


def show(instance: Instance, preferences: Preferences, zone: str) -> dict[str, Any]:
    """Show an event whole."""
    item, fields = instance.item, dict(instance.fields)
    body = fields.get("body", {"contentType": "html", "content": ""})
    if preferences.has_text_body:
        body = {"contentType": "text", "content": re.sub("<[^>]*>", "", body["content"])}
    is_repeated = instance.kind in {"occurrence", "exception"}
    shown: dict[str, Any] = {
        **show_briefly(instance, preferences, zone),
        "changeKey": item.change_key,
        "iCalUId": f"040000008200E000{item.immutable_id[-12:-1]}{instance.suffix}",
        "seriesMasterId": _write_id(item, preferences, "") if is_repeated else None,
        "recurrence": msgspec.to_builtins(item.recurrence) if instance.kind == "seriesMaster" else None,
        "bodyPreview": re.sub("<[^>]*>", "", body["content"])[:255],
        **fields,
        "body": body,
    }
    if item.transaction is not None:
        shown["transactionId"] = item.transaction[0]
    return shown


def show_briefly(instance: Instance, preferences: Preferences, zone: str) -> dict[str, Any]:
    """Show what a delta has of a repetition: not even whether it is busy."""
    is_repeated = instance.kind in {"occurrence", "exception"}
    master = {"seriesMasterId": _write_id(instance.item, preferences, "")} if is_repeated else {}
    start, end = (
        _write_time(at, zone, is_all_day=bool(instance.fields.get("isAllDay")))
        for at in (instance.starts_at, instance.ends_at)
    )
    kept = {"@odata.type": "#microsoft.graph.event", "@odata.etag": instance.item.etag}
    return {**kept, "id": instance.id_for(preferences), **master, "type": instance.kind, "start": start, "end": end}


def _write_time(moment: datetime, zone: str, *, is_all_day: bool) -> dict[str, str]:
    at = moment if is_all_day else moment.astimezone(find_zone(zone))
    return {"dateTime": f"{at:%Y-%m-%dT%H:%M:%S}.0000000", "timeZone": zone}


def _write_id(item: Item, preferences: Preferences, suffix: str) -> str:
    whole = item.immutable_id if preferences.is_immutable else item.plain_id
    return f"{whole.removesuffix('=')}-OC{suffix}=" if suffix else whole


def _list_starts(item: Item) -> Iterator[datetime]:
    """List the starts of a series by the wall clock of its zone."""
    if item.recurrence is None:
        return
    pattern, span = item.recurrence.pattern, item.recurrence.range
    zone = UTC if item.is_all_day else find_zone(span.recurrence_time_zone)
    first = item.starts_at.astimezone(zone).replace(tzinfo=None)
    until = datetime.fromisoformat(span.end_date) + timedelta(days=1) if span.type == "endDate" else first + FARTHEST
    days = [DAYS.index(each) for each in pattern.days_of_week] or None
    for found in rrule(
        DAILY if pattern.type == "daily" else WEEKLY,
        dtstart=first,
        interval=pattern.interval,
        byweekday=days,
        count=span.number_of_occurrences if span.type == "numbered" else None,
        until=None if span.type == "numbered" else until,
    ):
        yield found.replace(tzinfo=zone).astimezone(UTC)
