"""Pages: one booking, with everything that happened to it and what was done because of it."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from openslot.accounts.models import User
from openslot.bookings import agenda, rules
from openslot.bookings import operations as bookings
from openslot.bookings.models import BookingDetails, BookingRef
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.timeline import operations as timeline
from openslot.integrations.timeline.models import EffectState
from openslot.routing import Request, Response, get, post
from openslot.web.dashboard import phrases
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.entries import place, status_badge
from openslot.web.dashboard.history import tell_history
from openslot.web.dashboard.home import find_retry_notice
from openslot.web.pages import page, redirect

NOTICES = {
    "booked": Text("The booking was created. The invitee will be notified by email."),
    "moved": Text("The booking was rescheduled. Everyone will be notified by email."),
    "cancelled": Text("The booking was cancelled. Everyone will be notified by email."),
}


@get("/bookings/{booking_id}")
async def show_booking(request: Request, work: Work, user: User, booking_id: UUID) -> Response:
    """Show a booking and its timeline."""
    details = await bookings.get_booking(work, BookingRef(booking_id, user.id))
    changes = await agenda.list_changes(work, user, booking_id)
    effects = await timeline.list_timeline(work, user, booking_id)
    booking = details.booking
    failed = sum(effect.state is EffectState.DEAD for effect in effects)
    badge, tone = status_badge(booking.status, is_over=rules.is_over(booking, now=work.now), failed=failed)
    return page(
        "dashboard/booking.html",
        user,
        here="/bookings",
        booking=booking,
        badge=badge,
        tone=tone,
        zone=phrases.elsewhere(booking.invitee_zone, user.zone, at_time=booking.starts_at),
        event_type=details.event_type,
        facts=list(_list_facts(details, user, now=work.now)),
        chapters=tell_history(booking, changes, effects, user, now=work.now),
        can_change=rules.can_change(booking, now=work.now),
        notice=NOTICES.get(request.query.get("done", "")) or find_retry_notice(request),
        curl=curl(work, user, f"/bookings/{booking_id}"),
    )


@post("/bookings/{booking_id}/retry/{effect_id}", transaction="none")
async def retry_step(work: Work, user: User, booking_id: UUID, effect_id: UUID) -> Response:
    """Try a failed step of a booking again."""
    revival = await timeline.retry_effect(work, user, effect_id, booking_id=booking_id)
    return redirect(f"/bookings/{booking_id}?done={revival.verdict}")


def _list_facts(details: BookingDetails, user: User, *, now: datetime) -> Iterator[tuple[str, object]]:
    """List what is known about a meeting, each under its label; what nobody has said is left out."""
    booking = details.booking
    yield Text("When"), phrases.day_and_hours(booking.starts_at, booking.ends_at, user.zone, now=now)
    if phrases.is_elsewhere(booking.invitee_zone, user.zone, at_time=booking.starts_at):
        theirs = phrases.day_and_hours(booking.starts_at, booking.ends_at, booking.invitee_zone, now=now)
        yield Text("When, for the invitee"), theirs
    if where := place(booking.location):
        yield Text("Where"), booking.location.value or where
    if booking.guests:
        yield Text("Guests"), ", ".join(booking.guests)
    if details.contact and details.contact.phone:
        yield Text("Phone"), details.contact.phone
    if details.contact and details.contact.company:
        yield Text("Company"), details.contact.company
    if booking.notes:
        yield Text("Notes"), booking.notes
    labels = {question.key: question.label for question in details.event_type.questions}
    for key, answer in booking.answers.items():
        yield labels.get(key, key), (Text("Yes") if answer else Text("No")) if isinstance(answer, bool) else answer
