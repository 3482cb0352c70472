"""Reads for pages: what somebody owns or hosts, a host's calendar of some days, and who comes to a group session."""

from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.grid import merge
from openslot.domains.availability.hours import list_open_hours
from openslot.domains.availability.models import Days
from openslot.domains.availability.slots import spans_of
from openslot.domains.bookings.calendar.store import find_host_time, list_meetings, list_session_seats
from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.hosts.store import find_hosted
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, HostCalendar, SessionSeat
from openslot.domains.bookings.operations import get_booking
from openslot.platform.core.errors import require
from openslot.platform.core.times import at_second, day_number, get_zone
from openslot.platform.core.work import Work


class HostedBooking(Struct, frozen=True):
    """A booking as somebody finds it who owns it, hosts it for a team, or has hosted it before they left."""

    details: BookingDetails
    can_change: bool
    """Whether they own it, or still belong to the organization for which they host it."""


async def get_hosted(work: Work, user: User, booking_id: UUID) -> HostedBooking:
    """Read a booking that somebody owns, or hosts for a team; their API keys and assistants find only what they own.

    Who has left the organization reads what they hosted, without what the owner's contacts say of the invitee.
    """
    try:
        return HostedBooking(await get_booking(work, BookingRef(booking_id, user.id)), can_change=True)
    except BookingNotFound:
        details, is_colleague = require(await find_hosted(work.db, booking_id, user.id), BookingNotFound)
    return HostedBooking(details if is_colleague else replace(details, contact=None), can_change=is_colleague)


async def get_changeable(work: Work, user: User, booking_id: UUID) -> BookingDetails:
    """Read a booking that somebody may change; who has left the organization of its team finds nothing."""
    found = await get_hosted(work, user, booking_id)
    if not found.can_change:
        raise BookingNotFound
    return found.details


async def get_ref(work: Work, user: User, booking_id: UUID) -> BookingRef:
    """Name a booking that somebody owns or hosts, in order to change it."""
    await get_changeable(work, user, booking_id)
    # It may get another owner before it is locked; who may change it is looked at again then.
    return BookingRef(booking_id, None, by=user.id)


async def read_calendar(work: Work, host: User, days: Days, *, of_teams: bool = False) -> HostCalendar:
    """Read what takes place on some days of the host's zone, and when the host can be booked, is away or busy.

    What colleagues host of the host's event types of teams belongs to it only if it is asked for.
    """
    spans = spans_of(days, get_zone(host.zone))
    since, until = at_second(spans[0][0]), at_second(spans[-1][1])
    meetings = await list_meetings(work.db, host.id, since=since, until=until, of_teams=of_teams)
    found = await find_host_time(work.db, host.id, since=since, until=until, now=work.now)
    # A schedule's zone may be a day ahead of the host's, or behind.
    first, last = day_number(days.first) - 1, day_number(days.last) + 1
    hours = (list_open_hours(schedule, first, last) for schedule in found.schedules)
    return HostCalendar(
        meetings=meetings,
        free=merge(span for each in hours for span in each),
        away=found.away,
        busy=found.busy,
        unread=found.unread,
        owns_teams=found.owns_teams,
    )


async def list_session(work: Work, host: User, booking: Booking) -> list[SessionSeat]:
    """List everyone who has booked the same group session, in the order of their bookings."""
    return await list_session_seats(work.db, host.id, booking.claim_id)
