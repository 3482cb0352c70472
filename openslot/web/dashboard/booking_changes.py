"""Pages: cancel a booking, and move it to another open slot."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.accounts.models import User
from openslot.availability.models import ByBooking
from openslot.bookings import operations as bookings
from openslot.bookings import rules
from openslot.bookings.models import BookingDetails, BookingRef
from openslot.core.errors import Conflict, Invalid
from openslot.core.text import ReasonText
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.dashboard import phrases
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.slots import list_choices
from openslot.web.list_addresses import read_day
from openslot.web.pages import page, redirect


class HostCancelForm(Struct, frozen=True, kw_only=True):
    """Why a booking is cancelled."""

    reason: ReasonText = ""


class HostRescheduleForm(Struct, frozen=True, kw_only=True):
    """Where a booking is moved to, and why."""

    start: Annotated[datetime, Meta(tz=True), WhenEmpty(Text("Choose a time"))]
    reason: ReasonText = ""
    day: str = ""
    """The first day that was shown."""


@get("/bookings/{booking_id}/cancel")
async def show_cancel(work: Work, user: User, booking_id: UUID) -> Response:
    """Ask for the reason, and whether it is meant."""
    details = await bookings.get_booking(work, BookingRef(booking_id, user.id))
    if not rules.can_change(details.booking, now=work.now):
        return redirect(f"/bookings/{booking_id}")
    return _cancel_page(work, user, details, Form())


@post("/bookings/{booking_id}/cancel")
async def cancel_as_host(work: Work, user: User, booking_id: UUID, form: Form[HostCancelForm]) -> Response:
    """Cancel a booking."""
    ref = BookingRef(booking_id, user.id)
    if form.faults:
        return _cancel_page(work, user, await bookings.get_booking(work, ref), form)
    try:
        await bookings.cancel_booking(work, ref, reason=form.get().reason.strip())
    except Conflict as refusal:
        details = await bookings.get_booking(work, ref)
        return _cancel_page(work, user, details, form.with_faults({"form": refusal.sentence}))
    return redirect(f"/bookings/{booking_id}?done=cancelled")


@get("/bookings/{booking_id}/reschedule")
async def show_reschedule_form(request: Request, work: Work, user: User, booking_id: UUID) -> Response:
    """Show the open slots of a week."""
    details = await bookings.get_booking(work, BookingRef(booking_id, user.id))
    if not rules.can_change(details.booking, now=work.now):
        return redirect(f"/bookings/{booking_id}")
    return await _reschedule_page(work, user, details, Form(), first=read_day(request.query.get("day", "")))


@post("/bookings/{booking_id}/reschedule")
async def reschedule_as_host(work: Work, user: User, booking_id: UUID, form: Form[HostRescheduleForm]) -> Response:
    """Move a booking to the slot that was chosen."""
    ref = BookingRef(booking_id, user.id)
    if not form.faults:
        try:
            await bookings.reschedule_booking(work, ref, form.get().start, reason=form.get().reason.strip())
        except (Conflict, Invalid) as refusal:
            form = form.with_faults({"start": refusal.faults.get("newStartTime", refusal.sentence)})
    if form.faults:
        details = await bookings.get_booking(work, ref)
        return await _reschedule_page(work, user, details, form, first=read_day(form["day"]))
    return redirect(f"/bookings/{booking_id}?done=moved")


def _cancel_page(work: Work, user: User, details: BookingDetails, form: Form[HostCancelForm]) -> Response:
    booking = details.booking
    return page(
        "dashboard/cancel.html",
        user,
        here="/bookings",
        status=400 if form.faults else 200,
        booking=booking,
        event_type=details.event_type,
        when=phrases.day_and_hours(booking.starts_at, booking.ends_at, user.zone, now=work.now),
        form=form,
        curl=curl(work, user, f"/bookings/{booking.id}/cancel", method="POST", body={"reason": form["reason"]}),
    )


async def _reschedule_page(
    work: Work, user: User, details: BookingDetails, form: Form[HostRescheduleForm], *, first: date | None
) -> Response:
    booking = details.booking
    slots = await list_choices(work, user, ByBooking(booking.event_type_id), first=first, moved=booking)
    start = slots.days[0].slots[0].value if slots.days else "2026-03-16T09:00:00Z"
    return page(
        "dashboard/reschedule.html",
        user,
        here="/bookings",
        status=400 if form.faults else 200,
        booking=booking,
        event_type=details.event_type,
        when=phrases.day_and_hours(booking.starts_at, booking.ends_at, user.zone, now=work.now),
        form=form,
        slots=slots,
        path=f"/bookings/{booking.id}/reschedule",
        curl=curl(work, user, f"/bookings/{booking.id}/reschedule", method="PATCH", body={"newStartTime": start}),
    )
