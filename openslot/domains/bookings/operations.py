"""The verbs of bookings, written once for every door."""

from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability import shares
from openslot.domains.availability.claims.operations import claim_slot
from openslot.domains.availability.models import Claimed, ClaimKind
from openslot.domains.bookings import conferences, email_proofs, errors, rules, store
from openslot.domains.bookings.agenda.store import (
    count_meetings_between,
    find_entry_with_emails,
    list_agenda_page,
    list_booking_entries,
    list_changes_of,
    list_meetings_between,
    list_selected_entries,
)
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingCreated,
    BookingNoShowMarked,
    BookingNoShowRemoved,
    BookingRescheduled,
)
from openslot.domains.bookings.hosts.operations import (
    add_hosts,
    cancel_hosts,
    count_no_show,
    erase_some_hosts,
    list_previous_hosts,
    move_hosts,
    tell_with_hosts,
)
from openslot.domains.bookings.hosts.store import is_host_of_booking
from openslot.domains.bookings.models import (
    AgendaEntry,
    AgendaFilter,
    AgendaPage,
    Booking,
    BookingChange,
    BookingDetails,
    BookingEntry,
    BookingRef,
    BookingWanted,
    EmailEntry,
    HistoryEntry,
    Host,
    HostNotes,
    MessageConsent,
    Status,
)
from openslot.domains.bookings.requests.operations import begin_booking_request
from openslot.domains.bookings.search.store import SearchResults, find_by_name
from openslot.domains.bookings.strangers.operations import reserve_confirmation, spend_mail, spend_mail_of_booking
from openslot.domains.contacts.models import Contact
from openslot.domains.contacts.operations import find_or_add_contact
from openslot.domains.event_types.links.operations import take_link_uses
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.rules import is_offered
from openslot.platform.core.db import Db
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.moments import Span
from openslot.platform.core.text import parse_email, parse_phone
from openslot.platform.core.times import find_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n import keep


async def create_booking(work: Work, wanted: BookingWanted) -> Booking:
    """Book one open slot for one invitee, who need not pay for it."""
    details = await create_pending_booking(work, wanted)
    if details.booking.status is Status.PENDING_PAYMENT:
        raise errors.PaymentUnavailable
    return details.booking


async def create_pending_booking(work: Work, wanted: BookingWanted) -> BookingDetails:
    """Book one open slot for one invitee; if it must be paid for or confirmed first, its time is taken meanwhile."""
    wanted = check_wanted(wanted)
    claimed = await claim_slot(
        work, wanted.which, wanted.starts_at, hold_id=wanted.hold_id, kind_of=partial(_kind_of, work)
    )
    event_type = claimed.event_type
    check_for(work, event_type, wanted)
    is_proven = await email_proofs.check(work, event_type, wanted)
    await check_invitee(work, event_type, wanted.invitee.email)
    wanted = await spend_mail_of_booking(work, event_type.owner_id, wanted)
    if _kind_of(work, event_type) is not ClaimKind.BOOKING:
        return await _begin_pending(work, claimed, wanted, is_proven=is_proven)
    contact = await find_contact(work, event_type, wanted)
    booking = rules.draft(claimed, contact, wanted, actor=work.actor, now=work.now)
    booking = await locate(work, booking)
    _stage_insert(work, booking, claimed, wanted, is_proven=is_proven)
    details = BookingDetails(booking, event_type, contact, rules.name_hosts(claimed.hosts))
    is_reserved = await reserve_confirmation(work, booking.host_id)
    await work.record(tell_with_hosts(work, BookingCreated, details, is_reserved=is_reserved))
    return details


async def _begin_pending(work: Work, claimed: Claimed, wanted: BookingWanted, *, is_proven: bool) -> BookingDetails:
    """Write a booking that waits for its payment or its host, within what may wait of a day."""
    await shares.spend_time(work, claimed, email=wanted.invitee.email)
    pending = rules.draft(claimed, None, wanted, actor=work.actor, now=work.now)
    _stage_insert(work, pending, claimed, wanted, is_proven=is_proven)
    details = BookingDetails(pending, claimed.event_type, None, rules.name_hosts(claimed.hosts))
    if pending.status is Status.PENDING_CONFIRMATION:
        await begin_booking_request(work, details)
    else:
        await work.apply()
    await shares.check(work, claimed, is_booked=True)
    return details


async def find_contact(work: Work, event_type: EventType, wanted: BookingWanted) -> Contact:
    """Find the contact who books, or add them."""
    agreed = wanted.message_consent
    return await find_or_add_contact(
        work,
        owner_id=event_type.owner_id,
        name=wanted.invitee.name,
        email=wanted.invitee.email,
        phone=agreed.phone if agreed and agreed.is_used else None,
    )


async def locate(work: Work, booking: Booking) -> Booking:
    location = await conferences.settle(work, booking.location, claim_id=booking.claim_id, seat_id=booking.seat_id)
    return replace(booking, location=location)


def _stage_insert(work: Work, booking: Booking, claimed: Claimed, wanted: BookingWanted, *, is_proven: bool) -> None:
    work.stage(store.insert_booking(booking, source=wanted.source, is_proven=is_proven))
    add_hosts(work, booking, claimed)
    if claimed.link is not None:
        take_link_uses(work, claimed.link, booking.id)
    if wanted.message_consent is not None:
        work.stage(store.insert_consent(booking, wanted.message_consent, now=work.now))


async def find_message_consent(work: Work, booking_id: UUID) -> MessageConsent | None:
    """Find what the invitee of a booking has agreed to, unless they have withdrawn it."""
    return await store.find_consent(work.db, booking_id)


async def find_unused_phone(work: Work, booking_id: UUID) -> str | None:
    """Find the phone that no messages are sent to, because whoever has booked had given too many others."""
    return await store.find_unused_phone(work.db, booking_id)


async def withdraw_message_consent(work: Work, ref: BookingRef) -> None:
    """Keep that an invitee wants no more messages about a booking."""
    await get_booking(work, ref)
    await store.withdraw_consent(work.db, ref.id, now=work.now)


def _kind_of(work: Work, event_type: EventType) -> ClaimKind:
    if rules.must_pay(event_type, work.actor):
        return ClaimKind.PAYMENT
    return ClaimKind.REQUEST if rules.must_ask(event_type, work.actor) else ClaimKind.BOOKING


async def cancel_booking(work: Work, ref: BookingRef, *, reason: str | None = None) -> Booking:
    """Cancel a booking and free its time; one that is already cancelled stays as it is."""
    details = await get_booking_for_change(work, ref)
    booking = details.booking
    if booking.status is Status.CANCELLED:
        return booking
    if rules.is_over(booking, now=work.now):
        raise errors.BookingAlreadyEnded
    cancelled = replace(details, booking=draft_cancelled(work, details, reason=reason))
    await cancel_hosts(work, [cancelled])
    work.stage(store.update_cancelled(cancelled.booking))
    await work.record(tell_with_hosts(work, BookingCancelled, cancelled))
    return cancelled.booking


def draft_cancelled(work: Work, details: BookingDetails, *, reason: str | None) -> Booking:
    booking = details.booking
    host_ids = {booking.host_id, *(each.user_id for each in details.hosts)}
    return replace(
        booking,
        status=Status.CANCELLED,
        location=conferences.without_link(booking.location),
        cancelled_at=work.now,
        cancel_reason=keep(reason) if reason else None,
        cancelled_by=rules.name_canceller(work.actor, host_ids=host_ids),
        sequence=booking.sequence + 1,
        no_show=False,
        updated_at=work.now,
    )


async def reschedule_booking(work: Work, ref: BookingRef, starts_at: datetime, *, reason: str | None = None) -> Booking:
    """Move a booking to another open slot: same id, duration and calendar entry; the same time changes nothing."""
    details = await get_booking_for_change(work, ref)
    booking = details.booking
    if booking.status is Status.CANCELLED:
        raise errors.BookingAlreadyCancelled
    if rules.is_over(booking, now=work.now):
        raise errors.BookingAlreadyEnded
    if starts_at == booking.starts_at:
        return booking
    if not rules.is_host(work.actor):
        _check_may_reschedule(details.event_type)
        await _check_reschedules(work, booking)
    which = rules.name_wanted_time(booking, details.event_type)
    if booking.no_show:
        await count_no_show(work, details, no_show=False)
    claimed = await move_hosts(work, details, which, starts_at)
    moved = replace(
        booking,
        starts_at=claimed.starts_at,
        ends_at=claimed.ends_at,
        claim_id=claimed.claim_id,
        seat_id=claimed.seat_id,
        sequence=booking.sequence + 1,
        reschedule_count=booking.reschedule_count + 1,
        previous_starts_at=booking.starts_at,
        no_show=False,
        updated_at=work.now,
    )
    if moved.claim_id != booking.claim_id:
        # A seat in another session: the link belongs to those who sit there.
        moved = await locate(work, moved)
    await spend_mail(work, moved.host_id, moved.invitee_email, moved.guests)
    work.stage(store.update_moved(moved))
    now = replace(details, booking=moved, event_type=claimed.event_type, hosts=rules.name_hosts(claimed.hosts))
    event = tell_with_hosts(
        work,
        BookingRescheduled,
        now,
        previous_starts_at=booking.starts_at,
        previous_ends_at=booking.ends_at,
        reason=keep(reason) if reason else None,
        previous_hosts=list_previous_hosts(details.taken, claimed),
    )
    await work.record(event)
    return moved


async def mark_no_show(work: Work, ref: BookingRef, *, no_show: bool = True) -> Booking:
    """Mark that an invitee did not come, or take that back; the same again changes nothing.

    Cancelling or rescheduling the booking takes the mark away: nobody can have missed what is still to come.
    """
    details = await get_booking_for_change(work, ref)
    booking = details.booking
    if booking.status is Status.CANCELLED:
        raise errors.BookingAlreadyCancelled
    if not rules.can_mark_no_show(booking, now=work.now):
        raise errors.BookingNotStarted
    if booking.no_show is no_show:
        return booking
    marked = replace(booking, no_show=no_show, updated_at=work.now)
    await count_no_show(work, details, no_show=no_show)
    work.stage(store.update_no_show(marked))
    event = BookingNoShowMarked if no_show else BookingNoShowRemoved
    await work.record(tell_with_hosts(work, event, replace(details, booking=marked)))
    return marked


async def get_host_notes(work: Work, host: User, booking_id: UUID) -> HostNotes:
    return await store.find_host_notes(work.db, host.id, booking_id)


async def write_private_notes(work: Work, host: User, booking_id: UUID, notes: str) -> None:
    """Keep what only the host reads about a booking; nobody is told, and no history has it."""
    if not await store.update_private_notes(work.db, host.id, booking_id, notes.strip() or None):
        raise errors.BookingNotFound


async def get_booking(work: Work, ref: BookingRef) -> BookingDetails:
    return require(await store.find_booking(work.db, ref), errors.BookingNotFound)


async def get_booking_with_host(work: Work, ref: BookingRef) -> tuple[BookingDetails, Host]:
    return require(await store.find_with_host(work.db, ref), errors.BookingNotFound)


async def find_pending_with_host(work: Work, booking_id: UUID) -> tuple[BookingDetails, Host] | None:
    """Find a booking that waits for its payment, which nobody but its invitee knows of."""
    return await store.find_pending_with_host(work.db, booking_id)


async def get_booking_with_emails(work: Work, ref: BookingRef) -> tuple[BookingEntry, list[EmailEntry]]:
    """Read a booking as lists show it, with the emails about it that were sent or have failed for good."""
    return require(await find_entry_with_emails(work.db, ref), errors.BookingNotFound)


async def list_bookings(
    work: Work, host: User, *, status: Status | None, span: Span, page: int, limit: int
) -> tuple[list[BookingEntry], int]:
    """Read one page of a host's bookings, newest start first, and how many there are."""
    return await list_booking_entries(
        work.db, host.id, status=status, span=span, limit=limit, offset=(page - 1) * limit
    )


async def list_all_bookings(
    work: Work, *, status: Status | None, span: Span, page: int, limit: int
) -> tuple[list[BookingEntry], int]:
    """Read one page of the bookings of all hosts, newest start first, and how many there are."""
    return await list_booking_entries(work.db, None, status=status, span=span, limit=limit, offset=(page - 1) * limit)


async def list_without_time(db: Db, *, now: datetime) -> list[UUID]:
    """List the upcoming confirmed bookings whose time is not claimed for them: there must be none."""
    return await store.list_without_time(db, now=now)


async def list_booking_history(work: Work, ref: BookingRef) -> list[HistoryEntry]:
    await get_booking(work, ref)
    return await store.list_history(work.db, ref.id)


async def get_booking_for_change(work: Work, ref: BookingRef) -> BookingDetails:
    """Read a booking that nobody else can change until the commit."""
    details = require(await store.lock_booking(work.db, ref), errors.BookingNotFound)
    if ref.by is None or ref.by == details.booking.host_id:
        return details
    # It may have been handed over, or its host may have left, while this waited for the lock.
    if not await is_host_of_booking(work.db, ref.id, ref.by):
        raise errors.BookingNotFound
    return details


def _check_may_reschedule(event_type: EventType) -> None:
    if event_type.requires_confirmation:
        raise errors.RescheduleByHostOnly


async def _check_reschedules(work: Work, booking: Booking) -> None:
    """Refuse a reschedule by the manage link beyond the limit; the booking is locked, so that no other is counted."""
    since = work.now - rules.RESCHEDULE_WINDOW
    taken_at = await store.find_reschedule_by_link(work.db, booking.id, since=since, place=rules.MAX_RESCHEDULES)
    if taken_at is not None:
        raise errors.RescheduleLimitExceeded(retry_after=rules.seconds_until_free(taken_at, now=work.now))


def check_wanted(wanted: BookingWanted) -> BookingWanted:
    """Refuse what is wrong before anything is looked up, and write the rest as it is kept."""
    faults = rules.find_wanted_faults(wanted)
    if faults:
        raise Invalid(details=faults)
    invitee = replace(
        wanted.invitee,
        name=wanted.invitee.name.strip(),
        email=parse_email(wanted.invitee.email),
        zone=str(find_zone(wanted.invitee.zone)),
    )
    agreed = wanted.message_consent
    return replace(
        wanted,
        invitee=invitee,
        guests=tuple(dict.fromkeys(wanted.guests)),
        message_consent=replace(agreed, phone=parse_phone(agreed.phone)) if agreed else None,
    )


def check_for(work: Work, event_type: EventType, wanted: BookingWanted) -> None:
    """Refuse answers that were not asked for, or are missing, and what can't be paid."""
    must_answer = not rules.is_host(work.actor)
    faults = rules.find_answer_faults(event_type.questions, wanted.answers, must_answer=must_answer)
    faults |= rules.find_location_faults(event_type, wanted.location, must_tell=must_answer)
    if faults:
        raise Invalid(details=faults)
    if must_answer and not is_offered(event_type):
        raise errors.PaymentUnavailable


async def check_invitee(work: Work, event_type: EventType, email: str, *, bookings: int = 1) -> None:
    """Refuse what an address books beyond its limit, except on the host's side; the host is locked."""
    limit = event_type.limits.per_invitee
    if limit is None or rules.is_host(work.actor):
        return
    if await store.count_upcoming(work.db, event_type.id, email, now=work.now) + bookings > limit:
        raise errors.InviteeLimitReached


async def erase_some_bookings(work: Work, host: User, limit: int) -> int:
    """Delete some bookings of a host whose account is deleted, and return how many; nobody is notified."""
    return await store.delete_some(work.db, host.id, limit) or await erase_some_hosts(work, host, limit)


async def list_agenda(work: Work, host: User, wanted: AgendaFilter, *, page: int = 1, limit: int = 20) -> AgendaPage:
    """Read one page of a host's bookings: upcoming ones from the next on, others from the latest on."""
    offset = (page - 1) * limit
    return await list_agenda_page(work.db, host.id, wanted, now=work.now, limit=limit, offset=offset)


async def list_bookings_between(
    work: Work, host: User, *, since: datetime, until: datetime, limit: int
) -> list[AgendaEntry]:
    return await list_meetings_between(work.db, host.id, since=since, until=until, limit=limit)


async def list_selected_bookings(work: Work, host: User, ids: list[UUID]) -> list[AgendaEntry]:
    """Read those of some bookings that are the host's own, by their starts."""
    return await list_selected_entries(work.db, host.id, ids)


async def count_bookings_between(work: Work, host: User, *, since: datetime, until: datetime) -> int:
    return await count_meetings_between(work.db, host.id, since=max(since, work.now), until=until)


async def list_booking_changes(work: Work, booking: Booking) -> list[BookingChange]:
    return await list_changes_of(work.db, booking.id)


async def search_by_name(work: Work, host: User, text: str, *, limit: int) -> SearchResults:
    """Find a host's people, bookings and event types by name, at most so many of each; a short text finds nothing."""
    if len(text) < rules.MIN_SEARCH:
        return SearchResults()
    return await find_by_name(work.db, host.id, text, now=work.now, limit=limit)
