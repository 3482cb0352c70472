"""Requests by their days, and what is said of an answered one."""

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import FoundRequest
from openslot.domains.bookings.words import ListOfNames
from openslot.doors.web.shared import words
from openslot.doors.web.shared.booking_notices import NOTICES as OF_BOOKING
from openslot.doors.web.shared.days import BookingRow, DayOfRows, group_by_day
from openslot.doors.web.shared.handed_over import REQUEST_HANDED_OVER
from openslot.doors.web.shared.pages import MailNotice, Notices
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

NOTICES: Notices = {
    "declined": MailNotice(
        Text("The request was declined. The invitee will be notified by email."),
        Text("The request was declined. No mail server is set up, so nobody is notified."),
    ),
    "request-handed-over": REQUEST_HANDED_OVER,
}
ANSWERED: Notices = {**NOTICES, **{done: OF_BOOKING[done] for done in ("confirmed", "answered")}}


def list_days(work: Work, user: User, waiting: list[FoundRequest]) -> list[DayOfRows]:
    """Show what waits for somebody, by day."""
    days = group_by_day(waiting, user, lambda each: each.details.booking.starts_at, now=work.now)
    return [DayOfRows(heading, tuple(_row(each, user, work) for each in found)) for heading, found in days]


def _row(found: FoundRequest, user: User, work: Work) -> BookingRow:
    booking = found.details.booking
    until = words.at(found.request.lapses_at, user.zone, now=work.now)
    names = tuple(each.name for each in found.details.hosts)
    return BookingRow(
        id=booking.id,
        path=f"/bookings/requests/{booking.id}",
        hours=words.hours(booking.starts_at, booking.ends_at, user.zone),
        name=booking.invitee_name,
        email=booking.invitee_email,
        details=(
            found.details.event_type.name,
            *([Text("hosted by %(names)s", names=ListOfNames(names))] if names else ()),
            Text("answer until %(when)s", when=until),
        ),
        badge=Text("Waits for you"),
        tone="warn",
    )
