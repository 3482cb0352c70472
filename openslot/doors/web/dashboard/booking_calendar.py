"""Pages: a host's bookings as a day, a week and a month, beside the hours, time away and busy times around them."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from uuid import UUID

from babel.dates import get_day_names
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import Days
from openslot.domains.availability.months import begin_month, end_month
from openslot.domains.bookings import queries, rules
from openslot.domains.bookings.models import Booking, CalendarMeeting, SessionSeat
from openslot.domains.event_types.models import EventType
from openslot.domains.timeline.operations import list_timeline
from openslot.doors.web.dashboard.booking_list import TEAMS
from openslot.doors.web.dashboard.bookings import list_answers
from openslot.doors.web.dashboard.calendar_days import DayMaker, ShownDay, clip_day, list_spans
from openslot.doors.web.dashboard.calendar_layout import begin_week, pick_hours
from openslot.doors.web.dashboard.payments import PaymentRow, describe_payments
from openslot.doors.web.dashboard.rows import Step, describe_step
from openslot.doors.web.shared import words
from openslot.doors.web.shared.booking_calendar import format_month
from openslot.doors.web.shared.booking_notices import NOTICES
from openslot.doors.web.shared.days import status_badge
from openslot.doors.web.shared.list_queries import link, read_day
from openslot.doors.web.shared.pages import locale_of, page
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, first_weekday_of, usual_hours
from openslot.platform.routing import Request, Response, get

FEW = 3
"""How many meetings of a day a month shows."""
DAY, WEEK = timedelta(days=1), timedelta(days=7)
NOTHING = Text("Nothing is booked. Share your link, or book on someone's behalf.")
NOTHING_BEFORE = Text("No meeting took place in this time.")


class View(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


STEPS = {
    View.DAY: (Text("Day before"), Text("Next day")),
    View.WEEK: (Text("Week before"), Text("Next week")),
    View.MONTH: (Text("Month before"), Text("Next month")),
}


class CalendarQuery(Struct, frozen=True, kw_only=True):
    """What the address asks for: a view, a day in it, and perhaps a booking."""

    view: View
    on: date
    today: date
    locale: Locale
    of_teams: bool
    booking_id: UUID | None

    @property
    def first_weekday(self) -> int:
        return first_weekday_of(self.locale)

    @property
    def days(self) -> Days:
        """The whole weeks around a day, or around its month."""
        month = self.view is View.MONTH
        first, last = (begin_month(self.on), end_month(self.on)) if month else (self.on, self.on)
        return Days(begin_week(first, self.first_weekday), begin_week(last, self.first_weekday) + WEEK - DAY)

    @property
    def hours(self) -> int:
        return self.locale.hours or usual_hours(self.locale.formats)

    @property
    def month_title(self) -> str:
        return format_month(self.on, self.locale.formats)

    @property
    def week_number(self) -> int:
        return (self.days.first + 3 * DAY).isocalendar().week

    @property
    def title(self) -> object:
        if self.view is View.DAY:
            return words.Weekday(self.on, self.today)
        # A week belongs to the month of its middle.
        on = self.days.first + 3 * DAY if self.view is View.WEEK else self.on
        return format_month(on, self.locale.formats)

    def link(self, on: date | None = None, view: str = "", booking: object = "") -> str:
        hosts = TEAMS if self.of_teams else ""
        return link(f"/bookings/{view or self.view}", {"date": on or self.on, "hosts": hosts, "booking": booking})

    @property
    def other_hosts(self) -> str:
        """The address of the same days with meetings of colleagues, or without them."""
        return replace(self, of_teams=not self.of_teams).link()

    def step(self, by: int) -> str:
        """Return the address of the time before or after."""
        if self.view is View.MONTH:
            return self.link(begin_month(self.on, later=by))
        return self.link(self.on + by * (WEEK if self.view is View.WEEK else DAY))


class Chosen(Struct, frozen=True, kw_only=True):
    """The booking in the panel beside the days."""

    booking: Booking
    event_type: EventType
    people: list[SessionSeat]
    """All who have booked the same group session, if there are several."""
    hours: Text
    day: Text | Weekday
    elsewhere: Text | None
    """The invitee's local time, if it is another."""
    badge: Text | None
    tone: str
    can_change: bool
    answers: list[tuple[str, object]]
    private_notes: str | None
    money: dict[UUID, PaymentRow]
    """The payments for it, and for the others of its session, by booking."""
    steps: list[Step]
    """The steps that were taken for it, or are planned."""


@get("/bookings/day")
async def show_day(request: Request, work: Work, user: User) -> Response:
    """Show the bookings of one day, by default of today."""
    query = _read_query(request, user, View.DAY, now=work.now)
    return await _show(work, user, query, "dashboard/calendar/days.html")


@get("/bookings/week")
async def show_week(request: Request, work: Work, user: User) -> Response:
    """Show the bookings of the week around a day."""
    query = _read_query(request, user, View.WEEK, now=work.now)
    return await _show(work, user, query, "dashboard/calendar/days.html")


@get("/bookings/month")
async def show_month(request: Request, work: Work, user: User) -> Response:
    """Show the bookings of the month around a day."""
    query = _read_query(request, user, View.MONTH, now=work.now)
    return await _show(work, user, query, "dashboard/calendar/month.html")


def _read_query(request: Request, user: User, view: View, *, now: datetime) -> CalendarQuery:
    """Read an address; what can't be understood is today, and no booking."""
    today = words.day(now, user.zone)
    try:
        booking_id = UUID(request.query.get("booking", ""))
    except ValueError:
        booking_id = None
    on = read_day(request.query.get("date", "")) or today
    return CalendarQuery(
        view=view,
        on=on,
        today=today,
        locale=locale_of(request, user),
        of_teams=request.query.get("hosts") == TEAMS,
        booking_id=booking_id,
    )


async def _show(work: Work, user: User, query: CalendarQuery, template: str) -> Response:
    found = await queries.read_calendar(work, user, query.days, of_teams=query.of_teams)
    month = query.on.month if query.view is View.MONTH else None
    few = FEW if query.view is View.MONTH else None
    days = DayMaker(days=query.days, asked=query.on, user=user, now=work.now, month=month, few=few).lay_out(found)
    shown = [day for day in days if day.is_asked] if query.view is View.DAY else days
    hours = pick_hours(list_spans(shown))
    return page(
        template,
        user,
        here="/bookings",
        query=query,
        weekdays=_name_weekdays(query.locale.formats, query.first_weekday),
        steps=STEPS[query.view],
        strip=days,
        days=[clip_day(day, hours) for day in shown],
        hours=[(hour, time(hour)) for hour in hours],
        small_month=_lay_small_month(query),
        types=_count_types(shown),
        unread=found.unread,
        owns_teams=found.owns_teams,
        nothing=_find_words_for_nothing(shown, query.today),
        chosen=await _find_chosen(work, user, query.booking_id, found.meetings),
        notices=NOTICES,
    )


def _find_words_for_nothing(days: list[ShownDay], today: date) -> Text | None:
    if any(day.booked for day in days):
        return None
    return NOTHING_BEFORE if days[-1].on < today else NOTHING


def _name_weekdays(formats: str, first_weekday: int) -> list[tuple[str, str]]:
    """Name the columns of a week: short, and in full."""
    short, full = (get_day_names(width, "stand-alone", formats) for width in ("abbreviated", "wide"))
    order = [(first_weekday + column) % 7 for column in range(7)]
    return [(short[day].rstrip("."), full[day]) for day in order]


def _lay_small_month(query: CalendarQuery) -> list[list[date]]:
    """List the weeks of the month around the day."""
    first = begin_week(begin_month(query.on), query.first_weekday)
    weeks = (end_month(query.on) - first).days // 7 + 1
    return [[first + week * WEEK + day * DAY for day in range(7)] for week in range(weeks)]


def _count_types(days: Iterable[ShownDay]) -> list[tuple[str, UUID, int]]:
    """Count the meetings of each event type: its name, its id, and how many."""
    meetings = {meeting.id: meeting for day in days for meeting in day.booked}
    counts = Counter((meeting.event_type_name, meeting.event_type_id) for meeting in meetings.values())
    return [(name, event_type_id, count) for (name, event_type_id), count in counts.most_common(8)]


async def _find_chosen(
    work: Work, user: User, booking_id: UUID | None, meetings: Iterable[CalendarMeeting]
) -> Chosen | None:
    """Find the booking that the address names; that of another host is none."""
    if booking_id is None:
        return None
    try:
        found = await queries.get_hosted(work, user, booking_id)
    except NotFound:
        return None
    details, booking = found.details, found.details.booking
    people = await queries.list_session(work, user, booking) if booking.seat_id else []
    is_owner = booking.host_id == user.id
    effects = await list_timeline(work, user, booking_id) if is_owner and not booking.seat_id else []
    badge, tone = status_badge(booking.status, is_over=rules.is_over(booking, now=work.now))
    payable = [] if booking.payment is None else [each.id for each in people] or [booking_id]
    return Chosen(
        booking=booking,
        event_type=details.event_type,
        people=people if len(people) > 1 else [],
        hours=words.hours(booking.starts_at, booking.ends_at, user.zone),
        day=words.day_heading(words.day(booking.starts_at, user.zone), today=words.day(work.now, user.zone)),
        elsewhere=_tell_elsewhere(booking, user),
        badge=badge,
        tone=tone,
        can_change=found.can_change and rules.can_change(booking, now=work.now),
        answers=list(list_answers(details)),
        private_notes=next((each.private_notes for each in meetings if each.id == booking_id), None),
        money=await describe_payments(work, user, payable),
        steps=[describe_step(each, user, now=work.now) for each in effects],
    )


def _tell_elsewhere(booking: Booking, user: User) -> Text | None:
    theirs, at = booking.invitee_zone, booking.starts_at
    if not words.is_elsewhere(theirs, user.zone, at_time=at):
        return None
    zone_name = words.elsewhere(theirs, user.zone, at_time=at)
    return Text(
        "%(hours)s for the invitee (%(place)s)", hours=words.hours(at, booking.ends_at, theirs), place=zone_name
    )
