"""The page of a request, for anyone who has its link: how it stands, and to withdraw it."""

from uuid import UUID

from openslot.domains.bookings.errors import RequestNotOpen
from openslot.domains.bookings.links import manage_url, read_manage_token
from openslot.domains.bookings.models import RequestState, Status
from openslot.domains.bookings.operations import find_unused_phone
from openslot.domains.bookings.public_api import booking_limit
from openslot.domains.bookings.requests.operations import get_request_with_host, withdraw_booking_request
from openslot.domains.bookings.words import format_day, format_hours, format_location, format_zone
from openslot.domains.event_types.models import Location
from openslot.domains.mail.models import MailKind
from openslot.domains.mail.operations import is_told
from openslot.doors.http.doors import take
from openslot.doors.http.errors import status_of
from openslot.doors.web.booking_page.forms import show_start
from openslot.doors.web.booking_page.refusals import limit_views, list_warnings
from openslot.doors.web.shared.booking_view import find_look, hours_of, manage_path, show
from openslot.doors.web.shared.offers import format_offered_location
from openslot.doors.web.shared.options import Options, read_options
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import RateLimited, Refusal
from openslot.platform.core.times import get_zone, iso
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import Request, Response, post

HEADINGS = {
    RequestState.WAITING: Text("Your request was sent"),
    RequestState.DECLINED: Text("Your request was declined"),
    RequestState.LAPSED: Text("Your request was not answered"),
    RequestState.WITHDRAWN: Text("Your request was withdrawn"),
}


async def show_request(work: Work, booking_id: UUID, options: Options, *, refusal: Refusal | None = None) -> Response:
    """Show how a request stands; a link or number of the host is told when it is confirmed."""
    request, details, host = await get_request_with_host(work, booking_id)
    booking, event_type, locale = details.booking, details.event_type, options.locale
    if booking.status is Status.CONFIRMED:
        # The host has answered just now.
        return redirect(manage_path(work, booking_id, options, done=""))
    is_open = request.is_open(now=work.now)
    state = RequestState.LAPSED if request.state is RequestState.WAITING and not is_open else request.state
    zone = booking.invitee_zone
    look = await find_look(work.acting_as(PUBLIC), event_type.owner_id, color=event_type.color)
    return show(
        "booking/requested.html",
        options,
        color=look.color,
        brand=look.brand,
        status=status_of(refusal) if refusal else 200,
        is_personal=True,
        path=manage_path(work, booking_id, options, done="").partition("?")[0],
        heading=HEADINGS[state],
        state=state,
        done="requested" if is_open and options.done == "booked" else "",
        is_unmailed=is_open and not await is_told(work, booking, MailKind.REQUEST),
        manage_url=manage_url(work.runtime, booking_id),
        no_messages_to=await find_unused_phone(work, booking_id) if is_open else None,
        booking=booking,
        event_type=event_type,
        host=host,
        place=_name_place(booking.location, host.name),
        reason=recall(request.reason) if request.reason else None,
        day=format_day(booking.starts_at, zone, locale),
        time=format_hours(booking.starts_at, booking.ends_at, zone, locale),
        zone=format_zone(booking.starts_at, zone, locale),
        until=show_start(request.lapses_at, get_zone(zone), locale, hours_of(options)),
        starts_at=iso(booking.starts_at),
        ends_at=iso(booking.ends_at),
        warnings=list_warnings(refusal, True) if refusal else (),
    )


def _name_place(location: Location, host_name: str) -> str | None:
    # What invitees have named themselves, they may read.
    return format_location(location, host_name) if location.asks else format_offered_location(location, host_name)


@post("/manage/{token}/withdraw", transaction="none")
@limit_views
async def withdraw(work: Work, request: Request, token: str) -> Response:
    """Withdraw a request on behalf of the public, within the limit of the API; one that was answered stays so."""
    booking_id, options = read_manage_token(work.runtime, token), read_options(request)
    try:
        await take(work.runtime, booking_limit(work.runtime.settings), request.address)
        await work.runtime.run(PUBLIC, lambda own: withdraw_booking_request(own, booking_id))
    except RateLimited as refusal:
        return await show_request(work, booking_id, options, refusal=refusal)
    except RequestNotOpen:
        pass
    return redirect(manage_path(work, booking_id, options, done=""))
