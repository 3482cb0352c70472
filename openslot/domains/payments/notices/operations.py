"""A payment provider's notices: each is kept once, and the payment that it is about is read anew."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from msgspec import Struct

from openslot.domains.payments import operations
from openslot.domains.payments.connections.accounts import opened_payment_account
from openslot.domains.payments.connections.store import find_stored_connection
from openslot.domains.payments.errors import InvalidNotice, PaymentNotFound
from openslot.domains.payments.models import PaymentConnection, PaymentNotice, WaitingNotice
from openslot.domains.payments.notices import store
from openslot.domains.payments.ports import CheckoutFault
from openslot.domains.payments.store import find_id
from openslot.platform.core.actor import Destination
from openslot.platform.core.effects import forget_effect
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, Outcome, Skipped, TryLater, Work
from openslot.platform.i18n import CodedReason

FOLLOW = "payments.notice"
DELAYS = tuple(timedelta(seconds=s) for s in (5, 60, 600, 3600, 6 * 3600, 24 * 3600))
FOLLOWED = CodedReason(
    "payments.followed",
    "it is no longer needed",
    said="the connection is gone, or the notice was followed already",
)
NOT_OURS = "it is about no payment of ours"


class NoticeRef(Struct, frozen=True):
    connection_id: UUID
    id: str


async def get_notice_receiver(work: Work, connection_id: UUID) -> tuple[PaymentConnection, str]:
    """Read the live connection that a notice is sent to, and the secret that signs its notices."""
    found = await find_stored_connection(work.db, connection_id)
    if found is None or found.disconnected_at is not None or found.notice_secret is None:
        raise InvalidNotice
    return found, work.runtime.secrets.open(found.notice_secret)


async def keep_payment_notices(work: Work, connection: PaymentConnection, notices: Sequence[PaymentNotice]) -> int:
    """Write the notices that are new, let each be followed, and return how many they were."""
    new = await store.insert_notices(work.db, connection.id, notices, now=work.now) if notices else []
    for notice_id in new:
        await work.plan(
            FOLLOW,
            f"{connection.id}:{notice_id}",
            due_at=work.now,
            payload=NoticeRef(connection.id, notice_id),
            tenant_id=connection.user_id,
            target=str(connection.id),
        )
    return len(new)


async def follow(work: Work, effect: Effect) -> Outcome:
    """Read the payment anew that a notice is about: what the notice says of it may be old."""
    ref = effect.plan(NoticeRef)
    connection = await find_stored_connection(work.db, ref.connection_id)
    notice = await store.find_waiting(work.db, ref.connection_id, ref.id)
    if connection is None or notice is None:
        return Skipped(FOLLOWED)
    payment_id = await _find_payment(work, connection, notice)
    if payment_id is None and notice.reference is not None and effect.attempts <= len(DELAYS):
        # It names a payment of ours that is not there, or not yet.
        raise TryLater(NOT_OURS, answered=True)
    if payment_id is not None:
        with suppress(PaymentNotFound):
            await operations.read_anew(work.runtime, payment_id)

    async def finish(work: Work) -> None:
        await store.finish(work.db, ref.connection_id, ref.id, now=work.now)
        await forget_effect(work.db, effect.id)

    return Done(write=finish)


async def _find_payment(work: Work, connection: PaymentConnection, notice: WaitingNotice) -> UUID | None:
    """Find a payment by what a notice names; one whose intent is not known yet by the session that the provider has."""
    found = await find_id(
        work.db,
        connection.id,
        reference=_read_id(notice.reference),
        session_id=notice.session_id,
        intent_id=notice.intent_id,
    )
    if found is not None or notice.intent_id is None or notice.reference is not None or connection.key is None:
        return found
    try:
        async with opened_payment_account(work.runtime, connection) as checkout:
            session = await checkout.find_session(notice.intent_id)
    except CheckoutFault as fault:
        raise TryLater(str(fault)) from None
    if session is None:
        return None
    return await find_id(
        work.db, connection.id, reference=_read_id(session.reference), session_id=session.id, intent_id=None
    )


def to_connection(_: Work, effect: Effect) -> Destination:
    """Ask the account of a connection on behalf of its owner."""
    return Destination(f"payments/{effect.target}", effect.tenant_id)


def _read_id(reference: str | None) -> UUID | None:
    try:
        return UUID(reference or "")
    except ValueError:
        return None
