"""A booking as its invitee sees it: when, where and with whom, what happens next, and how to change it."""

from openslot.bookings.models import BookingDetails, Host, Status
from openslot.bookings.reasons import show_reason
from openslot.bookings.rules import can_change
from openslot.core.instants import iso
from openslot.core.work import Work
from openslot.event_types.models import LocationKind
from openslot.i18n import Text
from openslot.integrations.mail.calendar_entry import google_url, outlook_url
from openslot.integrations.mail.letters import describe_meeting
from openslot.integrations.mail.meetings import say_day, say_hours, say_place, say_zone
from openslot.routing import Response
from openslot.web.booking_page.options import Options
from openslot.web.booking_page.view import initials, show

HEADINGS = {
    "booked": Text("Your meeting is confirmed"),
    "rescheduled": Text("Your meeting has a new time"),
    "cancelled": Text("Your meeting is cancelled"),
}
CANCELLED, OVER, UPCOMING = Text("This meeting is cancelled"), Text("This meeting is over"), Text("Your meeting")


async def show_booking(work: Work, details: BookingDetails, host: Host, options: Options, *, path: str) -> Response:
    """Show a booking, and first what was just done with it."""
    booking, locale = details.booking, options.locale
    meeting, entry = await describe_meeting(work, details)
    zone = booking.invitee_zone
    is_on = can_change(booking, now=work.now)
    done = options.done if _is_true(options.done, booking.status) else ""
    return show(
        "booking/manage.html",
        options,
        colour=meeting.host.brand.colour,
        is_personal=True,
        path=path,
        heading=HEADINGS.get(done) or _say_state(booking.status, is_on=is_on),
        done=done,
        booking=booking,
        reason=show_reason(booking.cancel_reason) if booking.cancel_reason else None,
        is_on=is_on,
        is_cancelled=booking.status is Status.CANCELLED,
        host_name=host.name,
        host_path=f"/{host.username}",
        initials=initials(host.name),
        event_type=details.event_type,
        day=say_day(booking.starts_at, zone, locale),
        time=say_hours(booking.starts_at, booking.ends_at, zone, locale),
        zone=say_zone(booking.starts_at, zone, locale),
        place=say_place(booking.location, host.name),
        is_link=booking.location.kind is LocationKind.VIDEO_LINK,
        google=google_url(entry),
        outlook=outlook_url(entry),
        starts_at=iso(booking.starts_at),
        ends_at=iso(booking.ends_at),
    )


def _say_state(status: Status, *, is_on: bool) -> Text:
    if status is Status.CANCELLED:
        return CANCELLED
    return UPCOMING if is_on else OVER


def _is_true(done: str, status: Status) -> bool:
    """Return whether an address may say what was done: it can't call a cancelled meeting confirmed."""
    return (done == "cancelled") == (status is Status.CANCELLED) and done in HEADINGS
