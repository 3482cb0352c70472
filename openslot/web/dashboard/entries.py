"""Bookings as rows, by day."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings.models import AgendaEntry, Status
from openslot.bookings.reasons import show_reason
from openslot.core.zones import get_zone
from openslot.event_types.models import Location, LocationKind
from openslot.i18n import PluralText, Text
from openslot.web import words
from openslot.web.dashboard import phrases
from openslot.web.dates import Weekday

PLACES = {
    LocationKind.VIDEO_LINK: Text("video"),
    LocationKind.PHONE: Text("phone"),
    LocationKind.IN_PERSON: Text("in person"),
}
CANCELLERS = {"host": Text("cancelled by you"), "organization": Text("cancelled by your organization")}


class BookingRow(Struct, frozen=True, kw_only=True):
    """One booking in a list."""

    id: UUID
    hours: Text
    name: str
    details: tuple[str, ...]
    badge: Text | None
    tone: str


class DayOfRows(Struct, frozen=True):
    """The bookings of one day."""

    heading: Text | Weekday
    rows: tuple[BookingRow, ...]


def by_day(entries: Iterable[AgendaEntry], user: User, *, failed: Mapping[UUID, int], now: datetime) -> list[DayOfRows]:
    """Group bookings, in their order, by their day in the host's zone."""
    today = words.day(now, user.zone)
    return [
        DayOfRows(
            phrases.day_heading(on, today=today),
            tuple(_row(entry, user, failed=failed.get(entry.id, 0), now=now) for entry in entries),
        )
        for on, entries in groupby(entries, key=lambda entry: words.day(entry.starts_at, user.zone))
    ]


def place(location: Location) -> str | None:
    """Name where a meeting takes place in a word or two."""
    if location.kind in {LocationKind.IN_PERSON, LocationKind.TEXT} and location.value:
        return location.value
    return PLACES.get(location.kind)


def status_badge(status: Status, *, is_over: bool, failed: int = 0) -> tuple[Text | None, str]:
    """Name a booking's status and its tone; a failure matters more than a confirmation."""
    if failed:
        return PluralText("%(count)s step failed", "%(count)s steps failed", count=failed), "warn"
    if status is Status.CANCELLED:
        return Text("Cancelled"), ""
    return (None, "") if is_over else (Text("Confirmed"), "good")


def _row(entry: AgendaEntry, user: User, *, failed: int, now: datetime) -> BookingRow:
    badge, tone = status_badge(entry.status, is_over=entry.ends_at <= now, failed=failed)
    return BookingRow(
        id=entry.id,
        hours=phrases.hours(entry.starts_at, entry.ends_at, user.zone),
        name=entry.invitee_name,
        details=tuple(each for each in _details(entry, user, now=now) if each),
        badge=badge,
        tone=tone,
    )


def _details(entry: AgendaEntry, user: User, *, now: datetime) -> Iterable[str | None]:
    yield entry.event_type_name
    yield place(entry.location)
    if entry.guests:
        yield PluralText("%(count)s guest", "%(count)s guests", count=len(entry.guests))
    if entry.status is Status.CANCELLED:
        name = entry.invitee_name
        yield CANCELLERS.get(entry.cancelled_by or "") or (
            Text("cancelled by %(name)s", name=name) if entry.cancelled_by == "invitee" else None
        )
        yield show_reason(entry.cancel_reason) if entry.cancel_reason else None
    elif entry.previous_starts_at:
        yield _say_moved(entry.previous_starts_at, entry.starts_at, user, now=now)


def _say_moved(before: datetime, after: datetime, user: User, *, now: datetime) -> Text:
    """Say when a meeting was before: the time if it was on the same day, and the day otherwise."""
    day = words.day(before, user.zone)
    if day == words.day(after, user.zone):
        return Text("rescheduled from %(time)s", time=before.astimezone(get_zone(user.zone)).time())
    return Text("rescheduled from %(day)s", day=Weekday(day, words.day(now, user.zone)))
