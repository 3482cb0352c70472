"""Stripe's notices: who has signed them, and which object they are about."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from openslot.domains.payments.models import Mode, PaymentNotice
from openslot.domains.payments.ports import AnswerUnreadable
from openslot.vendors.stripe.client import StripeClient
from openslot.vendors.stripe.wire import (
    PAGE,
    PAYMENT,
    SUBSCRIBER,
    WireEvent,
    WireIntent,
    WireList,
    WireSubject,
    mode_of,
    moment,
)

TOLERANCE = timedelta(minutes=5)
LONGEST_HEADER = 4096
SECONDS = re.compile(r"[1-9][0-9]{0,11}", re.ASCII)
EVENT_ID = re.compile(r"evt_\w{1,250}", re.ASCII)
PAYMENT_EVENTS = (
    "checkout.session.completed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.async_payment_failed",
    "checkout.session.expired",
    "refund.created",
    "refund.updated",
    "refund.failed",
    "charge.dispute.created",
    "charge.dispute.updated",
    "charge.dispute.closed",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
)
PLAN_EVENTS = (
    "checkout.session.completed",
    "checkout.session.expired",
    "customer.subscription.created",
    "customer.subscription.updated",
    "customer.subscription.deleted",
    "customer.subscription.paused",
    "customer.subscription.resumed",
    "invoice.paid",
    "invoice.payment_failed",
)
MAX_PAGES = 500


class NoticeRefused(Exception):
    """It is not from Stripe, too old, or not for this account; its argument says why and repeats nothing of it."""


def verify(body: bytes, header: str | None, *, secrets: Sequence[str], now: datetime) -> None:
    """Refuse a body whose header has no signature of a valid secret, or one that is not of these minutes."""
    if not header or len(header) > LONGEST_HEADER or not header.isascii():
        raise NoticeRefused("the signature is missing or malformed")
    time, signatures = _read_header(header)
    if abs(now.timestamp() - int(time)) > TOLERANCE.total_seconds():
        raise NoticeRefused("the signature is too old, or from the future")
    signed = f"{time}.".encode() + body
    expected = [hmac.digest(secret.encode(), signed, hashlib.sha256).hex() for secret in secrets if secret.strip()]
    # Every pair is compared: how long it takes tells nothing.
    if not sum(hmac.compare_digest(ours, theirs) for ours in expected for theirs in signatures):
        raise NoticeRefused("the signature is not valid")


def _read_header(header: str) -> tuple[str, list[str]]:
    """Read the time and the signatures of the scheme v1; other schemes are ignored."""
    parts = [part.split("=", 2) for part in header.split(",")]
    if any(len(part) < 2 for part in parts if part[0] in {"t", "v1"}):
        raise NoticeRefused("the signature is malformed")
    times = [part[1] for part in parts if part[0] == "t"]
    if not times or not SECONDS.fullmatch(times[0]):
        raise NoticeRefused("the signature has no time")
    return times[0], [part[1] for part in parts if part[0] == "v1"]


def read_notice(body: bytes, *, mode: Mode) -> PaymentNotice:
    """Read an event that was verified, or refuse what is none, or of the other mode."""
    try:
        event = msgspec.json.decode(body, type=WireEvent)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise NoticeRefused("the body is not an event") from None
    if event.object == "v2.core.event":
        raise NoticeRefused("thin events are not supported")
    if mode_of(livemode=event.livemode) is not mode:
        raise NoticeRefused(f"the event is not of the mode {mode}")
    notice = to_notice(event)
    if notice is None:
        raise NoticeRefused("the body is not an event")
    return notice


def to_notice(event: WireEvent) -> PaymentNotice | None:
    """Say which objects to read anew; None if it names none."""
    if event.object != "event" or not EVENT_ID.fullmatch(event.id) or not event.type or event.data is None:
        return None
    subject = event.data.object
    intent = subject.payment_intent
    return PaymentNotice(
        id=event.id,
        type=event.type,
        created_at=moment(event.created),
        mode=mode_of(livemode=event.livemode),
        object_id=subject.id,
        session_id=subject.id if subject.object == "checkout.session" else None,
        intent_id=intent.id if isinstance(intent, WireIntent) else intent,
        subscription_id=_find_subscription(subject),
        customer_id=subject.customer,
        reference=subject.client_reference_id or _find_reference(subject.metadata or {}),
    )


def _find_reference(metadata: dict[str, str]) -> str | None:
    return metadata.get(PAYMENT) or metadata.get(SUBSCRIBER)


def _find_subscription(subject: WireSubject) -> str | None:
    if subject.object == "subscription":
        return subject.id
    billed = subject.parent.subscription_details if subject.parent else None
    return billed.subscription if billed else subject.subscription


async def list_notices(client: StripeClient, types: Sequence[str], *, since: datetime) -> list[PaymentNotice]:
    """Read every page from the newest back to `since`, for Stripe lists the newest first; return the oldest first."""
    notices: list[PaymentNotice] = []
    after: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.get(
            "events",
            WireList[WireEvent],
            {
                "types": list(types),
                "created": {"gte": int(since.timestamp())},
                "limit": PAGE,
                "starting_after": after,
            },
        )
        notices += [
            notice
            for event in page.data
            if mode_of(livemode=event.livemode) is client.mode and (notice := to_notice(event)) is not None
        ]
        if not page.has_more or not page.data:
            return notices[::-1]
        after = page.data[-1].id
    raise AnswerUnreadable(f"Stripe lists more than {MAX_PAGES * PAGE} events")
