"""What messaging does because time passed: it asks providers to delete, how numbers and messages are, and tidies."""

from datetime import timedelta
from functools import partial
from operator import itemgetter
from uuid import UUID

import structlog

from openslot.domains.conversations.outbox.operations import take_unreported_messages
from openslot.domains.messaging.calls.operations import KEPT_FOR
from openslot.domains.messaging.calls.store import delete_old_call_notices
from openslot.domains.messaging.connections import store
from openslot.domains.messaging.connections.accounts import opened_by, opened_message_account
from openslot.domains.messaging.connections.models import MessageErasure, MessagingConnection
from openslot.domains.messaging.connections.operations import check_connection
from openslot.domains.messaging.errors import MessagingNotConnected
from openslot.domains.messaging.inbound import keep_status
from openslot.domains.messaging.models import MessageCredentials, StatusNotice
from openslot.domains.messaging.ports import MessageAccount, MessageFault, MessageRefused, TokenRefused
from openslot.platform.core.work import Periodic, Work
from openslot.platform.jobs.batches import delete_old, repeat
from openslot.platform.jobs.each import serve_each

ERASE, CHECK_DELIVERIES, CHECK_NUMBERS = "messaging.erase", "messaging.check_deliveries", "messaging.check_numbers"
AT_ONCE = 200
# A message that is still on its way can't be deleted, and a provider may be down for days.
DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 360, *(1440,) * 10))

# Notices of a delivery come within seconds; where none can arrive, or one was lost, nothing is known after a day.
ASKED_AFTER = tuple(timedelta(minutes=minutes) for minutes in (2, 10, 30, 120, 360, 1440))

log = structlog.get_logger()


async def erase(work: Work) -> str:
    """Delete messages, files and recordings at the provider that were deleted here."""
    due = await store.list_due_erasures(work.db, now=work.now, limit=AT_ONCE)
    served = await serve_each(work, ERASE, due, partial(_erase_one, work), key=lambda each: each.id)
    done = sum(served.results)
    return f"{done} messages deleted at their providers, {len(due) - done} to try again"


async def _erase_one(work: Work, erasure: MessageErasure) -> bool:
    """Delete one, or put it off; first it is put off anyway, so that one that fails does not come first again."""
    await store.put_off_erasure(work.db, erasure.id, until=work.now + DELAYS[min(erasure.tries, len(DELAYS) - 1)])
    is_over = await _ask_to_erase(work, erasure)
    if is_over:
        await store.delete_erasure(work.db, erasure.id)
    return is_over


async def _ask_to_erase(work: Work, erasure: MessageErasure) -> bool:
    """Ask the provider; True if there is nothing more that can be done."""
    credentials = MessageCredentials(account=erasure.account, token=work.runtime.secrets.open(erasure.token))
    try:
        async with opened_by(work.runtime, erasure.behalf_of, erasure.provider, credentials) as account:
            await _delete(work, account, erasure)
    except (TokenRefused, MessageRefused) as fault:
        log.warning("a message could not be deleted at its provider", owner=str(erasure.behalf_of), fault=str(fault))
        return True
    except MessageFault as fault:
        is_last = erasure.tries + 1 >= len(DELAYS)
        if is_last:
            log.warning("a message was not deleted at its provider", owner=str(erasure.behalf_of), fault=str(fault))
        return is_last
    return True


async def _delete(work: Work, account: MessageAccount, erasure: MessageErasure) -> None:
    if erasure.vendor_id is not None:
        await account.delete_message(erasure.vendor_id)
    elif erasure.ref is not None:
        await account.delete_media(work.runtime.secrets.open(erasure.ref))


async def check_deliveries(work: Work) -> str:
    """Ask the providers what became of messages of which no notice has come."""
    due = await take_unreported_messages(work, delays=ASKED_AFTER, limit=AT_ONCE)
    of_number: dict[UUID, list[str]] = {}
    for message in due:
        of_number.setdefault(message.connection_id, []).append(message.vendor_id)
    await serve_each(work, CHECK_DELIVERIES, of_number.items(), partial(_check_some, work), key=itemgetter(0))
    return f"{len(due)} messages checked at their providers"


async def _check_some(work: Work, asked: tuple[UUID, list[str]]) -> None:
    """Ask for messages one after the other, and stop when the provider does not answer: they are asked for later."""
    connection_id, vendor_ids = asked
    connection = await store.get(work.db, connection_id)
    try:
        async with opened_message_account(work.runtime, connection) as account:
            check = partial(_check_delivery, work, connection, account)
            await serve_each(work, CHECK_DELIVERIES, vendor_ids, check, for_all=(MessageFault,))
    except MessagingNotConnected:
        log.info("a number was disconnected before its messages were checked", connection=str(connection.id))
    except MessageFault as fault:
        log.info("messages could not be checked", connection=str(connection.id), fault=str(fault))


async def _check_delivery(work: Work, connection: MessagingConnection, account: MessageAccount, vendor_id: str) -> None:
    try:
        found = await account.get_status(vendor_id)
    except MessageRefused as fault:
        log.info("a message could not be checked", connection=str(connection.id), fault=str(fault))
        return
    notice = StatusNotice(id=vendor_id, status=found.status, code=found.code, reason=found.reason)
    async with work.transaction():
        await keep_status(work, connection, notice)


async def check_numbers(work: Work) -> str:
    """Ask the providers whether connected numbers can still be used, and tell the owners of those that can't."""
    found = await store.list_live(work.db)
    await serve_each(work, CHECK_NUMBERS, found, partial(check_connection, work), key=lambda each: each.id)
    return f"{len(found)} numbers checked"


async def tidy(work: Work) -> str:
    """Forget which notices of calls have come, and recordings without a call."""
    before = work.now - KEPT_FOR
    notices = await repeat(lambda limit: delete_old_call_notices(work.db, before=before, limit=limit))
    recordings = await delete_old(work.db, "call_recordings", "received_at", before=before)
    return f"{notices} notices and {recordings} recordings without a call deleted"


MESSAGING_JOBS = (
    Periodic(name=ERASE, expression="* * * * *", run=erase, transaction="none"),
    Periodic(name=CHECK_DELIVERIES, expression="* * * * *", run=check_deliveries, transaction="none"),
    Periodic(name=CHECK_NUMBERS, expression="17 * * * *", run=check_numbers, transaction="none"),
    Periodic(name="messaging.tidy", expression="41 3 * * *", run=tidy, transaction="none"),
)
