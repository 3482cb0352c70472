"""To book without a key, and to be told where to pay."""

from uuid import UUID

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from openslot.availability.models import ById
from openslot.bookings import email_proofs, series
from openslot.bookings.errors import EmailVerificationRequired
from openslot.bookings.links import list_manage_urls, manage_url
from openslot.bookings.models import BookingWanted, EmailProof, Status
from openslot.bookings.schemas import CreatedPublicBooking, PublicBookingBody, read_wanted, show_created
from openslot.bookings.series_schemas import read_recurrence, show_series
from openslot.core.errors import Refusal
from openslot.core.ids import parse_id
from openslot.core.sources import name_campaign
from openslot.core.work import Runtime, Work
from openslot.payments import operations
from openslot.routing import Request, Response, post


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
    return f"{invitee.event_type_id}\0{invitee.invitee_email.lower()}"


async def add_payment_url(runtime: Runtime, response: Response) -> Response:
    """Tell where to pay for a booking that waits for it; the provider is asked when the booking is committed."""
    if not isinstance(response.body, bytes):
        return response
    created = _read_created(response.body)
    if created.status is not Status.PENDING_PAYMENT:
        return response
    url = await operations.open_checkout(runtime, UUID(created.booking_id))
    return replace(response, body=msgspec.json.encode(replace(created, payment_url=url)))


async def prove_email(runtime: Runtime, request: Request, refusal: Refusal) -> EmailProof:
    """Prove the invitee's address by the code that was sent with a refused booking, or send one there."""
    if not isinstance(refusal, EmailVerificationRequired):
        raise refusal
    return await email_proofs.settle(runtime, refusal, from_address=request.address)


@post("/api/bookings", retried_by=invitee_of, settle=prove_email, then=add_payment_url)
async def create_public_booking(work: Work, request: Request, data: PublicBookingBody) -> CreatedPublicBooking:
    """Book an available slot of a host, once or in several weeks in a row, as the booking page and the widget do.

    A slot that has a price is kept while the invitee pays at `paymentUrl`, and confirmed by the payment. An event type
    with `requiresEmailVerification` is booked in two requests: the first is refused with 403 and sends a code to the
    invitee, the second has it as `emailCode`.
    """
    wanted = _read_wanted(request, data)
    if data.recurrence:
        made = await series.create_series(work, wanted, read_recurrence(data.recurrence))
        shown = show_series(made, list_manage_urls(work.runtime, made.booking_ids))
        return show_created(made.bookings[0], manage_url=shown.bookings[0].manage_url, payment_url=UNSET, series=shown)
    booking = await operations.book(work, wanted)
    return show_created(booking, manage_url=manage_url(work.runtime, booking.id), payment_url=UNSET, series=UNSET)


def _read_wanted(request: Request, data: PublicBookingBody) -> BookingWanted:
    wanted = read_wanted(
        data,
        ById(parse_id(data.event_type_id), data.token, data.duration_minutes),
        accept_language=request.headers.get("accept-language", ""),
        hold_id=parse_id(data.hold_id) if data.hold_id else None,
        agreed=data.message_consent,
    )
    return replace(
        wanted,
        source=name_campaign(data.source) if data.source else None,
        email_code=data.email_code,
        email_proof=request.settled if isinstance(request.settled, EmailProof) else None,
    )
