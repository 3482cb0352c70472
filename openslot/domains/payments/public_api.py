"""To book without a key, to be told where to pay, and to read and cancel by the manage link, also what waits."""

from contextlib import suppress
from functools import partial
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from openslot.domains.availability.errors import HoldNotFound
from openslot.domains.availability.models import ById
from openslot.domains.bookings import email_proofs
from openslot.domains.bookings.errors import BookingNotFound, EmailVerificationRequired
from openslot.domains.bookings.links import list_manage_urls, manage_url, read_manage_token
from openslot.domains.bookings.models import BookingRef, BookingWanted, EmailProof, Status
from openslot.domains.bookings.operations import (
    cancel_booking,
    find_pending_with_host,
    find_unused_phone,
    get_booking_with_host,
)
from openslot.domains.bookings.requests.operations import get_request_with_host, withdraw_booking_request
from openslot.domains.bookings.rules import can_change
from openslot.domains.bookings.schemas import (
    CancelBody,
    CreatedPublicBooking,
    ManagedBooking,
    PublicBookingBody,
    read_wanted,
    show_created,
    show_managed,
    show_requested,
    show_waiting,
    without_links,
)
from openslot.domains.bookings.series.operations import cancel_series, create_series
from openslot.domains.bookings.series.schemas import read_recurrence, show_series
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.payments import operations
from openslot.domains.payments.errors import PaymentProcessing
from openslot.domains.payments.models import PaymentState
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import parse_id
from openslot.platform.core.sources import name_campaign
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Runtime, Work
from openslot.platform.routing import Request, Response, Success, get, post


class _Invitee(msgspec.Struct, frozen=True, rename="camel"):
    """What tells one public booking's invitee from another's."""

    event_type_id: str
    invitee_email: str


_read_invitee = msgspec.json.Decoder(_Invitee).decode
_read_created = msgspec.json.Decoder(CreatedPublicBooking).decode


def invitee_of(request: Request) -> str | None:
    """Name who books, for recognising a retry; None where the body does not say it."""
    try:
        invitee = _read_invitee(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return f"{invitee.event_type_id}\0{fold_ascii(invitee.invitee_email)}"


def hide_links(body: bytes) -> bytes:
    return msgspec.json.encode(without_links(_read_created(body)))


async def add_payment_url(runtime: Runtime, response: Response) -> Response:
    """Tell where to pay for a booking that waits for it; the provider is asked when the booking is committed."""
    if not isinstance(response.body, bytes):
        return response
    created = _read_created(response.body)
    if created.status is not Status.PENDING_PAYMENT or created.manage_url is UNSET:
        return response
    url = await operations.open_checkout(runtime, UUID(created.booking_id))
    return replace(response, body=msgspec.json.encode(replace(created, payment_url=url)))


async def prove_email(runtime: Runtime, request: Request, refusal: Refusal) -> EmailProof:
    """Prove the invitee's address by the code that was sent with a refused booking, or send one there."""
    if not isinstance(refusal, EmailVerificationRequired):
        raise refusal
    return await email_proofs.settle(runtime, refusal, from_address=request.address)


@post("/api/bookings", retried_by=invitee_of, hide=hide_links, settle=prove_email, then=add_payment_url)
async def create_public_booking(work: Work, request: Request, data: PublicBookingBody) -> CreatedPublicBooking:
    """Book an available slot of a host, once or in several weeks in a row, as the booking page and the widget do.

    A slot that has a price is kept while the invitee pays at `paymentUrl`, and confirmed by the payment. An event type
    with `requiresEmailVerification` is booked in two requests: the first is refused with 403 and sends a code to the
    invitee, the second has it as `emailCode`.
    """
    wanted = _read_wanted(request, data)
    if data.recurrence:
        made = await create_series(work, wanted, read_recurrence(data.recurrence))
        shown = show_series(made, list_manage_urls(work.runtime, made.booking_ids))
        first, url = made.bookings[0], shown.bookings[0].manage_url
        phone = await _find_unused_phone(work, data, first.id)
        return show_created(first, manage_url=url, payment_url=UNSET, no_messages_to=phone, series=shown)
    booking = await operations.book_with_payment(work, wanted)
    url, phone = manage_url(work.runtime, booking.id), await _find_unused_phone(work, data, booking.id)
    return show_created(booking, manage_url=url, payment_url=UNSET, no_messages_to=phone, series=UNSET)


async def _find_unused_phone(work: Work, data: PublicBookingBody, booking_id: UUID) -> str | UnsetType:
    if data.message_consent is None:
        return UNSET
    return await find_unused_phone(work, booking_id) or UNSET


def _read_wanted(request: Request, data: PublicBookingBody) -> BookingWanted:
    wanted = read_wanted(
        data,
        ById(parse_id(data.event_type_id, EventTypeNotFound), data.token, data.duration_minutes),
        accept_language=request.headers.get("accept-language", ""),
        hold_id=parse_id(data.hold_id, HoldNotFound) if data.hold_id else None,
        agreed=data.message_consent,
    )
    return replace(
        wanted,
        source=name_campaign(data.source) if data.source else None,
        email_code=data.email_code,
        email_proof=request.settled if isinstance(request.settled, EmailProof) else None,
    )


@get("/manage/{token}", summary="Get a booking by its manage link")
async def get_managed_booking(work: Work, token: str) -> ManagedBooking:
    """Get the booking that a manage link belongs to."""
    ref = BookingRef(read_manage_token(work.runtime, token), None)
    try:
        details, host = await get_booking_with_host(work, ref)
    except BookingNotFound:
        return await get_waiting(work, ref.id)
    return show_managed(details, host, can_change=can_change(details.booking, now=work.now))


async def get_waiting(work: Work, booking_id: UUID) -> ManagedBooking:
    """Get a booking that waits for its payment or its host, or has waited in vain."""
    found = await find_pending_with_host(work, booking_id)
    payment = await operations.find_payment_of_booking(work, booking_id)
    if found is None or payment is None:
        return show_requested(*await get_request_with_host(work, booking_id))
    return show_waiting(*found, is_waiting=payment.state.is_under_way)


@post("/manage/{token}/cancel", summary="Cancel a booking by its manage link", transaction="none")
async def cancel_managed_booking(work: Work, token: str, data: CancelBody | None = None) -> Success:
    """Cancel the booking that a manage link belongs to, or its whole series, or withdraw what waits for the host.

    The time of a booking that waits for its payment is free again, and nobody can pay for it any more.
    """
    cancel = partial(_cancel, booking_id=read_manage_token(work.runtime, token), body=data or CancelBody())
    try:
        await work.runtime.run(work.actor, cancel)
    except BookingNotFound:
        payment = await operations.give_payment_up(work.runtime, cancel.keywords["booking_id"])
        if payment.state is PaymentState.PROCESSING:
            raise PaymentProcessing from None
        with suppress(BookingNotFound):
            # Whoever has paid a moment before has a confirmed booking.
            await work.runtime.run(work.actor, cancel)
    return Success()


async def _cancel(work: Work, *, booking_id: UUID, body: CancelBody) -> None:
    cancel = cancel_series if body.series else cancel_booking
    try:
        await cancel(work, BookingRef(booking_id, None), reason=body.reason)
    except BookingNotFound:
        await withdraw_booking_request(work, booking_id)
