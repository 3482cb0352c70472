"""Page: give a host's place in a booking of a team to somebody who is named, or to the next one by the team's rule."""

from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ClaimedHost
from openslot.domains.bookings import handovers, queries, rules
from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.models import BookingDetails, BookingRef, Status
from openslot.domains.bookings.words import ListOfNames
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Conflict
from openslot.platform.core.text import ReasonText
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, Request, Response, get, post


class HandOverForm(Struct, frozen=True, kw_only=True):
    place: UUID
    """The host who is replaced."""
    to: UUID | None = None
    """The new host; empty if it is the next one by the team's rule."""
    reason: ReasonText = ""


@get("/bookings/{booking_id}/hand-over")
async def show_hand_over(
    request: Request, work: Work, user: User, booking_id: UUID, form: Form[HandOverForm] = Form()
) -> Response:
    """Show who could take a host's place, and why the others can't."""
    details, replaceable = await handovers.list_replaceable(work, user, booking_id)
    booking, sees = details.booking, sees_booking(details, user)
    is_request = booking.status is Status.PENDING_CONFIRMATION
    if not form.faults and not is_request and not rules.can_change(booking, now=work.now):
        return redirect(_write_back(details, user))
    leaving = _find_leaving(replaceable, form["place"] or request.query.get("place", ""))
    takers = await handovers.list_takers(work, details, leaving)
    return page(
        "dashboard/hand_over.html",
        user,
        here="/bookings",
        form=form,
        booking=booking,
        event_type=details.event_type,
        hosts=ListOfNames(tuple(each.name for each in details.hosts)),
        leaving=leaving,
        replaceable=replaceable,
        takers=[each for each in takers if each.is_free],
        others=[each for each in takers if not each.is_free],
        sees_invitee=sees,
        is_request=is_request,
        back=_write_back(details, user),
    )


@post(
    "/bookings/{booking_id}/hand-over",
    shows=show_hand_over,
    at={Conflict: "to"},
    names={"toUser": "to", "fromUser": "place"},
    own_status=True,
)
async def hand_over(work: Work, user: User, booking_id: UUID, form: Form[HandOverForm]) -> Response:
    sent = form.get()
    details, _ = await handovers.list_replaceable(work, user, booking_id)
    ref, reason = BookingRef(booking_id, None), sent.reason.strip() or None
    await handovers.reassign_booking(work, ref, from_user=sent.place, to_user=sent.to, reason=reason)
    if details.booking.status is Status.PENDING_CONFIRMATION:
        path = "/bookings/requests" if sees_booking(details, user) else write_ledger_path(details)
        return redirect(f"{path}?done=request-handed-over")
    try:
        await queries.get_hosted(work, user, booking_id)
    except BookingNotFound:
        # Who has handed their own place over, or manages the team, does not find the booking.
        path = "/bookings" if sent.place == user.id else write_ledger_path(details)
        return redirect(f"{path}?done=handed-over")
    return redirect(f"/bookings/{booking_id}?done=handed-over")


def sees_booking(details: BookingDetails, user: User) -> bool:
    """Answer whether somebody finds the page of the booking, with who has booked it."""
    return details.booking.host_id == user.id or details.is_hosted_by(user.id)


def _write_back(details: BookingDetails, user: User) -> str:
    """Return the page of the booking or the request, or the ledger for who does not find that."""
    if details.booking.status is Status.PENDING_CONFIRMATION:
        return f"/bookings/requests/{details.booking.id}"
    return f"/bookings/{details.booking.id}" if sees_booking(details, user) else write_ledger_path(details)


def _find_leaving(replaceable: tuple[ClaimedHost, ...], user_id: str) -> ClaimedHost:
    """Return the host with this id, or the first one if that is not one of them."""
    return next((each for each in replaceable if str(each.user_id) == user_id), replaceable[0])


def write_ledger_path(details: BookingDetails) -> str:
    event_type = details.event_type
    return f"/organization/teams/{event_type.team_id}/event-types/{event_type.id}/ledger"
