"""Pages: what invitees ask for, and one request that the host confirms or declines."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings import operations as bookings
from openslot.bookings import requests
from openslot.bookings.models import BookingRef, FoundRequest, RequestState
from openslot.core.errors import Conflict
from openslot.core.text import ReasonText
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Response, get, post
from openslot.web import words
from openslot.web.dashboard.bookings import list_answers, list_link
from openslot.web.dashboard.rows import BookingRow, DayOfRows, group_by_day
from openslot.web.pages import MailNotice, Notices, page, redirect

ENDED = {
    RequestState.DECLINED: Text("You declined this request."),
    RequestState.LAPSED: Text("This request was not answered in time. The time is free again."),
    RequestState.WITHDRAWN: Text("The invitee has withdrawn this request. The time is free again."),
}
NOTICES: Notices = {
    "declined": MailNotice(
        Text("The request was declined. The invitee will be notified by email."),
        Text("The request was declined. No mail server is set up, so nobody is notified."),
    ),
}


class DeclineForm(Struct, frozen=True, kw_only=True):
    reason: ReasonText = ""


@get("/bookings/requests")
async def show_requests(work: Work, user: User) -> Response:
    """List what waits for the host, by its start."""
    waiting = await requests.list_waiting(work, user)
    days = group_by_day(waiting, user, lambda each: each.details.booking.starts_at, now=work.now)
    return page(
        "dashboard/requests.html",
        user,
        here="/bookings",
        days=[DayOfRows(heading, tuple(_row(each, user, work) for each in found)) for heading, found in days],
        notices=NOTICES,
    )


def _row(found: FoundRequest, user: User, work: Work) -> BookingRow:
    booking = found.details.booking
    until = words.at(found.request.lapses_at, user.zone, now=work.now)
    return BookingRow(
        id=booking.id,
        path=f"/bookings/requests/{booking.id}",
        hours=words.hours(booking.starts_at, booking.ends_at, user.zone),
        name=booking.invitee_name,
        email=booking.invitee_email,
        details=(found.details.event_type.name, Text("answer until %(when)s", when=until)),
        badge=Text("Waits for you"),
        tone="warn",
    )


@get("/bookings/requests/{booking_id}")
async def show_request(work: Work, user: User, booking_id: UUID, form: Form[DeclineForm] = Form()) -> Response:
    """Show one request; the link in the mail leads here, and opening it changes nothing."""
    found = await requests.get_request(work, BookingRef(booking_id, user.id))
    if found.request.state is RequestState.CONFIRMED:
        return redirect(f"/bookings/{booking_id}")
    booking = found.details.booking
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
        hours=words.hours(booking.starts_at, booking.ends_at, user.zone),
        heading=words.day_heading(words.day(booking.starts_at, user.zone), today=words.day(work.now, user.zone)),
        theirs=Text("For the invitee: %(when)s", when=theirs) if is_elsewhere else None,
        zone=words.elsewhere(booking.invitee_zone, user.zone, at_time=booking.starts_at),
        facts=[
            *([(Text("Guests"), ", ".join(booking.guests))] if booking.guests else []),
            *list_link(await bookings.get_host_notes(work, user, booking_id)),
            *list_answers(found.details),
        ],
        until=Text("The time is kept until %(when)s. Without your answer the request lapses then.", when=kept_until),
        ended=None if is_open else ENDED[state],
        reason=found.request.reason,
    )


@post("/bookings/requests/{booking_id}/confirm", shows=show_request, at={Conflict: "reason"})
async def confirm_request(work: Work, user: User, booking_id: UUID) -> Response:
    await requests.confirm(work, BookingRef(booking_id, user.id))
    return redirect(f"/bookings/{booking_id}?done=confirmed")


@post("/bookings/requests/{booking_id}/decline", shows=show_request, at={Conflict: "reason"})
async def decline_request(work: Work, user: User, booking_id: UUID, form: Form[DeclineForm]) -> Response:
    await requests.decline(work, BookingRef(booking_id, user.id), reason=form.get().reason.strip() or None)
    return redirect("/bookings/requests?done=declined")
