"""Pages: times out of office, which close every schedule."""

from datetime import date, datetime, time, timedelta
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.schedules.errors import OutOfOfficeNotFound
from openslot.domains.schedules.models import Absence, OutOfOffice
from openslot.domains.schedules.operations import add_out_of_office, list_absences, remove_out_of_office
from openslot.doors.web.dashboard.availability.range_fields import NOT_A_TIME, find_clock
from openslot.doors.web.dashboard.availability.schedules import tell_bookings
from openslot.doors.web.shared import words
from openslot.doors.web.shared.list_queries import NOT_A_DATE, read_day
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE
from openslot.platform.core.times import DAY, at_second, day_number, get_offsets, get_zone, instant_of
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, get, post

NOTICES = {
    "added": Text("The time off was added. New bookings are blocked during it."),
    "removed": Text("The time off was removed."),
}
LONGEST = timedelta(days=3660)
TOO_LONG = Text("must be at most ten years after the beginning")


class AwayForm(Struct, frozen=True, kw_only=True):
    first: str = ""
    first_time: str = ""
    last: str = ""
    last_time: str = ""
    reason: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""


class AbsenceRow(Struct, frozen=True, kw_only=True):
    id: UUID
    when: Text | Weekday
    reason: str
    bookings: Text | None
    bookings_path: str


@get("/availability/away")
async def show_away(request: Request, work: Work, user: User, form: Form[AwayForm] = Form()) -> Response:
    """Show the times out of office that are not over."""
    rows = [_row(each, user, now=work.now) for each in await list_absences(work, user)]
    added = request.query.get("id", "")
    return page(
        "dashboard/availability/away.html",
        user,
        here="/availability",
        tab="/availability/away",
        form=form,
        rows=rows,
        notices=NOTICES,
        warning=next((row for row in rows if str(row.id) == added and row.bookings), None),
    )


@post("/availability/away", shows=show_away, names={"from": "first", "to": "last"})
async def add_away(work: Work, user: User, form: Form[AwayForm]) -> Response:
    """Add a time out of office; bookings in it stay."""
    away_id = await add_out_of_office(work, user, _read(form, user))
    return redirect(f"/availability/away?done=added&id={away_id}")


@get("/availability/away/{away_id}/remove")
async def ask_to_remove_away(work: Work, user: User, away_id: UUID) -> Response:
    """Ask whether a time out of office shall be open again."""
    absence = next((each for each in await list_absences(work, user) if each.id == away_id), None)
    if absence is None:
        raise OutOfOfficeNotFound
    return page(
        "confirm.html",
        user,
        here="/availability",
        title=Text("Remove this time off?"),
        explanation=_row(absence, user, now=work.now).when,
        yes=Text("Remove"),
        back="/availability/away",
    )


@post("/availability/away/{away_id}/remove")
async def remove_away(work: Work, user: User, away_id: UUID) -> Response:
    """Open a time out of office again."""
    await remove_out_of_office(work, user, away_id)
    return redirect("/availability/away?done=removed")


def _read(form: Form[AwayForm], user: User) -> OutOfOffice:
    """Read both ends: without times, whole days in the host's zone."""
    faults: dict[str, str] = {}
    first = _instant(form["first"], form["first_time"] or "00:00", "first", user, faults)
    last = _instant(form["last"] or form["first"], form["last_time"] or "24:00", "last", user, faults)
    if first is None or last is None:
        raise Invalid(details=faults)
    if last <= first:
        raise Invalid(details={"last": Text("must be later than the beginning")})
    if last - first > LONGEST:
        raise Invalid(details={"last": TOO_LONG})
    return OutOfOffice(first, last, form["reason"].strip())


def _instant(day: str, clock: str, name: str, user: User, faults: dict[str, str]) -> datetime | None:
    on, minute = read_day(day), find_clock(clock)
    if on is None:
        faults[name] = NOT_A_DATE
    if minute is None:
        faults[f"{name}_time"] = NOT_A_TIME
    if on is None or minute is None:
        return None
    return at_second(instant_of(get_offsets(get_zone(user.zone), on, on), day_number(on) * DAY + minute * 60))


def _row(absence: Absence, user: User, *, now: datetime) -> AbsenceRow:
    zone, today = get_zone(user.zone), words.day(now, user.zone)
    start, end = (edge.astimezone(zone) for edge in (absence.away.starts_at, absence.away.ends_at))
    last = (end - timedelta(microseconds=1)).date()
    return AbsenceRow(
        id=absence.id,
        when=_tell_span(start, end, today=today),
        reason=absence.away.reason,
        bookings=tell_bookings(absence.bookings) if absence.bookings else None,
        bookings_path=f"/bookings?from={start.date()}&to={last}",
    )


def _tell_span(start: datetime, end: datetime, *, today: date) -> Text | Weekday:
    """Write whole days without times."""
    midnight = time.min
    first, last = Weekday(start.date(), today), Weekday((end - timedelta(microseconds=1)).date(), today)
    if start.time() == end.time() == midnight:
        return first if first == last else Text("%(first)s to %(last)s", first=first, last=last)
    return Text(
        "%(first)s to %(last)s",
        first=Text("%(day)s, %(time)s", day=first, time=start.time()),
        last=Text("%(day)s, %(time)s", day=Weekday(end.date(), today), time=end.time()),
    )
