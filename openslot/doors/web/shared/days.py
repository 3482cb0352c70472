"""Rows of lists by their days."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TypeVar
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import AgendaEntry, Status
from openslot.domains.bookings.words import ListOfNames
from openslot.domains.event_types.models import Location, LocationKind
from openslot.doors.web.shared import words
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.times import get_zone
from openslot.platform.i18n import PluralText, Text, recall

E = TypeVar("E")
LOCATION_NAMES = {
    LocationKind.VIDEO_LINK: Text("video"),
    LocationKind.PHONE: Text("phone"),
    LocationKind.IN_PERSON: Text("in person"),
}
CANCELLERS = {"host": Text("cancelled by you"), "organization": Text("cancelled by your organization")}


class BookingRow(Struct, frozen=True, kw_only=True):
    id: UUID
    hours: Text
    name: str
    details: tuple[str, ...]
    badge: Text | None
    tone: str
    no_show: bool = False
    path: str | None = None
    """Where the row leads to; None if it is the booking."""
    email: str | None = None
    """The address of the person whose face the row shows; None if all rows are about the same person."""


class DayOfRows(Struct, frozen=True):
    heading: Text | Weekday
    rows: tuple[BookingRow, ...]


def by_day(entries: Iterable[AgendaEntry], user: User, *, failed: Mapping[UUID, int], now: datetime) -> list[DayOfRows]:
    """Group bookings, in their order, by their day in the host's zone."""
    return [
        DayOfRows(heading, tuple(_row(entry, user, failed=failed.get(entry.id, 0), now=now) for entry in found))
        for heading, found in group_by_day(entries, user, lambda entry: entry.starts_at, now=now)
    ]


def group_by_day(
    entries: Iterable[E], user: User, starts_at: Callable[[E], datetime], *, now: datetime
) -> Iterator[tuple[Text | Weekday, list[E]]]:
    """Group what is in order of its start by its day in the host's zone, each under its heading."""
    today = words.day(now, user.zone)
    for on, found in groupby(entries, key=lambda entry: words.day(starts_at(entry), user.zone)):
        yield words.day_heading(on, today=today), list(found)


def name_location(location: Location) -> str | None:
    """Name where a meeting takes place in a word or two."""
    if location.kind in {LocationKind.IN_PERSON, LocationKind.TEXT} and location.value:
        return location.value
    return LOCATION_NAMES.get(location.kind)


def tell_team(team_name: str | None, others: Sequence[str]) -> str | None:
    """Name the team of a booking, and who else hosts it."""
    if team_name is None or not others:
        return team_name
    return Text("%(team)s, with %(names)s", team=team_name, names=ListOfNames(tuple(others)))


def status_badge(status: Status, *, is_over: bool, no_show: bool = False, failed: int = 0) -> tuple[Text | None, str]:
    """Name a booking's status and its tone; a failure matters more than a confirmation."""
    if failed:
        return PluralText("%(count)s step failed", "%(count)s steps failed", count=failed), "warn"
    if status is Status.CANCELLED:
        return Text("Cancelled"), "off"
    if no_show:
        return Text("No-show"), "warn"
    return (None, "") if is_over else (Text("Confirmed"), "good")


def _row(entry: AgendaEntry, user: User, *, failed: int, now: datetime) -> BookingRow:
    badge, tone = status_badge(entry.status, is_over=entry.ends_at <= now, no_show=entry.no_show, failed=failed)
    return BookingRow(
        id=entry.id,
        hours=words.hours(entry.starts_at, entry.ends_at, user.zone),
        name=entry.invitee_name,
        email=entry.invitee_email,
        details=tuple(each for each in _details(entry, user, failed=failed, now=now) if each),
        badge=badge,
        tone=tone,
        no_show=entry.no_show,
    )


def _details(entry: AgendaEntry, user: User, *, failed: int, now: datetime) -> Iterable[str | None]:
    if entry.no_show and failed:
        # The badge tells of the failure.
        yield Text("No-show")
    yield entry.event_type_name
    yield tell_team(entry.team_name, entry.other_hosts)
    yield name_location(entry.location)
    if entry.guests:
        yield PluralText("%(count)s guest", "%(count)s guests", count=len(entry.guests))
    if entry.status is Status.CANCELLED:
        name = entry.invitee_name
        yield CANCELLERS.get(entry.cancelled_by or "") or (
            Text("cancelled by %(name)s", name=name) if entry.cancelled_by == "invitee" else None
        )
        yield recall(entry.cancel_reason) if entry.cancel_reason else None
    elif entry.previous_starts_at:
        yield _format_moved(entry.previous_starts_at, entry.starts_at, user, now=now)


def _format_moved(before: datetime, after: datetime, user: User, *, now: datetime) -> Text:
    """Say when a meeting was before: the time if it was on the same day, and the day otherwise."""
    day = words.day(before, user.zone)
    if day == words.day(after, user.zone):
        return Text("rescheduled from %(time)s", time=before.astimezone(get_zone(user.zone)).time())
    return Text("rescheduled from %(day)s", day=Weekday(day, words.day(now, user.zone)))
