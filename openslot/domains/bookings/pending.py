"""The verbs of bookings that wait: confirmed by their payment or their host, or freed without it."""

from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.availability.claims.operations import claim_slot, confirm_time, erase_freed_time, free_time
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ByBooking
from openslot.domains.bookings import conferences, errors, store
from openslot.domains.bookings.events import BookingCreated
from openslot.domains.bookings.hosts.operations import tell_with_hosts
from openslot.domains.bookings.models import Booking, BookingDetails, Payment, Status
from openslot.domains.contacts.operations import find_or_add_contact
from openslot.domains.event_types.links.operations import give_link_back, take_link_again
from openslot.platform.core.errors import require
from openslot.platform.core.work import Work

HAND_OUT = "wait_list.hand_out"
"""Hands freed time out to those who wait for it."""


async def confirm_paid(work: Work, booking_id: UUID, payment: Payment) -> Booking:
    return await confirm(work, await _get(work, booking_id), payment=payment)


async def confirm(work: Work, details: BookingDetails, *, payment: Payment | None) -> Booking:
    """Confirm a booking that has waited; if its time was freed before, it is claimed anew or refused.

    The caller has locked the booking and its host. Hosts who were chosen are not chosen again: they keep their time as
    long as it waits.
    """
    pending = details.booking
    claim_id, seat_id, ends_at = pending.claim_id, pending.seat_id, pending.ends_at
    if await store.has_time(work.db, pending.id):
        confirm_time(work, details.taken, seat_id)
    elif details.hosts:
        raise SlotUnavailable
    else:
        # The invitee has booked a meeting as long as it was then.
        which = ByBooking(pending.event_type_id, pending.minutes)
        claimed = await claim_slot(work, which, pending.starts_at, asked_at=pending.created_at)
        claim_id, seat_id, ends_at = claimed.claim_id, claimed.seat_id, claimed.ends_at
        await take_link_again(work, pending.id)
    agreed = await store.find_consent(work.db, pending.id)
    contact = await find_or_add_contact(
        work,
        owner_id=pending.host_id,
        name=pending.invitee_name,
        email=pending.invitee_email,
        phone=agreed.phone if agreed else None,
    )
    booking = replace(
        pending,
        status=Status.CONFIRMED,
        location=await conferences.settle(work, pending.location, claim_id=claim_id, seat_id=seat_id),
        contact_id=contact.id,
        claim_id=claim_id,
        seat_id=seat_id,
        ends_at=ends_at,
        payment=payment,
        updated_at=work.now,
    )
    work.stage(store.update_confirmed(booking))
    # Whoever has paid, or was confirmed by the host, is told in any case.
    confirmed = replace(details, booking=booking, contact=contact)
    await work.record(tell_with_hosts(work, BookingCreated, confirmed, is_reserved=True))
    return booking


async def free_pending(work: Work, booking_id: UUID) -> None:
    """Free the time of a booking that was never confirmed, and the use of its link.

    Nobody is told, because only the invitee knew of it.
    """
    details = await _get(work, booking_id)
    pending = details.booking
    await free_time(work, details.taken, pending.seat_id)
    give_link_back(work, booking_id)
    await work.apply()
    if details.event_type.wait_list_minutes is not None:
        await work.plan(HAND_OUT, str(pending.host_id), due_at=work.now, tenant_id=pending.host_id)


async def note_payment(work: Work, booking_id: UUID, payment: Payment) -> None:
    """Keep what is told of a booking's payment up to date."""
    await store.update_payment(work.db, booking_id, payment)


async def erase_some_unpaid(work: Work, *, before: datetime, limit: int) -> int:
    """Delete some bookings whose time was freed before then and which nobody paid for; return how many."""
    gone = await store.delete_unpaid(work.db, before=before, limit=limit)
    await erase_freed_time(work, [claim_id for claim_id, _ in gone], [seat_id for _, seat_id in gone if seat_id])
    return len(gone)


async def _get(work: Work, booking_id: UUID) -> BookingDetails:
    return require(await store.lock_pending(work.db, booking_id), errors.BookingNotFound)
