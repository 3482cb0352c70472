"""The verbs of payments: book and pay, read what became of it, give up, refund."""

from enum import Enum
from functools import partial
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.allowances.models import CauseKind, Cost, CostCause
from openslot.domains.allowances.operations import has_spent
from openslot.domains.bookings.errors import BookingNotFound, PaymentUnavailable
from openslot.domains.bookings.links import manage_url
from openslot.domains.bookings.models import Booking, BookingDetails, BookingWanted, Status
from openslot.domains.bookings.operations import create_pending_booking
from openslot.domains.event_types.prices import TOO_FINE, is_too_fine
from openslot.domains.payments import rules, settling, store
from openslot.domains.payments.connections.accounts import opened_payment_account
from openslot.domains.payments.connections.store import (
    find_connection_of_event_type,
    get_stored_connection,
    may_use_connection,
)
from openslot.domains.payments.errors import (
    CheckoutNotOpened,
    CheckoutNotPossible,
    PaymentNotFound,
    RefundNotAllowed,
    RefundNotPossible,
    RefundsChanged,
)
from openslot.domains.payments.models import (
    CheckoutSession,
    ListedPayment,
    PaymentConnection,
    PaymentFilter,
    PaymentState,
    PaymentStep,
    Problem,
    RefundReason,
    RevenueTotal,
    SessionWanted,
    StoredPayment,
    StoredRefund,
)
from openslot.domains.payments.ports import (
    AnswerUnreadable,
    Checkout,
    CheckoutFault,
    CheckoutRefused,
    CheckoutUnavailable,
)
from openslot.domains.payments.refunds.rules import count_refundable
from openslot.domains.payments.rules import Facts
from openslot.domains.payments.store import FoundPayment
from openslot.platform.core.actor import PUBLIC, SYSTEM
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text

MAX_READS = 10
"""How often a payment is read because somebody else has changed it meanwhile."""


class ReadPurpose(Enum):
    """Why a payment is read."""

    KNOW = "know"
    OPEN = "open"
    """Somebody waits to be told where to pay; if that can't be told, nothing is booked."""
    END = "end"
    """The invitee does not want to pay any more."""


class Reading(Struct, frozen=True, kw_only=True):
    """What the provider has told of a payment that had this version."""

    version: int
    session: CheckoutSession | None = None
    is_absent: bool = False
    is_refused: bool = False
    is_cut_off: bool = False
    gives_up: bool = False


async def book_with_payment(work: Work, wanted: BookingWanted) -> Booking:
    """Book one open slot; if it must be paid for, its time is kept while `open_checkout` says where."""
    details = await create_pending_booking(work, wanted)
    if details.booking.status is Status.PENDING_PAYMENT:
        await _begin(work, details)
    return details.booking


async def _begin(work: Work, details: BookingDetails) -> None:
    booking, price = details.booking, details.event_type.price
    connection = await find_connection_of_event_type(work.db, booking.event_type_id)
    if connection is None or price is None:
        raise PaymentUnavailable
    expires_at = work.now + rules.PAYS_WITHIN
    payment = StoredPayment(
        id=new_id(),
        booking_id=booking.id,
        host_id=booking.host_id,
        connection_id=connection.id,
        mode=connection.mode,
        price=price,
        refund_policy=details.event_type.refund_policy,
        state=PaymentState.OPENING,
        expires_at=expires_at,
        held_until=expires_at + rules.HELD_LONGER,
        next_read_at=work.now + rules.LEARNED_AFTER,
        created_at=work.now,
        updated_at=work.now,
    )
    work.stage(store.insert_payment(payment))
    await work.apply()


async def open_checkout(runtime: Runtime, booking_id: UUID) -> str:
    """Return where a booking is paid; if the provider fails, its time is freed and this is refused.

    No transaction may be open. Asked again, it returns the same.
    """
    payment = require(await store.find_stored_payment(runtime.pool, booking_id), BookingNotFound)
    if payment.url is None:
        payment = await _advance(runtime, payment.id, ReadPurpose.OPEN)
    if Problem.CHECKOUT_REFUSED in payment.problems:
        raise CheckoutNotPossible
    if payment.url is None or payment.session_id is None:
        raise CheckoutNotOpened
    return payment.url


async def read_anew(runtime: Runtime, payment_id: UUID) -> StoredPayment:
    """Read a payment from the provider, and do all that follows from how it is now; no transaction may be open."""
    return await _advance(runtime, payment_id, ReadPurpose.KNOW)


async def look_at_payment(runtime: Runtime, payment: StoredPayment) -> StoredPayment:
    """Read a payment anew for the first who looks at it within five seconds; the others see what is stored."""
    return await read_anew(runtime, payment.id) if await _may_ask(runtime, payment, "look") else payment


async def give_payment_up(runtime: Runtime, booking_id: UUID) -> StoredPayment:
    """End the checkout of an invitee who does not want to pay any more, and free the time.

    Whoever has paid a moment before has a confirmed booking. Of those who ask within five seconds the provider is asked
    for the first; the others see what is stored.
    """
    payment = require(await store.find_stored_payment(runtime.pool, booking_id), BookingNotFound)
    if payment.state is PaymentState.PROCESSING and not await _may_ask(runtime, payment, "end"):
        return payment
    return await end_checkout(runtime, booking_id)


async def end_checkout(runtime: Runtime, booking_id: UUID) -> StoredPayment:
    """Let nobody pay any more for a booking, and free its time; refused if the provider can't be asked."""
    payment = require(await store.find_stored_payment(runtime.pool, booking_id), BookingNotFound)
    if payment.state in {PaymentState.PAID, PaymentState.RELEASED}:
        return payment
    given_up = await _advance(runtime, payment.id, ReadPurpose.END)
    if given_up.state in {PaymentState.OPENING, PaymentState.OPEN}:
        raise CheckoutNotOpened
    return given_up


async def _may_ask(runtime: Runtime, payment: StoredPayment, why: str) -> bool:
    """Spend a question to the provider about one payment, whoever asks it; it is spent before the provider answers."""
    everybody = CostCause(kind=CauseKind.LIMIT, name=str(payment.id))

    async def ask(work: Work) -> bool:
        return await has_spent(work, Cost.PROVIDER_READ, [everybody], scope=why)

    return await runtime.run(PUBLIC, ask)


async def _advance(runtime: Runtime, payment_id: UUID, purpose: ReadPurpose) -> StoredPayment:
    for _ in range(MAX_READS):
        found = require(await store.find_payment(runtime.pool, payment_id), PaymentNotFound)
        reading = await _read(runtime, found, purpose)
        settled = await runtime.run(SYSTEM, partial(_settle, payment_id=payment_id, reading=reading))
        if settled is not None:
            return settled
    raise CheckoutNotOpened


async def _settle(work: Work, *, payment_id: UUID, reading: Reading) -> StoredPayment | None:
    """Decide by what was read, unless it is old by now: the payment has changed, or nobody is to pay any more."""
    found = require(await store.lock_payment(work.db, payment_id), PaymentNotFound)
    if found.payment.version != reading.version:
        return None
    refunds = tuple(await store.list_refunds(work.db, payment_id))
    facts = Facts(
        payment=found.payment,
        booking=found.booking,
        has_time=found.has_time,
        host_left=found.host_left,
        refunds=refunds,
        session=reading.session,
        is_absent=reading.is_absent,
        is_refused=reading.is_refused,
        is_cut_off=reading.is_cut_off,
        gives_up=reading.gives_up,
        now=work.now,
    )
    return None if rules.must_end(facts) else await settling.settle(work, found, facts)


async def _read(runtime: Runtime, found: FoundPayment, purpose: ReadPurpose) -> Reading:
    """Ask the provider how a payment is, and end its checkout first if nobody is to pay any more."""
    payment = found.payment
    reading = Reading(version=payment.version, gives_up=purpose is ReadPurpose.END)
    if payment.session_id is None and payment.state is PaymentState.RELEASED and payment.next_read_at is None:
        return replace(reading, is_absent=True)
    connection = await find_connection(runtime, payment)
    if connection is None:
        return replace(reading, is_cut_off=True, gives_up=reading.gives_up or purpose is ReadPurpose.OPEN)
    try:
        async with opened_payment_account(runtime, connection) as checkout:
            session = await _ask(runtime, checkout, found, gives_up=reading.gives_up)
    except CheckoutFault as fault:
        is_absent = payment.session_id is None and not _may_have_happened(fault)
        is_refused = is_absent and isinstance(fault, CheckoutRefused)
        gives_up = reading.gives_up or purpose is ReadPurpose.OPEN
        return replace(reading, is_absent=is_absent, is_refused=is_refused, gives_up=gives_up)
    return replace(reading, session=session)


async def _ask(runtime: Runtime, checkout: Checkout, found: FoundPayment, *, gives_up: bool) -> CheckoutSession:
    payment = found.payment
    if payment.session_id is None:
        step = PaymentStep(payment.id, "session")
        session = await checkout.create_session(_describe_session(runtime, found), step)
    else:
        session = await checkout.get_session(payment.session_id)
    facts = Facts(
        payment=payment,
        booking=found.booking,
        has_time=found.has_time,
        host_left=found.host_left,
        session=session,
        gives_up=gives_up,
        now=runtime.clock(),
    )
    if rules.must_end(facts):
        # To end it again is no fault, so that no answer that was kept is of use.
        return await checkout.expire_session(session.id, PaymentStep(payment.id, "end", payment.version + 1))
    return session


def _describe_session(runtime: Runtime, found: FoundPayment) -> SessionWanted:
    booking, url = found.booking, manage_url(runtime, found.booking.id)
    return SessionWanted(
        payment_id=found.payment.id,
        amount=found.payment.price,
        title=found.details.event_type.name,
        email=booking.invitee_email,
        success_url=f"{url}?payment=done",
        cancel_url=f"{url}?payment=back",
        expires_at=found.payment.expires_at,
    )


async def find_connection(runtime: Runtime, payment: StoredPayment) -> PaymentConnection | None:
    """Find the account that took a payment; None if it was disconnected."""
    if payment.connection_id is None:
        return None
    connection = await get_stored_connection(runtime.pool, payment.connection_id)
    return connection if connection.key is not None else None


def _may_have_happened(fault: CheckoutFault) -> bool:
    if isinstance(fault, CheckoutUnavailable):
        # What was kept as the answer can't be learned, and nobody else knows where to pay.
        return fault.may_have_happened and not fault.needs_new_attempt
    return isinstance(fault, AnswerUnreadable)


async def refund_payment(
    work: Work,
    host: User | None,
    payment_id: UUID,
    *,
    amount: int | None = None,
    reason: RefundReason = RefundReason.HOST,
    seen: int | None = None,
) -> StoredRefund:
    """Give some or all of a payment back, never more than is left of it; the provider is asked a moment later.

    `seen` is what was left when the host was asked: a form that is sent twice refunds once.
    """
    await _check_may_refund(work, host, payment_id)
    found = require(await store.lock_payment(work.db, payment_id), PaymentNotFound)
    update = await settling.begin_update(work, found)
    left = count_refundable(update.payment, update.refunds)
    if not left:
        raise RefundNotPossible
    if seen not in (None, left):
        raise RefundsChanged
    wanted = left if amount is None else amount
    if not 1 <= wanted <= left:
        raise Invalid(details={"amount": Text("must be between 1 and %(bound)s", bound=left)})
    if is_too_fine(replace(found.payment.price, amount=wanted)):
        raise Invalid(details={"amount": TOO_FINE})
    refunded = await settling.want_refund(work, update, wanted, reason, is_rest=wanted == left)
    await settling.finish_update(work, update)
    return refunded


async def _check_may_refund(work: Work, host: User | None, payment_id: UUID) -> None:
    """Let hosts give back what went to their own account, or to that of an organization of which they are members."""
    if host is None:
        return
    require(await store.find_own(work.db, host.id, payment_id), PaymentNotFound)
    if not await may_use_connection(work.db, host.id, payment_id):
        raise RefundNotAllowed


async def find_payment_of_booking(work: Work, booking_id: UUID) -> StoredPayment | None:
    return await store.find_stored_payment(work.db, booking_id)


async def get_payment(work: Work, host: User | None, payment_id: UUID) -> StoredPayment:
    return require(await store.find_own(work.db, host.id if host else None, payment_id), PaymentNotFound)


async def list_refunds(work: Work, payment: StoredPayment) -> list[StoredRefund]:
    return await store.list_refunds(work.db, payment.id)


async def list_payments(
    work: Work, host: User | None, wanted: PaymentFilter, *, page: int = 1, limit: int = 20
) -> tuple[list[ListedPayment], int]:
    """Read one page of a host's payments, or of all, newest first, and how many there are."""
    return await store.list_payments(work.db, host.id if host else None, wanted, limit=limit, offset=(page - 1) * limit)


async def list_totals(work: Work, host: User, wanted: PaymentFilter) -> list[RevenueTotal]:
    """Sum up what a host has received and given back of what a filter finds."""
    if wanted == PaymentFilter():
        # These sums are kept, however many payments there are.
        return await store.list_totals(work.db, host.id)
    return await store.sum_filtered(work.db, host.id, wanted)
