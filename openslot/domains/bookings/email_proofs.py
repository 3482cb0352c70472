"""Proof of the invitee's email address, where the host asks for it: by a code, a session or the link of a mail."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from openslot.domains.access import email_codes
from openslot.domains.bookings import rules
from openslot.domains.bookings.errors import EmailCodeInvalid, EmailCodeNotSent, EmailVerificationRequired
from openslot.domains.bookings.models import BookingWanted, EmailProof
from openslot.domains.event_types.models import EventType
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Runtime, Work

Booked = TypeVar("Booked")


async def check(work: Work, event_type: EventType, wanted: BookingWanted) -> bool:
    """Refuse an address that nobody has proven where that is asked for, and return whether it was proven.

    The host's side is not asked. A code is used up if the booking is made.
    """
    if not event_type.requires_email_verification or rules.is_host(work.actor):
        return False
    proof, invitee = wanted.email_proof, wanted.invitee
    if proof is None or fold_ascii(proof.email) != fold_ascii(invitee.email):
        raise EmailVerificationRequired(event_type.id, invitee, wanted.email_code, host_id=event_type.owner_id)
    if proof.code_id is not None and not await email_codes.use_code(work, proof.code_id, event_type.id, invitee.email):
        raise EmailCodeInvalid
    return True


async def settle(runtime: Runtime, refused: EmailVerificationRequired, *, from_address: str) -> EmailProof:
    """Prove the address by the code that came with a refused booking; without one send it, and refuse again.

    Everything else about the booking was in order, so that codes are sent to those alone who could book. No transaction
    may be open.
    """
    event_type_id, invitee, entered = refused.event_type_id, refused.invitee, (refused.email_code or "").strip()
    if not entered:
        wait = await email_codes.send_code(
            runtime,
            event_type_id,
            invitee.email,
            host_id=refused.host_id,
            locale=invitee.locale,
            from_address=from_address,
        )
        raise EmailCodeNotSent(refused, wait) if wait else refused
    code_id = await email_codes.try_code(runtime, event_type_id, invitee.email, entered, from_address=from_address)
    if code_id is None:
        raise EmailCodeInvalid
    return EmailProof(invitee.email, code_id)


async def book_proven(
    runtime: Runtime,
    wanted: BookingWanted,
    book: Callable[[BookingWanted], Awaitable[Booked]],
    *,
    from_address: str,
) -> Booked:
    """Book in transactions of its own: at once, or with the proof if the host asks for it."""
    try:
        return await book(wanted)
    except EmailVerificationRequired as refused:
        proof = await settle(runtime, refused, from_address=from_address)
    return await book(replace(wanted, email_proof=proof))
