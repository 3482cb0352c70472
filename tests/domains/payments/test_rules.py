"""What follows from a payment, its booking, the checkout and the time: by a table, and for whatever is drawn."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openslot.domains.bookings.models import Booking, Status
from openslot.domains.event_types.models import Location, LocationKind, Money
from openslot.domains.payments import rules
from openslot.domains.payments.models import (
    CheckoutSession,
    CheckoutStatus,
    Dispute,
    DisputeOutcome,
    Mode,
    PaymentState,
    Problem,
    Refund,
    RefundReason,
    RefundState,
    RefundStatus,
    StoredPayment,
    StoredRefund,
)
from openslot.domains.payments.refunds import rules as refund_rules
from openslot.domains.payments.rules import Action, Confirm, Facts, Keep, Release, Return, TellHost, decide
from openslot.platform.core.ids import new_id
from tests.support.clocks import MONDAY

PRICE = Money(4900, "EUR")
START = MONDAY + timedelta(days=4)
HELD = MONDAY + timedelta(minutes=36)
PAYMENT = StoredPayment(
    id=new_id(),
    booking_id=new_id(),
    host_id=new_id(),
    connection_id=new_id(),
    mode=Mode.TEST,
    price=PRICE,
    refund_policy="full",
    state=PaymentState.OPEN,
    session_id="cs_1",
    expires_at=MONDAY + timedelta(minutes=33),
    held_until=HELD,
    created_at=MONDAY,
    updated_at=MONDAY,
)
BOOKING = Booking(
    id=PAYMENT.booking_id,
    host_id=PAYMENT.host_id,
    event_type_id=new_id(),
    contact_id=None,
    claim_id=new_id(),
    seat_id=None,
    status=Status.PENDING_PAYMENT,
    starts_at=START,
    ends_at=START + timedelta(minutes=30),
    invitee_name="Jonas",
    invitee_email="jonas@okafor.example",
    invitee_zone="UTC",
    notes=None,
    location=Location(LocationKind.TEXT),
    answers={},
    guests=(),
    payment=None,
    created_at=MONDAY,
    updated_at=MONDAY,
)
SESSION = CheckoutSession(
    id="cs_1",
    mode=Mode.TEST,
    status=CheckoutStatus.OPEN,
    is_paid=False,
    amount=PRICE,
    created_at=MONDAY,
    expires_at=PAYMENT.expires_at,
)
PAID = replace(SESSION, status=CheckoutStatus.COMPLETE, is_paid=True, intent_id="pi_1", paid_at=MONDAY)
DELAYED = replace(SESSION, status=CheckoutStatus.COMPLETE)
EXPIRED = replace(SESSION, status=CheckoutStatus.EXPIRED)
SETTLED = replace(PAYMENT, state=PaymentState.PAID, paid_at=MONDAY, intent_id="pi_1")
RELEASED = replace(PAYMENT, state=PaymentState.RELEASED)
OPENING = replace(PAYMENT, state=PaymentState.OPENING, session_id=None)
PROCESSING = replace(PAYMENT, state=PaymentState.PROCESSING)
RETURNED = Refund(id="re_1", amount=PRICE, status=RefundStatus.SUCCEEDED, created_at=MONDAY)
LOST = replace(RETURNED, status=RefundStatus.FAILED)
DISPUTE = Dispute(id="du_1", amount=PRICE, outcome=DisputeOutcome.OPEN, reason="fraudulent", created_at=MONDAY)


def facts(payment: StoredPayment, session: CheckoutSession | None, *, minutes: float = 5, **more: Any) -> Facts:
    has_time = payment.state is not PaymentState.RELEASED
    known: dict[str, Any] = {"booking": BOOKING, "has_time": has_time, "host_left": False, **more}
    return Facts(payment=payment, session=session, now=MONDAY + timedelta(minutes=minutes), **known)


def at(**time: float) -> datetime:
    return MONDAY + timedelta(**time)


CASES: dict[str, tuple[Facts, tuple[Action, ...]]] = {
    "open": (facts(PAYMENT, SESSION), (Keep(HELD),)),
    "paid in time": (facts(PAYMENT, PAID), (Confirm(), Keep(None))),
    "paid late": (facts(RELEASED, PAID, minutes=90), (Confirm(), Keep(None))),
    "paid for what is over": (
        facts(PAYMENT, PAID, minutes=60 * 24 * 5),
        (Return(RefundReason.LATE), Keep(None)),
    ),
    "the host has left": (facts(PAYMENT, PAID, host_left=True), (Return(RefundReason.HOST), Keep(None))),
    "paid and refunded there at once": (
        facts(PAYMENT, replace(PAID, refunds=(RETURNED,))),
        (Return(RefundReason.OUTSIDE), Keep(None)),
    ),
    "another amount": (
        facts(PAYMENT, replace(PAID, amount=Money(49, "EUR"))),
        (TellHost(Problem.AMOUNT_DIFFERS), Keep(None)),
    ),
    "another amount, told before": (
        facts(replace(PAYMENT, problems=(Problem.AMOUNT_DIFFERS,)), replace(PAID, amount=Money(4900, "USD"))),
        (Keep(None),),
    ),
    "another amount, all of it refunded there": (
        facts(PAYMENT, replace(PAID, amount=Money(49, "EUR"), refunds=(replace(RETURNED, amount=Money(49, "EUR")),))),
        (Release(), Keep(None)),
    ),
    "delayed, and it has failed": (facts(PROCESSING, replace(DELAYED, has_failed=True)), (Release(), Keep(None))),
    "expired": (facts(PAYMENT, EXPIRED, minutes=36), (Release(), Keep(None))),
    "expired and released": (facts(RELEASED, EXPIRED, minutes=90), (Keep(None),)),
    "delayed": (facts(PAYMENT, DELAYED), (Keep(at(minutes=65)),)),
    "delayed until a day before": (
        facts(PROCESSING, DELAYED, minutes=60 * 24 * 3 - 30),
        (Keep(at(days=3)),),
    ),
    "delayed for too long": (
        facts(PROCESSING, DELAYED, minutes=60 * 24 * 3),
        (Release(), Keep(at(days=3, hours=1))),
    ),
    "delayed for a week": (
        facts(
            PROCESSING,
            DELAYED,
            minutes=60 * 24 * 7,
            booking=replace(BOOKING, starts_at=at(days=30), ends_at=at(days=31)),
        ),
        (Release(), Keep(at(days=7, hours=1))),
    ),
    "delayed and the host has left": (facts(PROCESSING, DELAYED, host_left=True), (Release(), Keep(at(minutes=65)))),
    "no answer": (facts(PAYMENT, None, minutes=40), (Keep(at(minutes=41)),)),
    "no answer for a day": (
        facts(PAYMENT, None, minutes=37 + 24 * 60),
        (Release(), TellHost(Problem.PROVIDER_LOST), Keep(at(days=1, minutes=97))),
    ),
    "no answer for a month": (facts(RELEASED, None, minutes=60 * 24 * 31), (Keep(None),)),
    "disconnected": (facts(PAYMENT, None, is_cut_off=True), (Keep(HELD),)),
    "disconnected and over": (
        facts(PAYMENT, None, is_cut_off=True, minutes=36),
        (Release(), TellHost(Problem.PROVIDER_LOST), Keep(None)),
    ),
    "not opened": (facts(OPENING, None, minutes=0, gives_up=True), (Release(), Keep(at(minutes=1)))),
    "opening": (facts(OPENING, None, minutes=3), (Keep(at(minutes=4)),)),
    "never opened": (facts(OPENING, None, minutes=36), (Release(), Keep(None))),
    "refused": (facts(OPENING, None, minutes=0, is_absent=True), (Release(), Keep(None))),
    "nothing new": (facts(SETTLED, PAID), (Keep(None),)),
    "settled and no answer": (facts(SETTLED, None), (Keep(at(minutes=65)),)),
    "a dispute": (facts(SETTLED, replace(PAID, disputes=(DISPUTE,))), (TellHost(Problem.DISPUTED), Keep(None))),
    "the same dispute": (
        facts(replace(SETTLED, dispute=DisputeOutcome.OPEN), replace(PAID, disputes=(DISPUTE,))),
        (Keep(None),),
    ),
    "a dispute that is lost": (
        facts(
            replace(SETTLED, dispute=DisputeOutcome.OPEN),
            replace(PAID, disputes=(replace(DISPUTE, outcome=DisputeOutcome.LOST),)),
        ),
        (TellHost(Problem.DISPUTE_LOST), Keep(None)),
    ),
    "a refund that has failed": (
        facts(SETTLED, replace(PAID, refunds=(LOST,))),
        (TellHost(Problem.REFUND_FAILED), Keep(None)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_follows(name: str) -> None:
    given_facts, expected = CASES[name]
    assert decide(given_facts) == expected


@pytest.mark.parametrize(
    ("known", "ends"),
    [
        (facts(PAYMENT, SESSION, minutes=35), False),
        (facts(PAYMENT, SESSION, minutes=36), True),
        (facts(PAYMENT, SESSION, gives_up=True), True),
        (facts(PAYMENT, SESSION, host_left=True), True),
        (facts(RELEASED, SESSION), True),
        (facts(PAYMENT, DELAYED, minutes=36), False),
        (facts(PAYMENT, PAID, gives_up=True), False),
        (facts(PAYMENT, None, minutes=36), False),
    ],
)
def test_a_checkout_is_ended_before_its_time_is_freed(known: Facts, ends: bool) -> None:
    assert rules.must_end(known) is ends


refund_statuses = st.sampled_from(list(RefundStatus))
told_refunds = st.lists(
    st.builds(
        lambda number, amount, status: replace(
            RETURNED, id=f"re_{number}", amount=replace(PRICE, amount=amount), status=status
        ),
        st.integers(1, 3),
        st.integers(1, 4900),
        refund_statuses,
    ),
    unique_by=lambda each: each.id,
    max_size=2,
).map(tuple)
disputes = st.lists(
    st.sampled_from(list(DisputeOutcome)).map(lambda outcome: replace(DISPUTE, outcome=outcome)), max_size=2
).map(tuple)
sessions = st.none() | st.builds(
    lambda base, refunds, disputes, amount: replace(
        base, amount=amount, **({"refunds": refunds, "disputes": disputes} if base.is_paid else {})
    ),
    st.sampled_from([SESSION, PAID, DELAYED, EXPIRED]),
    told_refunds,
    disputes,
    st.sampled_from([PRICE, PRICE, PRICE, Money(1, "EUR")]),
)
any_facts = st.builds(
    facts,
    st.sampled_from([PAYMENT, OPENING, PROCESSING, RELEASED, SETTLED]),
    sessions,
    minutes=st.integers(0, 60 * 24 * 40),
    host_left=st.booleans(),
    gives_up=st.booleans(),
    is_cut_off=st.booleans(),
)


def follow(known: Facts) -> Facts:
    """Do what was decided, as `settling.py` does it to rows."""
    payment, booking, has_time = known.payment, known.booking, known.has_time
    refunds = list(known.refunds)
    if known.session is not None:
        payment = rules.note_session(payment, known.session)
    for action in decide(known):
        match action:
            case Confirm() | Return():
                payment = replace(payment, state=PaymentState.PAID, paid_at=known.now)
                has_time = isinstance(action, Confirm)
                booking = replace(booking, status=Status.CONFIRMED) if has_time else booking
            case Release():
                payment, has_time = replace(payment, state=PaymentState.RELEASED), False
            case TellHost(problem):
                payment = replace(payment, problems=(*payment.problems, problem))
            case Keep(until):
                payment = replace(payment, next_read_at=until)
    if known.session is not None and payment.state is PaymentState.PAID:
        changed = refund_rules.match_refunds(payment, refunds, known.session, now=known.now)
        refunds = refund_rules.merge_refunds(refunds, changed)
        payment = refund_rules.sum_refunds(payment, refunds)
    return replace(known, payment=payment, booking=booking, has_time=has_time, refunds=tuple(refunds))


@given(any_facts)
def test_what_was_done_is_not_done_again(known: Facts) -> None:
    after = follow(known)
    assert all(isinstance(action, Keep) for action in decide(after))
    assert follow(after).payment == after.payment


@given(any_facts)
def test_money_confirms_or_goes_back_or_is_told_and_time_is_freed_only_without_it(known: Facts) -> None:
    actions = decide(known)
    is_due = known.session is not None and known.session.is_paid and known.payment.state is not PaymentState.PAID
    settles = [each for each in actions if isinstance(each, Confirm | Return)]
    if is_due:
        differs = known.session is not None and known.session.amount != known.payment.price
        assert bool(settles) is not differs
        assert Release() not in actions
    else:
        assert not settles
    assert sum(isinstance(each, Keep) for each in actions) == 1
    assert not (known.host_left and Confirm() in actions)


def stored(amount: int, state: RefundState, *, minutes: int = 0) -> StoredRefund:
    return StoredRefund(
        id=new_id(),
        payment_id=PAYMENT.id,
        amount=amount,
        reason=RefundReason.HOST,
        state=state,
        by="session",
        created_at=at(minutes=minutes),
        updated_at=MONDAY,
    )


def test_what_is_on_its_way_can_not_be_refunded_twice() -> None:
    made = [stored(1000, RefundState.WANTED), stored(900, RefundState.PENDING), stored(4000, RefundState.FAILED)]
    assert refund_rules.count_refundable(SETTLED, made) == 3000
    assert refund_rules.count_refundable(SETTLED, [*made, stored(3000, RefundState.SUCCEEDED)]) == 0
    assert refund_rules.count_refundable(PAYMENT, []) == 0


@pytest.mark.parametrize(
    ("changes", "refunds", "status"),
    [
        ({"state": PaymentState.OPEN}, [], "pending"),
        ({}, [], "paid"),
        ({}, [stored(900, RefundState.WANTED)], "paid"),
        ({}, [stored(900, RefundState.PENDING)], "partially_refunded"),
        ({}, [stored(4900, RefundState.SUCCEEDED)], "refunded"),
        ({}, [stored(4900, RefundState.FAILED)], "refund_failed"),
        ({}, [stored(4900, RefundState.FAILED), stored(4900, RefundState.SUCCEEDED, minutes=1)], "refunded"),
        # All of it was refunded in the provider's own pages a moment before ours was refused.
        ({}, [stored(4900, RefundState.SUCCEEDED), stored(4900, RefundState.FAILED, minutes=1)], "refunded"),
        ({}, [stored(900, RefundState.SUCCEEDED), stored(4000, RefundState.FAILED, minutes=1)], "refund_failed"),
        ({"dispute": DisputeOutcome.OPEN}, [], "disputed"),
        ({"dispute": DisputeOutcome.LOST}, [], "disputed"),
        ({"dispute": DisputeOutcome.WON}, [], "paid"),
    ],
)
def test_what_people_are_told(changes: dict[str, Any], refunds: list[StoredRefund], status: str) -> None:
    assert rules.status_of(refund_rules.sum_refunds(replace(SETTLED, **changes), refunds)) == status


@pytest.mark.parametrize(
    ("policy", "hours", "by", "goes_back"),
    [
        ("full", 0, "invitee", True),
        ("none", 100, "invitee", False),
        ("none", 0, "host", True),
        ("none", 0, "organization", True),
        ("none", 0, "operator", True),
        ("none", 0, "system", True),
        ("until:24", 24, "invitee", True),
        ("until:24", 23.99, "invitee", False),
        ("until:24", -1, "host", True),
    ],
)
def test_when_a_cancellation_refunds(policy: str, hours: float, by: str, goes_back: bool) -> None:
    cancelled = replace(BOOKING, cancelled_by=by, cancelled_at=START - timedelta(hours=hours))
    assert rules.is_refunded_when_cancelled(replace(SETTLED, refund_policy=policy), cancelled) is goes_back
