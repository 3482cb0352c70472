"""Paying for a booking: the way to the checkout, the page of one that waits for its payment, and what was paid."""

import asyncio
from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec import Struct

from openslot.domains.access import idempotency
from openslot.domains.access.errors import KeyInUse
from openslot.domains.bookings.errors import BookingNotFound, PaymentUnavailable
from openslot.domains.bookings.links import read_manage_token
from openslot.domains.bookings.models import Booking, BookingDetails, BookingWanted, Host, Status
from openslot.domains.bookings.operations import find_pending_with_host
from openslot.domains.bookings.public_api import booking_limit
from openslot.domains.event_types.models import Money
from openslot.domains.payments import rules, words
from openslot.domains.payments.models import Mode, PaymentState, Problem, StoredPayment
from openslot.domains.payments.operations import (
    book_with_payment,
    find_payment_of_booking,
    give_payment_up,
    look_at_payment,
    open_checkout,
)
from openslot.domains.wait_list.operations import accept_offer
from openslot.doors.http.doors import take
from openslot.doors.http.errors import status_of
from openslot.doors.web.booking_page.forms import show_start
from openslot.doors.web.booking_page.refusals import limit_views, list_warnings
from openslot.doors.web.shared.booking_forms import ShownStart
from openslot.doors.web.shared.booking_view import find_look, hours_of, manage_path, show
from openslot.doors.web.shared.options import Options, read_options
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import Conflict, RateLimited, Refusal, require
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.times import get_zone, iso
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Request, Response, post

READ_WITHIN = 6.0
"""How many seconds a page waits for the payment provider, before it shows what is known."""
WAITS, WAIT = 20, 0.1
"""How often, and for how many seconds, a form that is sent twice waits for its first copy."""
HEADINGS = {
    "open": Text("Pay to confirm your booking"),
    "processing": Text("Your payment is being processed"),
    "released": Text("The time was released"),
    "late": Text("The time was gone when your payment came"),
    "differs": Text("Your payment has to be checked"),
}


class PriceChanged(Conflict):
    """The host has changed the price, or what goes back, since the form was shown: invitees see it before they pay."""

    code = "price_changed"
    message = Text("The host has changed the price or the refund policy. Nothing was booked: check it and try again")


def name_price(price: Money | None, refund_policy: str) -> str:
    """Write what a form says that its reader has seen."""
    return f"{price.amount} {price.currency} {refund_policy}" if price else ""


class SentForm(Struct, frozen=True, kw_only=True):
    """A form that is sent, perhaps for the second time."""

    path: str
    key: UUID | None
    """The key of the form as it was shown to one reader; None if repeats are not recognized."""
    seen_price: str
    entry_id: UUID | None = None
    """The entry of the wait list that this time is kept for."""

    def read_request(self, wanted: BookingWanted) -> idempotency.RetriedRequest | None:
        if self.key is None:
            return None
        caller = f"{fold_ascii(wanted.invitee.email)}\0{iso(wanted.starts_at)}\0{wanted.which.minutes or ''}"
        return idempotency.read_request(caller=caller, method="POST", path=self.path, key=str(self.key), body=b"")


async def book(runtime: Runtime, wanted: BookingWanted, sent: SentForm) -> UUID:
    """Book for the public at the price that was seen; a form that is sent twice leads to the same booking."""
    for _ in range(WAITS):
        try:
            return await runtime.run(PUBLIC, partial(_book_once, wanted=wanted, sent=sent))
        except KeyInUse:
            await asyncio.sleep(WAIT)
    raise KeyInUse


async def _book_once(work: Work, *, wanted: BookingWanted, sent: SentForm) -> UUID:
    request = sent.read_request(wanted)
    kept = await idempotency.find_response(work, request) if request else None
    if kept is not None:
        booking_id = UUID(bytes=kept.body)
        payment = await find_payment_of_booking(work, booking_id)
        if payment is not None and payment.state is not PaymentState.RELEASED:
            return booking_id
    if sent.entry_id is not None:
        await accept_offer(work, sent.entry_id)
    booking = await book_with_payment(work, wanted)
    if booking.status is Status.PENDING_PAYMENT:
        payment = require(await find_payment_of_booking(work, booking.id), BookingNotFound)
        if name_price(payment.price, payment.refund_policy) != sent.seen_price:
            raise PriceChanged
        if request is not None:
            answer = idempotency.StoredResponse(status=303, headers={}, body=booking.id.bytes)
            await idempotency.store_response(work, request, answer)
    return booking.id


async def find_checkout(work: Work, booking_id: UUID) -> str | None:
    """Return where a booking is paid, if it waits for that."""
    payment = await find_payment_of_booking(work, booking_id)
    if payment is None or payment.state not in {PaymentState.OPENING, PaymentState.OPEN}:
        return None
    return await open_checkout(work.runtime, booking_id)


class ShownMoney(Struct, frozen=True, kw_only=True):
    """What was paid for a booking."""

    text: Text
    is_test: bool
    receipt: str | None
    after_cancelling: Text


async def find_money(work: Work, booking: Booking) -> ShownMoney | None:
    """Say what was paid for a booking; one that cost nothing needs no look."""
    if booking.payment is None or booking.payment.status == "not_required":
        return None
    payment = await find_payment_of_booking(work, booking.id)
    if payment is None or payment.paid_at is None:
        return None
    return ShownMoney(
        text=words.describe_money(payment),
        is_test=payment.mode is Mode.TEST,
        receipt=payment.receipt_url,
        after_cancelling=words.describe_cancellation(payment, booking),
    )


async def show_unpaid(work: Work, request: Request, token: str) -> Response:
    """Show a booking that waits for its payment; the provider is asked, so that nobody waits for its notice."""
    booking_id = read_manage_token(work.runtime, token)
    payment = require(await find_payment_of_booking(work, booking_id), BookingNotFound)
    options = read_options(request)
    if payment.state.is_under_way or options.done == "booked":
        payment = await _look(work.runtime, payment)
    found = await find_pending_with_host(work, booking_id)
    if found is None:
        # The money has come just now.
        return redirect(manage_path(work, booking_id, options, done="booked"))
    return await _show(work, options, payment, *found)


@post("/manage/{token}/give-up", transaction="none")
@limit_views
async def give_up(work: Work, request: Request, token: str) -> Response:
    """End the checkout and free the time; whoever has paid a moment before has a confirmed booking."""
    booking_id, options = read_manage_token(work.runtime, token), read_options(request)
    try:
        await take(work.runtime, booking_limit(work.runtime.settings), request.address)
        await give_payment_up(work.runtime, booking_id)
    except (RateLimited, PaymentUnavailable) as refusal:
        payment = require(await find_payment_of_booking(work, booking_id), BookingNotFound)
        found = await find_pending_with_host(work, booking_id)
        if found is not None:
            return await _show(work, options, payment, *found, refusal=refusal)
    return redirect(manage_path(work, booking_id, options, done=""))


async def _look(runtime: Runtime, payment: StoredPayment) -> StoredPayment:
    try:
        async with asyncio.timeout(READ_WITHIN):
            return await look_at_payment(runtime, payment)
    except (TimeoutError, PaymentUnavailable):
        return payment


def _name_state(payment: StoredPayment) -> str:
    if payment.state is PaymentState.PAID:
        return "late"
    if Problem.AMOUNT_DIFFERS in payment.problems:
        return "differs"
    if payment.state is PaymentState.OPENING:
        return "open"
    return payment.state.value


async def _show(
    work: Work,
    options: Options,
    payment: StoredPayment,
    details: BookingDetails,
    host: Host,
    *,
    refusal: Refusal | None = None,
) -> Response:
    booking, event_type, state = details.booking, details.event_type, _name_state(payment)
    work = work.acting_as(PUBLIC)
    look = await find_look(work, event_type.owner_id, color=event_type.color)
    until = rules.money_comes_by(payment, booking) if state == "processing" else payment.expires_at
    return show(
        "payments/unpaid.html",
        options,
        color=look.color,
        brand=look.brand,
        status=status_of(refusal) if refusal else 200,
        is_personal=True,
        path=manage_path(work, booking.id, options, done="").partition("?")[0],
        state=state,
        heading=HEADINGS[state],
        booking=booking,
        host=host,
        event_type=event_type,
        payment=payment,
        is_test=payment.mode is Mode.TEST,
        opens=state == "open" and options.is_embedded and options.done == "booked",
        amount=words.show_amount(payment.price).localize(options.locale),
        policy_words=words.describe_policy(payment.refund_policy),
        chosen=_at(booking, booking.starts_at, options),
        until=_at(booking, until, options),
        warnings=list_warnings(refusal, True) if refusal else (),
    )


def _at(booking: Booking, when: datetime, options: Options) -> ShownStart:
    return show_start(when, get_zone(booking.invitee_zone), options.locale, hours_of(options))
