"""Reading a payment provider's list of what happened: it makes everything complete, whether notices arrive or not."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from uuid import UUID

import structlog
from msgspec.structs import replace

from openslot.domains.accounts.members.store import list_administrators
from openslot.domains.payments.connections import store
from openslot.domains.payments.connections.accounts import describe_fault, opened_by_key, opened_payment_account
from openslot.domains.payments.connections.events import PaymentsUnreadable
from openslot.domains.payments.connections.operations import REGISTER, register_endpoint, tell
from openslot.domains.payments.models import ConnectionEnding, PaymentConnection, PaymentStep, RefundWanted
from openslot.domains.payments.notices.operations import DELAYS, FOLLOW, follow, keep_payment_notices, to_connection
from openslot.domains.payments.notices.store import delete_some_done_notices
from openslot.domains.payments.ports import Checkout, CheckoutFault, CheckoutRefused, KeyRefused, RightMissing
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.effects import forget_effect
from openslot.platform.core.events import Effect
from openslot.platform.core.failing import keep_failure
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.work import Done, Outcome, Periodic, Reaction, Skipped, Work
from openslot.platform.i18n import CodedReason, keep
from openslot.platform.jobs.batches import repeat
from openslot.platform.jobs.each import serve_each

DISCONNECTED = CodedReason("payments.disconnected", "the account is disconnected")
POLL, FINISH = "payments.poll", "payments.finish_endings"
# What happens appears in the list with some delay, and not in order.
OVERLAP = timedelta(minutes=5)
POLLED_FOR = timedelta(days=180)
ENDINGS_AT_ONCE = 100
GIVE_UP_AFTER = timedelta(days=7)
# The provider lists what happened for 30 days.
KEPT_FOR = timedelta(days=40)

log = structlog.get_logger()


async def plan_polls(work: Work) -> str:
    """Plan to read every account through which somebody has paid; the workers share the provider fairly."""
    found = await store.list_to_poll(work.db, since=work.now - POLLED_FOR)

    async def plan(each: tuple[UUID, UUID | None]) -> None:
        connection_id, user_id = each
        target = str(connection_id)
        await work.plan(POLL, target, due_at=work.now, payload=connection_id, tenant_id=user_id, target=target)

    await serve_each(work, POLL, found, plan, key=itemgetter(0))
    return f"{len(found)} payment accounts to read"


async def poll(work: Work, effect: Effect) -> Outcome:
    """Keep what has happened in an account since it was last read."""
    connection = await store.find_stored_connection(work.db, effect.plan(UUID))
    if connection is None or connection.key is None:
        return Skipped(DISCONNECTED)
    try:
        async with opened_payment_account(work.runtime, connection) as checkout:
            notices = await checkout.list_notices(since=connection.read_until - OVERLAP)
    except CheckoutFault as fault:
        await _keep_failure(work, connection, fault)
        notices = None

    async def keep(work: Work) -> None:
        await forget_effect(work.db, effect.id)
        if notices is not None:
            await keep_payment_notices(work, connection, notices)
            newest = max((each.created_at for each in notices), default=connection.read_until)
            await store.keep_reading(work.db, connection.id, read_until=newest, now=work.now)

    return Done(write=keep)


async def _keep_failure(work: Work, connection: PaymentConnection, fault: CheckoutFault) -> None:
    """Write why an account can't be read, and tell its owner once."""
    reason, needs_owner = keep(describe_fault(fault)), isinstance(fault, KeyRefused | RightMissing)
    async with work.runtime.transaction(SYSTEM) as inside:
        since = await keep_failure(
            inside.db, "payment_connections", connection, reason, needs_owner=needs_owner, now=work.now
        )
        if since is not None:
            await _tell_owner(inside, connection, reason, since=since)


async def _tell_owner(work: Work, connection: PaymentConnection, reason: str, *, since: datetime) -> None:
    if connection.organization_id is None:
        people = [connection.user_id]
    else:
        people = [*await list_administrators(work.db, connection.organization_id)]
    for person_id in people:
        facts = {**tell(connection), "user_id": person_id}
        await work.record(
            PaymentsUnreadable(**facts, reason=reason, since=since, base_url=work.runtime.settings.public_url)
        )


async def finish_endings(work: Work) -> str:
    """Remove the endpoints of connections that are gone, and end the checkouts that were open."""
    endings = await store.list_endings(work.db, limit=ENDINGS_AT_ONCE)
    left = await serve_each(work, FINISH, endings, partial(_finish, work), key=lambda each: each.id)
    finished = sum(left.results)
    return f"{finished} payment accounts left, {len(endings) - finished} to leave"


async def _finish(work: Work, ending: ConnectionEnding) -> bool:
    """Leave an account; False if that is to be tried again."""
    is_over = await _do_the_rest(work, ending)
    if is_over:
        await store.delete_ending(work.db, ending.id)
    return is_over


async def _do_the_rest(work: Work, ending: ConnectionEnding) -> bool:
    """Do what is left to do; True if there is nothing more that can be done."""
    is_late = work.now - ending.ended_at >= GIVE_UP_AFTER
    try:
        key = work.runtime.secrets.open(ending.key)
        async with opened_by_key(work.runtime, ending.behalf_of, key) as checkout:
            tries = [partial(_end_session, checkout, ending, session_id) for session_id in ending.sessions]
            if ending.endpoint_id is not None:
                tries.append(partial(checkout.remove_endpoint, ending.endpoint_id))
            for each in tries:
                await _try(ending, each)
    except KeyRefused as fault:
        _warn(ending, fault)
    except SealBroken as fault:
        if not is_late:
            raise
        _warn(ending, fault)
    except CheckoutFault:
        return is_late
    return True


async def _try(ending: ConnectionEnding, deed: Callable[[], Awaitable[None]]) -> None:
    """Do one of the things that are left to do; one that is refused does not keep the others from being done."""
    try:
        await deed()
    except (RightMissing, CheckoutRefused) as fault:
        _warn(ending, fault)


def _warn(ending: ConnectionEnding, fault: CheckoutFault | SealBroken) -> None:
    log.warning("a payment account could not be left properly", owner=str(ending.behalf_of), fault=str(fault))


async def _end_session(checkout: Checkout, ending: ConnectionEnding, session_id: str) -> None:
    """Let nobody pay any more for a booking that is gone; what was paid a moment before goes back."""
    session = await checkout.expire_session(session_id, PaymentStep(ending.id, f"end-{session_id}"))
    given = sum(each.amount.amount for each in session.refunds if not each.status.is_lost)
    left = replace(session.amount, amount=session.amount.amount - given)
    if session.is_paid and session.intent_id is not None and left.amount > 0:
        wanted = RefundWanted(intent_id=session.intent_id, amount=left)
        await checkout.create_refund(wanted, PaymentStep(ending.id, f"refund-{session_id}"))


async def tidy_notices(work: Work) -> str:
    """Delete notices that were followed and that the provider does not list any more."""
    before = work.now - KEPT_FOR
    gone = await repeat(lambda limit: delete_some_done_notices(work.db, before=before, limit=limit))
    return f"{gone} payment notices removed"


PAYMENT_CONNECTION_REACTIONS = (
    Reaction(name=REGISTER, run=register_endpoint, destination=to_connection),
    Reaction(name=FOLLOW, run=follow, destination=to_connection, delays=DELAYS),
    Reaction(name=POLL, run=poll, destination=to_connection),
)
PAYMENT_CONNECTION_JOBS = (
    Periodic(name=POLL, expression="* * * * *", run=plan_polls, transaction="none"),
    Periodic(name=FINISH, expression="* * * * *", run=finish_endings, transaction="none"),
    Periodic(name="payments.tidy_notices", expression="23 * * * *", run=tidy_notices, transaction="none"),
)
