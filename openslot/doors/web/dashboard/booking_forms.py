"""Pages: book for someone, cancel a booking, and move it to another open slot."""

from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ByBooking, BySlug, EventTypeRef
from openslot.domains.availability.operations import explain_start_time, list_open_slots
from openslot.domains.bookings import queries, rules
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.bookings.operations import cancel_booking, create_booking, reschedule_booking
from openslot.domains.bookings.series.operations import cancel_series, create_series, list_series
from openslot.domains.contacts.models import Contact
from openslot.domains.contacts.operations import get_contact
from openslot.domains.event_types.locations import WantedLocation
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import list_event_types
from openslot.doors.web.dashboard.event_types.overview import describe_event_type
from openslot.doors.web.dashboard.payments import describe_payment
from openslot.doors.web.shared import words
from openslot.doors.web.shared.booking_forms import read_recurrence
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.list_queries import read_day
from openslot.doors.web.shared.offers import format_duration, list_locations
from openslot.doors.web.shared.options import read_minutes
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.words import Weekday
from openslot.doors.web.shared.zone_search import TypedZone
from openslot.platform.core.errors import Conflict, Invalid, NotFound
from openslot.platform.core.text import LINE, EmailAddress, Name, Prose, ReasonText
from openslot.platform.core.times import at_second, get_zone, iso
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

DAYS = 7
# The fields of the verb, by those of the form.
FIELDS = {
    "startTime": "start",
    "inviteeName": "name",
    "inviteeEmail": "email",
    "inviteeTimezone": "timezone",
    "durationMinutes": "duration",
    "recurrence": "weeks",
    "recurrence.weeks": "weeks",
    "location.id": "location",
    "location.value": "place",
}


class SlotChoice(Struct, frozen=True):
    value: str
    local: str
    """The host's date and time."""
    time: object


class DayOfSlots(Struct, frozen=True, kw_only=True):
    heading: Text | Weekday
    slots: tuple[SlotChoice, ...]


class SlotPage(Struct, frozen=True, kw_only=True):
    first: date
    last: date
    earlier: date | None
    later: date
    days: tuple[DayOfSlots, ...]


async def list_choices(
    work: Work, user: User, which: EventTypeRef, *, first: date | None, moved: Booking | None = None
) -> SlotPage:
    """List the open slots of a week from a day on, in the host's zone, among them those that a moved booking leaves.

    Days that are over are not asked for.
    """
    without = (moved.seat_id or moved.claim_id) if moved else None
    today = words.day(work.now, user.zone)
    begin = max(first or today, today)
    last = begin + timedelta(days=DAYS - 1)
    _, slots, _ = await list_open_slots(work, which, timezone=user.zone, first=begin, last=last, without=without)
    own = moved.starts_at if moved else None
    starts = [start for each in slots.starts if (start := at_second(each)) != own]
    return SlotPage(
        first=begin,
        last=last,
        earlier=max(begin - timedelta(days=DAYS), today) if begin > today else None,
        later=last + timedelta(days=1),
        days=tuple(
            DayOfSlots(
                heading=words.day_heading(on, today=today),
                slots=tuple(_make_choice(each, user) for each in group),
            )
            for on, group in groupby(starts, key=lambda start: words.day(start, user.zone))
        ),
    )


def _make_choice(start: datetime, user: User) -> SlotChoice:
    local = start.astimezone(get_zone(user.zone))
    return SlotChoice(iso(start), f"{local:%Y-%m-%dT%H:%M}", local.time())


class NewBookingForm(Struct, frozen=True, kw_only=True):
    type: Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Choose an event type"))]
    start: Annotated[datetime, Meta(tz=True), WhenEmpty(Text("Choose a time"))]
    name: Annotated[Name, WhenEmpty(Text("Enter the invitee's name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter the invitee's email address"))]
    timezone: Annotated[TypedZone, WhenEmpty(Text("Choose a time zone"))]
    notes: Prose = ""
    day: str = ""
    """The first day that was shown."""
    contact: str = ""
    """The contact whose name and address the form was filled with."""
    duration: Annotated[str, Meta(max_length=10)] = ""
    """The minutes, if there is a choice."""
    weeks: Annotated[str, Meta(max_length=10)] = ""
    on_conflict: Annotated[str, Meta(max_length=10)] = ""
    location: Annotated[str, Meta(max_length=100)] = ""
    """The id of the location, if there is a choice."""
    place: Annotated[str, Meta(pattern=LINE, max_length=500)] = ""
    """The detail that the location asks the invitee for."""


@get("/bookings/new")
async def show_new_booking(request: Request, work: Work, user: User, form: Form[NewBookingForm] = Form()) -> Response:
    """Show what can be booked, and the open slots of what was chosen."""
    if form.kind is None:
        contact = await _find_contact(work, user, request.query.get("contact", ""))
        invitee = {"contact": str(contact.id), "name": contact.name, "email": contact.email} if contact else {}
        asked = {name: request.query.get(name, "") for name in ("type", "day", "duration")}
        form = form.begin({**asked, "timezone": user.zone, **invitee})
    offered, _ = await list_event_types(work, user, only_active=True)
    chosen = _find_chosen(offered, form["type"])
    first = read_day(form["day"])
    minutes = _choose_minutes(chosen, form["duration"])
    slots = await list_choices(work, user, BySlug(user.id, chosen.slug, minutes), first=first) if chosen else None
    kept = {"contact": form["contact"]} if form["contact"] else {}
    return page(
        "dashboard/new_booking.html",
        user,
        here="/bookings",
        form=form,
        offered=offered,
        chosen=chosen,
        slots=slots,
        minutes=minutes,
        path=f"/bookings/new?type={chosen.slug}" if chosen else "/bookings/new",
        kept=kept,
        asked={**kept, "duration": str(minutes)} if minutes else kept,
        carried={**kept, "day": first.isoformat()} if first else kept,
        describe=describe_event_type,
        format_duration=format_duration,
        places=list_locations(chosen, user.name) if chosen else (),
        curl=_write_curl(work, user, chosen, slots, minutes),
    )


@post("/bookings", shows=show_new_booking, at={Conflict: "start", NotFound: "type"}, names={"recurrence": "weeks"})
async def book_for_someone(work: Work, user: User, form: Form[NewBookingForm]) -> Response:
    sent = form.get()
    wanted = BookingWanted(
        which=BySlug(user.id, sent.type, read_minutes(sent.duration)),
        starts_at=sent.start,
        invitee=Invitee(name=sent.name, email=sent.email, zone=sent.timezone),
        notes=sent.notes.strip() or None,
        location=WantedLocation(id=sent.location or None, value=sent.place),
    )
    recurrence = read_recurrence(form["weeks"], form["on_conflict"])
    try:
        if recurrence is None:
            booking = await create_booking(work, wanted)
        else:
            booking = (await create_series(work, wanted, recurrence)).bookings[0]
    except Invalid as refusal:
        faults = {FIELDS.get(field, "start"): fault for field, fault in refusal.faults.items()}
        raise Invalid(details=faults) from None
    return redirect(f"/bookings/{booking.id}?done=booked")


async def _find_contact(work: Work, user: User, text: str) -> Contact | None:
    """Find the contact that an address names; a wrong one is no contact."""
    try:
        return await get_contact(work, user, UUID(text)) if text else None
    except (ValueError, NotFound):
        return None


def _find_chosen(offered: list[EventType], slug: str) -> EventType | None:
    if len(offered) == 1 and not slug:
        return offered[0]
    return next((each for each in offered if each.slug == slug), None)


def _choose_minutes(chosen: EventType | None, text: str) -> int | None:
    """Choose the duration that a form or an address asks for, or the default; None if there is no choice."""
    if chosen is None or not chosen.durations:
        return None
    asked = read_minutes(text)
    return asked if asked in chosen.durations else chosen.duration_minutes


def _write_curl(
    work: Work, user: User, chosen: EventType | None, slots: SlotPage | None, minutes: int | None
) -> object:
    if chosen is None or slots is None or not slots.days:
        return None
    body: dict[str, object] = {
        "eventTypeSlug": chosen.slug,
        "startTime": slots.days[0].slots[0].value,
        **({"durationMinutes": minutes} if minutes else {}),
        "inviteeName": "NAME",
        "inviteeEmail": "EMAIL",
        "inviteeTimezone": user.zone,
    }
    return curl(work, user, "/bookings", method="POST", body=body)


class HostCancelForm(Struct, frozen=True, kw_only=True):
    reason: ReasonText = ""
    series: Annotated[str, Meta(max_length=10)] = ""
    """Whether all dates of its series are meant; empty if only this one is."""


class HostRescheduleForm(Struct, frozen=True, kw_only=True):
    start: Annotated[datetime, Meta(tz=True), WhenEmpty(Text("Choose a time"))]
    reason: ReasonText = ""
    day: str = ""
    """The first day that was shown."""


@get("/bookings/{booking_id}/cancel")
async def show_cancel(work: Work, user: User, booking_id: UUID, form: Form[HostCancelForm] = Form()) -> Response:
    """Ask for the reason, and whether it is meant."""
    details = await queries.get_changeable(work, user, booking_id)
    booking = details.booking
    if not form.faults and not rules.can_change(booking, now=work.now):
        return redirect(f"/bookings/{booking_id}")
    dates = await list_series(work, booking, by=user.id)
    return page(
        "dashboard/cancel.html",
        user,
        here="/bookings",
        booking=booking,
        event_type=details.event_type,
        money=await describe_payment(work, booking),
        form=form,
        to_come=sum(rules.can_change(each, now=work.now) for each in dates),
        curl=curl(work, user, f"/bookings/{booking_id}/cancel", method="POST", body={"reason": form["reason"]}),
    )


@post("/bookings/{booking_id}/cancel", shows=show_cancel, at={Conflict: "form"})
async def cancel_as_host(work: Work, user: User, booking_id: UUID, form: Form[HostCancelForm]) -> Response:
    sent = form.get()
    cancel = cancel_series if sent.series else cancel_booking
    await cancel(work, await queries.get_ref(work, user, booking_id), reason=sent.reason.strip())
    return redirect(f"/bookings/{booking_id}?done=cancelled")


@get("/bookings/{booking_id}/reschedule")
async def show_reschedule_form(
    request: Request, work: Work, user: User, booking_id: UUID, form: Form[HostRescheduleForm] = Form()
) -> Response:
    """Show the open slots of a week."""
    details = await queries.get_changeable(work, user, booking_id)
    booking, path = details.booking, f"/bookings/{booking_id}/reschedule"
    which = rules.name_wanted_time(booking, details.event_type)
    if not form.faults and not rules.can_change(booking, now=work.now):
        return redirect(f"/bookings/{booking_id}")
    wanted = _read_start(request.query.get("start", ""), user) if form.kind is None else None
    if wanted is not None:
        form = await _propose(work, user, which, booking, wanted)
    first = read_day(form["day"] or request.query.get("day", "")) or words.day(booking.starts_at, user.zone)
    slots = await list_choices(work, user, which, first=first, moved=booking)
    start = slots.days[0].slots[0].value if slots.days else "2026-03-16T09:00:00Z"
    return page(
        "dashboard/reschedule.html",
        user,
        here="/bookings",
        booking=booking,
        event_type=details.event_type,
        form=form,
        slots=slots,
        path=path,
        asked=words.at(wanted, user.zone, now=work.now) if wanted and not form.faults else None,
        told=_tell_who(booking),
        curl=curl(work, user, path, method="PATCH", body={"newStartTime": start}),
    )


def _read_start(text: str, user: User) -> datetime | None:
    """Read the start that an address proposes: a time of the host's clock, or an instant; a wrong one is none."""
    try:
        start = datetime.fromisoformat(text)
    except ValueError:
        return None
    local = start if start.tzinfo else start.replace(tzinfo=get_zone(user.zone))
    return local.astimezone(UTC) if read_day(f"{start:%Y-%m-%d}") else None


async def _propose(
    work: Work, user: User, which: ByBooking, booking: Booking, start: datetime
) -> Form[HostRescheduleForm]:
    """Fill the form with a start, and say why it can't be had if it can't."""
    moved = booking.seat_id or booking.claim_id
    found = await explain_start_time(work, which, start, without=moved)
    faults = {"start": found.reasons[0].sentence} if found.reasons else {}
    return Form(values={"start": iso(start), "day": str(words.day(start, user.zone))}, faults=faults)


def _tell_who(booking: Booking) -> Text:
    name, guests = booking.invitee_name, len(booking.guests)
    if not guests:
        return Text("%(name)s will be notified by email.", name=name)
    return PluralText(
        "%(name)s and %(count)s guest will be notified by email.",
        "%(name)s and %(count)s guests will be notified by email.",
        count=guests,
        name=name,
    )


@post(
    "/bookings/{booking_id}/reschedule",
    shows=show_reschedule_form,
    at={Conflict: "start", Invalid: "start"},
    names={"newStartTime": "start"},
)
async def reschedule_as_host(work: Work, user: User, booking_id: UUID, form: Form[HostRescheduleForm]) -> Response:
    """Move a booking to the slot that was chosen."""
    ref, sent = await queries.get_ref(work, user, booking_id), form.get()
    await reschedule_booking(work, ref, sent.start, reason=sent.reason.strip())
    return redirect(f"/bookings/{booking_id}?done=moved")
