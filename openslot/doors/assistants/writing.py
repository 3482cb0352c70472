"""The tools with which a user's assistant changes something: the same verbs as everywhere, on the user's behalf."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from openslot.domains.access.models import AssistantEntry
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.schemas import InviteeFields, IsoMoment, read_wanted
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.models import CountedContact
from openslot.domains.contacts.schemas import ContactChanges, ContactWanted
from openslot.domains.event_types.links.operations import create_booking_link, find_link_url
from openslot.domains.event_types.operations import get_event_type_by_slug
from openslot.domains.event_types.schemas import LinkBody
from openslot.domains.schedules.models import OutOfOffice
from openslot.domains.schedules.operations import add_out_of_office, list_absences
from openslot.doors.assistants.schemas import (
    BlockedTime,
    HostBooking,
    HostContact,
    SharedLink,
    embed_event_type,
    show_booking,
    show_contact,
)
from openslot.doors.assistants.tools import AssistantTool, BookingId, EventTypeSlug
from openslot.doors.mcp.quotes import quote_some
from openslot.doors.mcp.retries import IdempotencyKey
from openslot.doors.mcp.tools import ToolArguments, define_tool, inside, naming, read_given
from openslot.doors.oauth.models import AssistantScope
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE, ReasonText
from openslot.platform.core.times import iso
from openslot.platform.core.work import Work
from openslot.platform.routing import Success

SentReason = Annotated[ReasonText | None, Meta(description="Sent to the invitee with the notice")]
ContactId = Annotated[UUID, Meta(description="The contact's id, from list_contacts")]


def writes(
    scope: AssistantScope, *, is_idempotent: bool = True, is_destructive: bool = False, reaches_outside: bool = False
) -> Callable[[Callable[..., Awaitable[object]]], AssistantTool]:
    """Declare a tool that changes something; it runs in one transaction."""
    return lambda function: define_tool(
        function,
        AssistantTool,
        scope=scope,
        is_read_only=False,
        is_idempotent=is_idempotent,
        is_destructive=is_destructive,
        reaches_outside=reaches_outside,
    )


class NewBooking(InviteeFields, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is to be booked, and for whom."""

    event_type: EventTypeSlug
    idempotency_key: IdempotencyKey = None


class Creation(ToolArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What every tool takes that adds something."""

    idempotency_key: IdempotencyKey = None


class NewLink(LinkBody, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The link to create."""

    event_type: EventTypeSlug
    idempotency_key: IdempotencyKey = None


class NewContact(ContactWanted, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The contact to create."""

    idempotency_key: IdempotencyKey = None


@writes(AssistantScope.BOOKINGS_WRITE, is_idempotent=False, reaches_outside=True)
async def create_booking(work: Work, *, call: AssistantEntry, arguments: NewBooking) -> HostBooking:
    """Book a free time of one of the user's event types for somebody else, the invitee.

    Take the time from get_availability. It is the user's own act: nobody has to pay or to confirm. The invitee and the
    user are told by email.
    """
    which = BySlug(call.user.id, arguments.event_type, arguments.duration_minutes)
    with naming("eventType"):
        booking = await bookings.create_booking(work, read_wanted(arguments, which))
    return await _show(work, call, BookingRef(booking.id, call.user.id))


@writes(AssistantScope.BOOKINGS_WRITE, is_destructive=True, reaches_outside=True)
async def reschedule_booking(
    work: Work, *, call: AssistantEntry, booking_id: BookingId, new_start_time: IsoMoment, reason: SentReason = None
) -> HostBooking:
    """Move one of the user's bookings to another free time, from get_availability. The invitee is told by email."""
    ref = BookingRef(booking_id, call.user.id)
    with naming("bookingId"):
        await bookings.reschedule_booking(work, ref, new_start_time, reason=reason)
    return await _show(work, call, ref)


@writes(AssistantScope.BOOKINGS_WRITE, is_destructive=True, reaches_outside=True)
async def cancel_booking(
    work: Work, *, call: AssistantEntry, booking_id: BookingId, reason: SentReason = None
) -> HostBooking:
    """Cancel one of the user's bookings. It can't be undone, and the invitee is told by email.

    To cancel it again changes nothing.
    """
    ref = BookingRef(booking_id, call.user.id)
    with naming("bookingId"):
        await bookings.cancel_booking(work, ref, reason=reason)
    return await _show(work, call, ref)


@writes(AssistantScope.BOOKINGS_WRITE, is_destructive=True)
async def mark_no_show(
    work: Work,
    *,
    call: AssistantEntry,
    booking_id: BookingId,
    no_show: Annotated[bool, Meta(description="false takes the mark back")] = True,
) -> HostBooking:
    """Mark that the invitee of a booking did not come, or take that back. The invitee is not told."""
    ref = BookingRef(booking_id, call.user.id)
    with naming("bookingId"):
        await bookings.mark_no_show(work, ref, no_show=no_show)
    return await _show(work, call, ref)


async def _show(work: Work, call: AssistantEntry, ref: BookingRef) -> HostBooking:
    entry, _ = await bookings.get_booking_with_emails(work, ref)
    return show_booking(entry, scopes=call.scopes)


@writes(AssistantScope.BOOKINGS_WRITE, is_idempotent=False)
async def block_time(
    work: Work,
    *,
    call: AssistantEntry,
    arguments: Creation,
    start_time: IsoMoment,
    end_time: IsoMoment,
    reason: Annotated[str, Meta(pattern=LINE, max_length=200, description="Only the user reads it")] = "",
) -> BlockedTime:
    """Block a time in all of the user's schedules, as time off: nothing can be booked in it.

    Bookings that are in it already stay; bookingsInside says how many.
    """
    away_id = await _add_away(work, call, OutOfOffice(start_time, end_time, reason))
    inside_it = [each.bookings for each in await list_absences(work, call.user) if each.id == away_id]
    return BlockedTime(
        id=str(away_id),
        start_time=iso(start_time),
        end_time=iso(end_time),
        reason=quote_some(reason),
        bookings_inside=sum(inside_it),
    )


async def _add_away(work: Work, call: AssistantEntry, away: OutOfOffice) -> UUID:
    _check_future(away.ends_at, now=work.now)
    try:
        return await add_out_of_office(work, call.user, away)
    except Invalid as refusal:
        names = {"from": "startTime", "to": "endTime"}
        faults = {names.get(name, name): fault for name, fault in (refusal.details or {}).items()}
        raise Invalid(details=faults) from None


def _check_future(ends_at: datetime, *, now: datetime) -> None:
    if ends_at <= now:
        raise Invalid(details={"endTime": "must be in the future"})


@writes(AssistantScope.BOOKINGS_WRITE, is_idempotent=False)
async def create_link(work: Work, *, call: AssistantEntry, arguments: NewLink) -> SharedLink:
    """Create a link through which somebody can book one of the user's event types, once unless you say otherwise.

    It opens a private event type, too. Give its url only to those whom the user wants to invite.
    """
    with naming("eventType"):
        found = await get_event_type_by_slug(work, call.user, arguments.event_type)
    event_type, made = await create_booking_link(
        work, call.user, found.id, uses=arguments.uses, ends_at=arguments.ends_at, note=arguments.note
    )
    return SharedLink(
        id=str(made.link.id),
        url=find_link_url(work.runtime, call.user, event_type, made),
        event_type=embed_event_type(event_type),
        uses=made.link.uses,
        ends_at=iso(made.link.ends_at) if made.link.ends_at else None,
    )


@writes(AssistantScope.CONTACTS_WRITE, is_idempotent=False)
async def create_contact(work: Work, *, call: AssistantEntry, arguments: NewContact) -> HostContact:
    """Add a contact to the user's contacts. The email address must be new among them."""
    given = {name: getattr(arguments, name) for name in ContactWanted.__struct_fields__}
    contact = await contacts.add_contact(work, call.user, ContactWanted(**given))
    return show_contact(CountedContact(contact, 0))


@writes(AssistantScope.CONTACTS_WRITE, is_destructive=True)
async def update_contact(
    work: Work,
    *,
    call: AssistantEntry,
    contact_id: ContactId,
    changes: Annotated[ContactChanges, Meta(description="The fields to change; null clears an optional field")],
) -> HostContact:
    """Change some fields of one of the user's contacts. Tags are replaced as a whole."""
    read_given(changes, argument="changes")
    with naming("contactId"):
        with inside("changes"):
            await contacts.change_contact(work, call.user, contact_id, changes)
        known = await contacts.get_contact_with_meetings(work, call.user, contact_id)
    return show_contact(CountedContact(known.contact, known.meeting_count))


@writes(AssistantScope.CONTACTS_WRITE, is_destructive=True)
async def delete_contact(work: Work, *, call: AssistantEntry, contact_id: ContactId) -> Success:
    """Delete one of the user's contacts for good. Bookings keep the invitee's name and email address."""
    with naming("contactId"):
        await contacts.delete_contact(work, call.user, contact_id)
    return Success()
