"""Pages: what invitees have paid, also as a CSV file; one payment with all that became of it, and giving it back."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking
from openslot.domains.event_types.models import Money
from openslot.domains.payments import operations, queries, rules
from openslot.domains.payments.models import ListedPayment, Mode, PaymentFilter, Problem, StoredPayment
from openslot.domains.payments.queries import PaymentOverview
from openslot.domains.payments.words import (
    PROBLEMS,
    REFUND_REASONS,
    REFUND_STATES,
    STATUSES,
    describe_cancellation,
    describe_money,
    describe_policy,
    show_amount,
)
from openslot.doors.web.dashboard.event_types.forms import BadAmount, read_price, write_amount
from openslot.doors.web.shared import words
from openslot.doors.web.shared.downloads import send_csv, write_csv
from openslot.doors.web.shared.list_queries import ListQuery, read_list_query
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.platform.core.errors import Conflict, Invalid
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale
from openslot.platform.i18n.localization import localize
from openslot.platform.i18n.money import Amount
from openslot.platform.routing import Form, Request, Response, get, post

ROWS, MAX_ROWS = 25, 10_000
FILTERS = tuple(each for each in STATUSES if each != "not_required")
NOTICES = {"refunded": Text("The refund was requested. It usually arrives within a few days.")}
COLUMNS = (
    Text("Paid"),
    Text("Name"),
    Text("Email address"),
    Text("Event type"),
    Text("Start"),
    Text("Amount"),
    Text("Refunded"),
    Text("Currency"),
    Text("Status"),
    Text("Mode"),
)


class PaymentRow(Struct, frozen=True, kw_only=True):
    """A payment in a list, or on its booking's page."""

    id: UUID
    status: Text
    tone: str
    is_test: bool
    amount: object
    money: Text
    receipt: str | None
    after_cancelling: Text | None = None
    is_refundable: bool = False


class ReturnedSum(Struct, frozen=True):
    """What goes back in one currency."""

    amount: Amount
    is_test: bool


def _show(payment: StoredPayment, booking: Booking | None = None) -> PaymentRow:
    status, tone = STATUSES[rules.status_of(payment)]
    return PaymentRow(
        id=payment.id,
        status=status,
        tone=tone,
        is_test=payment.mode is Mode.TEST,
        amount=show_amount(payment.price),
        money=describe_money(payment),
        receipt=payment.receipt_url,
        after_cancelling=describe_cancellation(payment, booking) if booking else None,
        is_refundable=payment.paid_at is not None and payment.refunded_amount < payment.price.amount,
    )


async def describe_payment(work: Work, booking: Booking) -> PaymentRow | None:
    """Say what was paid for a booking, and what becomes of it if the host cancels; most cost nothing."""
    if booking.payment is None or booking.payment.status == "not_required":
        return None
    payment = await operations.find_payment_of_booking(work, booking.id)
    return _show(payment, booking) if payment else None


async def describe_payments(work: Work, user: User, booking_ids: Collection[UUID]) -> dict[UUID, PaymentRow]:
    """Say what was paid for each of some bookings that cost something."""
    return {each.booking_id: _show(each) for each in await queries.list_of_bookings(work, user, booking_ids)}


async def sum_returned(work: Work, user: User, booking_ids: Collection[UUID]) -> list[ReturnedSum]:
    """Sum up what goes back if the host cancels some bookings: of each all that is left, whatever its policy."""
    sums: Counter[tuple[Mode, str]] = Counter()
    for each in await queries.list_of_bookings(work, user, booking_ids):
        sums[each.mode, each.price.currency] += each.price.amount - each.refunded_amount
    return [
        ReturnedSum(Amount(left, currency), mode is Mode.TEST)
        for (mode, currency), left in sorted(sums.items())
        if left
    ]


def _filter(query: ListQuery) -> PaymentFilter:
    return PaymentFilter(
        status=query["status"] or None,
        since=query.span.starts_at,
        before=query.span.ends_before,
        search=query["q"],
    )


def _read_query(request: Request, user: User) -> ListQuery:
    return read_list_query(request, user, "/payments", "q", "status", "from", "to", choices={"status": set(FILTERS)})


@get("/payments")
async def show_payments(request: Request, work: Work, user: User) -> Response:
    """Show one page of what was paid, and of all that the filter finds the totals of each currency."""
    query = _read_query(request, user)
    found, total = await operations.list_payments(work, user, _filter(query), page=query.page, limit=ROWS)
    return page(
        "payments/list.html",
        user,
        here="/payments",
        status=400 if query.form.faults else 200,
        form=query.form,
        rows=[(each, _show(each.payment)) for each in found],
        names_mode=len({each.payment.mode for each in found}) > 1,
        totals=await operations.list_totals(work, user, _filter(query)),
        takes_payments=bool(found) or await queries.takes_payments(work, user),
        statuses=[(each, STATUSES[each][0]) for each in FILTERS],
        is_narrowed=query.is_narrowed,
        total=total,
        show_amount=show_amount,
        pager=query.pager(total, ROWS),
        export=query.link("/payments/export.csv"),
    )


@get("/payments/export.csv")
async def export_payments(request: Request, work: Work, user: User) -> Response:
    """Send the payments that the address asks for, 10,000 at most."""
    wanted = _filter(_read_query(request, user))
    found, _ = await operations.list_payments(work, user, wanted, limit=MAX_ROWS)
    locale = locale_of(request)
    columns = (str(localize(column, locale)) for column in COLUMNS)
    body = write_csv(columns, (_cells(each, user, locale) for each in found))
    return send_csv(f"payments-{words.day(work.now, user.zone)}.csv", body)


def _cells(listed: ListedPayment, user: User, locale: Locale) -> Iterator[str]:
    payment, zone = listed.payment, get_zone(user.zone)
    yield f"{payment.paid_at.astimezone(zone):%Y-%m-%d %H:%M}" if payment.paid_at else ""
    yield listed.invitee_name
    yield listed.invitee_email
    yield listed.event_type_name
    yield f"{listed.starts_at.astimezone(zone):%Y-%m-%d %H:%M}"
    yield write_amount(payment.price)
    yield write_amount(Money(payment.refunded_amount, payment.price.currency))
    yield payment.price.currency
    yield str(localize(STATUSES[rules.status_of(payment)][0], locale))
    yield payment.mode.value


@get("/payments/{payment_id}")
async def show_payment(work: Work, user: User, payment_id: UUID) -> Response:
    found = await queries.get_overview(work, user, payment_id)
    payment, booking = found.payment, found.details.booking
    return page(
        "payments/payment.html",
        user,
        here="/payments",
        payment=payment,
        booking=booking,
        event_type=found.details.event_type,
        row=_show(payment),
        policy=describe_policy(payment.refund_policy),
        problems=[PROBLEMS[Problem(each)] for each in reversed(payment.problems)],
        refunds=[(each, show_amount(payment.price, each.amount)) for each in found.refunds],
        states=REFUND_STATES,
        reasons=REFUND_REASONS,
        is_booked=booking.status != "PENDING_PAYMENT",
        refundable=found.refundable,
        notices=NOTICES,
    )


class RefundForm(Struct, frozen=True, kw_only=True):
    amount: Annotated[str, Meta(max_length=20)] = ""
    everything: bool = False
    """Whether everything that is left is refunded; otherwise the amount is."""
    left: int | None = None
    """The amount that was left when the form was opened, in the smallest unit."""


@get("/payments/{payment_id}/refund")
async def ask_to_refund(work: Work, user: User, payment_id: UUID, form: Form[Any] = Form()) -> Response:
    """Ask how much goes back, and whether it is meant."""
    found = await queries.get_overview(work, user, payment_id)
    if not found.refundable and not form.faults:
        return redirect(f"/payments/{payment_id}")
    left = Money(found.refundable, found.payment.price.currency)
    return page(
        "payments/refund.html",
        user,
        here="/payments",
        form=form.of(RefundForm),
        payment=found.payment,
        booking=found.details.booking,
        left=show_amount(left),
        left_amount=left.amount,
    )


@post("/payments/{payment_id}/refund", shows=ask_to_refund, at={Conflict: "form"})
async def refund_payment(work: Work, user: User, payment_id: UUID, form: Form[RefundForm]) -> Response:
    """Give back some of a payment, or all that is left of it."""
    found, sent = await queries.get_overview(work, user, payment_id), form.get()
    amount = None if sent.everything else _read_amount(sent, found)
    await operations.refund_payment(work, user, payment_id, amount=amount, seen=sent.left)
    return redirect(f"/payments/{payment_id}?done=refunded")


def _read_amount(sent: RefundForm, found: PaymentOverview) -> int:
    try:
        wanted = read_price(sent.amount, found.payment.price.currency)
    except BadAmount as bad:
        raise Invalid(details={"amount": bad.args[0]}) from None
    if wanted is None:
        raise Invalid(details={"amount": Text("Enter an amount")})
    is_known = sent.left in (None, found.refundable)
    if is_known and found.refundable and not 1 <= wanted.amount <= found.refundable:
        left = show_amount(found.payment.price, found.refundable)
        raise Invalid(details={"amount": Text("must be more than 0 and at most %(amount)s", amount=left)})
    return wanted.amount
