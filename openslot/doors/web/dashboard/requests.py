"""Pages: what invitees ask for, and one request that the host confirms or declines."""

from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import BookingDetails, BookingRef, FoundRequest, RequestState
from openslot.domains.bookings.operations import get_host_notes
from openslot.domains.bookings.requests.operations import (
    confirm_booking_request,
    decline_booking_request,
    get_request,
    list_waiting_requests,
)
from openslot.doors.web.dashboard.bookings import list_answers, list_hosts, list_link
from openslot.doors.web.dashboard.hand_over import sees_booking, write_ledger_path
from openslot.doors.web.shared import words
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.requests import NOTICES, list_days
from openslot.platform.core.errors import Conflict
from openslot.platform.core.text import ReasonText, defuse
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import Form, Response, get, post

ENDED = {
    RequestState.LAPSED: Text("This request was not answered in time. The time is free again."),
    RequestState.WITHDRAWN: Text("The invitee has withdrawn this request. The time is free again."),
}


class DeclineForm(Struct, frozen=True, kw_only=True):
    reason: ReasonText = ""


@get("/bookings/requests")
async def show_requests(work: Work, user: User) -> Response:
    """List what waits for the host, by its start."""
    days = list_days(work, user, await list_waiting_requests(work, user))
    return page("dashboard/requests.html", user, here="/bookings", days=days, notices=NOTICES)


@get("/bookings/requests/{booking_id}")
async def show_request(work: Work, user: User, booking_id: UUID, form: Form[DeclineForm] = Form()) -> Response:
    """Show one request; the link in the mail leads here, and opening it changes nothing."""
    found = await get_request(work, BookingRef(booking_id, user.id))
    booking, path = found.details.booking, write_path(found.details, user)
    if found.request.state is RequestState.CONFIRMED:
        # Somebody else may have been faster.
        return redirect(f"{path}?done=answered" if form.faults else path)
    is_open = found.request.is_open(now=work.now)
    state = RequestState.LAPSED if found.request.state is RequestState.WAITING else found.request.state
    theirs = words.day_and_hours(booking.starts_at, booking.ends_at, booking.invitee_zone, now=work.now)
    is_elsewhere = words.is_elsewhere(booking.invitee_zone, user.zone, at_time=booking.starts_at)
    kept_until = words.at(found.request.lapses_at, user.zone, now=work.now)
    return page(
        "dashboard/request.html",
        user,
        here="/bookings",
        form=form,
        status=409 if form.faults and not is_open else None,
        booking=booking,
        event_type=found.details.event_type,
        is_owner=booking.host_id == user.id,
        is_host=sees_booking(found.details, user),
        hours=words.hours(booking.starts_at, booking.ends_at, user.zone),
        heading=words.day_heading(words.day(booking.starts_at, user.zone), today=words.day(work.now, user.zone)),
        theirs=Text("For the invitee: %(when)s", when=theirs) if is_elsewhere else None,
        zone=words.elsewhere(booking.invitee_zone, user.zone, at_time=booking.starts_at),
        facts=[
            *list_hosts(found.details),
            *([(Text("Guests"), ", ".join(booking.guests))] if booking.guests else []),
            *list_link(await get_host_notes(work, user, booking_id)),
            *list_answers(found.details),
        ],
        until=Text("The time is kept until %(when)s. Without your answer the request lapses then.", when=kept_until),
        has_team=bool(found.details.hosts),
        ended=None if is_open else _tell_end(found, state, user),
        reason=recall(found.request.reason) if found.request.reason else None,
    )


def _tell_end(found: FoundRequest, state: RequestState, user: User) -> Text:
    if state is not RequestState.DECLINED:
        return ENDED[state]
    if not found.details.hosts or found.request.answered_by == user.id:
        return Text("You declined this request.")
    if found.answered_by is None:
        return Text("This request was declined.")
    return Text("%(name)s declined this request.", name=defuse(found.answered_by))


@post("/bookings/requests/{booking_id}/confirm", shows=show_request, at={Conflict: "reason"})
async def confirm_request(work: Work, user: User, booking_id: UUID) -> Response:
    found = await get_request(work, BookingRef(booking_id, user.id))
    await confirm_booking_request(work, BookingRef(booking_id, user.id))
    return redirect(f"{write_path(found.details, user)}?done=confirmed")


@post("/bookings/requests/{booking_id}/decline", shows=show_request, at={Conflict: "reason"})
async def decline_request(work: Work, user: User, booking_id: UUID, form: Form[DeclineForm]) -> Response:
    found = await get_request(work, BookingRef(booking_id, user.id))
    await decline_booking_request(work, BookingRef(booking_id, user.id), reason=form.get().reason.strip() or None)
    path = "/bookings/requests" if sees_booking(found.details, user) else write_ledger_path(found.details)
    return redirect(f"{path}?done=declined")


def write_path(details: BookingDetails, user: User) -> str:
    """Return where somebody sees what has become of a request: managers of the team see the ledger alone."""
    return f"/bookings/{details.booking.id}" if sees_booking(details, user) else write_ledger_path(details)
