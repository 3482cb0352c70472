"""Pages: a booking that the host makes for someone."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.accounts.models import User
from openslot.availability.models import BySlug
from openslot.bookings import operations as bookings
from openslot.bookings.models import BookingWanted, Invitee
from openslot.contacts import operations as contacts
from openslot.contacts.models import Contact
from openslot.core.errors import Conflict, Invalid, NotFound
from openslot.core.text import LINE, EmailAddress, Name, Prose
from openslot.core.work import Work
from openslot.core.zones import Zone
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.slots import SlotPage, list_choices
from openslot.web.list_addresses import read_day
from openslot.web.pages import page, redirect

# The fields of the verb, by those of the form.
FIELDS = {"startTime": "start", "inviteeName": "name", "inviteeEmail": "email", "inviteeTimezone": "timezone"}


class NewBookingForm(Struct, frozen=True, kw_only=True):
    """What is booked, when, and for whom."""

    type: Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Choose an event type"))]
    start: Annotated[datetime, Meta(tz=True), WhenEmpty(Text("Choose a time"))]
    name: Annotated[Name, WhenEmpty(Text("Enter the invitee's name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter the invitee's email address"))]
    timezone: Annotated[Zone, WhenEmpty(Text("Choose a time zone"))]
    notes: Prose = ""
    day: str = ""
    """The first day that was shown."""
    contact: str = ""
    """The contact whose name and address the form was filled with."""


@get("/bookings/new")
async def show_new_booking(request: Request, work: Work, user: User) -> Response:
    """Show what can be booked, and the open slots of what was chosen."""
    contact = await _find_contact(work, user, request.query.get("contact", ""))
    invitee = {"contact": str(contact.id), "name": contact.name, "email": contact.email} if contact else {}
    values = {"type": request.query.get("type", ""), "timezone": user.zone, **invitee}
    return await _show(work, user, Form(values=values), first=read_day(request.query.get("day", "")))


@post("/bookings")
async def book_for_someone(work: Work, user: User, form: Form[NewBookingForm]) -> Response:
    """Make a booking for someone."""
    if form.faults:
        return await _show(work, user, form, first=read_day(form["day"]))
    sent = form.get()
    wanted = BookingWanted(
        which=BySlug(user.id, sent.type),
        starts_at=sent.start,
        invitee=Invitee(name=sent.name, email=sent.email, zone=sent.timezone),
        notes=sent.notes.strip() or None,
    )
    try:
        booking = await bookings.create_booking(work, wanted)
    except Invalid as refusal:
        faults = {FIELDS.get(field, "start"): fault for field, fault in refusal.faults.items()}
        return await _show(work, user, form.with_faults(faults), first=read_day(form["day"]))
    except Conflict as refusal:
        taken = form.with_faults({"start": refusal.sentence})
        return await _show(work, user, taken, first=read_day(form["day"]))
    except NotFound as refusal:
        return await _show(work, user, form.with_faults({"type": refusal.sentence}), first=None)
    return redirect(f"/bookings/{booking.id}?done=booked")


async def _show(work: Work, user: User, form: Form[NewBookingForm], *, first: date | None) -> Response:
    offered, _ = await event_types.list_event_types(work, user, only_active=True)
    chosen = _find_chosen(offered, form["type"])
    slots = await list_choices(work, user, BySlug(user.id, chosen.slug), first=first) if chosen else None
    return page(
        "dashboard/new_booking.html",
        user,
        here="/bookings",
        status=400 if form.faults else 200,
        form=form,
        offered=offered,
        chosen=chosen,
        slots=slots,
        path=f"/bookings/new?type={chosen.slug}" if chosen else "/bookings/new",
        kept={"contact": form["contact"]} if form["contact"] else {},
        curl=_write_curl(work, user, chosen, slots),
    )


async def _find_contact(work: Work, user: User, text: str) -> Contact | None:
    """Find the contact that an address names; a wrong one is no contact."""
    try:
        return await contacts.get_contact(work, user, UUID(text)) if text else None
    except (ValueError, NotFound):
        return None


def _find_chosen(offered: list[EventType], slug: str) -> EventType | None:
    if len(offered) == 1 and not slug:
        return offered[0]
    return next((each for each in offered if each.slug == slug), None)


def _write_curl(work: Work, user: User, chosen: EventType | None, slots: SlotPage | None) -> object:
    if chosen is None or slots is None or not slots.days:
        return None
    body = {
        "eventTypeSlug": chosen.slug,
        "startTime": slots.days[0].slots[0].value,
        "inviteeName": "NAME",
        "inviteeEmail": "EMAIL",
        "inviteeTimezone": user.zone,
    }
    return curl(work, user, "/bookings", method="POST", body=body)
