"""What messaging does because time passed: it deletes at the provider what was deleted here."""

from datetime import timedelta

import structlog

from openslot.core.work import Periodic, Work
from openslot.messaging import connection_store as store
from openslot.messaging.connecting import check_connection
from openslot.messaging.connection_models import MessageErasure
from openslot.messaging.connections import opened_by
from openslot.messaging.models import MessageCredentials
from openslot.messaging.ports import MessageAccount, MessageFault, MessageRefused, TokenRefused

AT_ONCE = 200
# A message that is still on its way can't be deleted, and a provider may be down for days.
DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 360, *(1440,) * 10))

log = structlog.get_logger()


async def erase(work: Work) -> str:
    """Delete messages, files and recordings at the provider that were deleted here."""
    due = await store.list_due_erasures(work.db, now=work.now, limit=AT_ONCE)
    done = 0
    for erasure in due:
        if await _erase_one(work, erasure):
            await store.delete_erasure(work.db, erasure.id)
            done += 1
        else:
            await store.put_off_erasure(work.db, erasure.id, until=work.now + DELAYS[erasure.tries])
    return f"{done} messages deleted at their providers, {len(due) - done} to try again"


async def _erase_one(work: Work, erasure: MessageErasure) -> bool:
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


async def check_numbers(work: Work) -> str:
    """Ask the providers whether connected numbers can still be used, and tell the owners of those that can't."""
    found = await store.list_live(work.db)
    for connection in found:
        await check_connection(work, connection)
    return f"{len(found)} numbers checked"


MESSAGING_JOBS = (
    Periodic(name="messaging.erase", expression="* * * * *", run=erase, transaction="none"),
    Periodic(name="messaging.check_numbers", expression="17 * * * *", run=check_numbers, transaction="none"),
)
