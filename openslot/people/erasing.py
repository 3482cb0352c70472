"""Carries the deletion of accounts through, step by step: each step is one transaction, so that any may be the last.

A process that dies leaves the state before its step, and the next run continues there.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg
import structlog

from openslot.accounts import deletion_store as store
from openslot.accounts import operations as accounts
from openslot.accounts.errors import UserNotFound
from openslot.accounts.events import UserDeleted, UserDeletionEnding
from openslot.accounts.host_lock_store import lock_host
from openslot.accounts.models import AccountDeletion, DeletionState, User
from openslot.availability.leftover_store import delete_of_host
from openslot.bookings import operations as bookings
from openslot.bookings.reasons import UNAVAILABLE
from openslot.contacts import operations as contacts
from openslot.core.actor import SYSTEM
from openslot.core.errors import Refusal
from openslot.core.events import Periodic
from openslot.core.tenants import count_unfinished, delete_rest, delete_some_events
from openslot.core.work import Runtime, Work

AT_ONCE = 100
CANCELLED_AT_ONCE = 20
ERASED_AT_ONCE = 500
# How much longer than everything else the last mail is waited for.
LAST_MAIL = timedelta(days=1)

log = structlog.get_logger()

ErasingStep = Callable[[Work, AccountDeletion, User], Awaitable[bool]]


async def advance_deletions(work: Work) -> str:
    """Continue the deletion of every account that is being deleted, as far as possible now."""
    under_way = await store.list_under_way(work.db, limit=AT_ONCE)
    for deletion in under_way:
        try:
            while await advance(work.runtime, deletion):
                pass
        except (Refusal, asyncpg.PostgresError):
            # One account that can't be deleted now must not hold up the others.
            log.exception("account can't be deleted now", user=str(deletion.user_id))
    left = await store.list_under_way(work.db, limit=AT_ONCE)
    return f"{len(under_way) - len(left)} accounts deleted, {len(left)} under way"


async def advance(runtime: Runtime, deletion: AccountDeletion) -> bool:
    """Take one step in its own transaction; False if there is nothing to do now."""
    async with runtime.transaction(SYSTEM) as work:
        # The host's lock comes before every row's, as everywhere.
        await lock_host(work.db, deletion.user_id)
        current = await store.lock_deletion(work.db, deletion.user_id)
        if current is None:
            return False
        try:
            user = await accounts.get_user(work, current.user_id)
        except UserNotFound:
            await store.finish_deletion(work.db, current.user_id, now=work.now)
            return False
        return await STEPS[current.state](work, current, user)


async def _cancel(work: Work, deletion: AccountDeletion, user: User) -> bool:
    """Cancel some upcoming bookings on behalf of the user who deletes the account."""
    acting = work.acting_as(deletion.requested_by or SYSTEM)
    reason = deletion.message or UNAVAILABLE.fill(host=user.name)
    cancelled = await bookings.cancel_some_upcoming(acting, user, reason=reason, limit=CANCELLED_AT_ONCE)
    state = deletion.state if cancelled else DeletionState.WAITING
    await store.update_state(work.db, user.id, state, cancelled=cancelled)
    return True


async def _wait(work: Work, deletion: AccountDeletion, user: User) -> bool:
    """Wait for mail, webhooks and calendar entries, then tell the owner for the last time."""
    if work.now < deletion.finish_by and await count_unfinished(work.db, user.id):
        return False
    ending = UserDeletionEnding(user_id=user.id, email=user.email, cancelled_bookings=deletion.cancelled_bookings)
    await work.record(ending)
    await store.update_state(work.db, user.id, DeletionState.TELLING)
    return True


async def _tell(work: Work, deletion: AccountDeletion, user: User) -> bool:
    """Wait for the last mail."""
    if work.now < deletion.finish_by + LAST_MAIL and await count_unfinished(work.db, user.id):
        return False
    await store.update_state(work.db, user.id, DeletionState.ERASING)
    return True


async def _erase(work: Work, _: AccountDeletion, user: User) -> bool:
    """Delete some rows of what there is most of, and in the end the user with all that is left."""
    for erase in (bookings.erase_some, contacts.erase_some):
        if await erase(work, user.id, ERASED_AT_ONCE):
            return True
    if await delete_of_host(work.db, user.no, ERASED_AT_ONCE):
        return True
    if await delete_some_events(work.db, user.id, ERASED_AT_ONCE):
        return True
    await delete_rest(work.db, user.id)
    await store.finish_deletion(work.db, user.id, now=work.now)
    await work.record(UserDeleted(user_id=user.id))
    log.info("account deleted", user=str(user.id))
    return False


STEPS: dict[DeletionState, ErasingStep] = {
    DeletionState.CANCELLING: _cancel,
    DeletionState.WAITING: _wait,
    DeletionState.TELLING: _tell,
    DeletionState.ERASING: _erase,
}
PEOPLE_JOBS = (
    Periodic(name="people.delete_accounts", expression="* * * * *", run=advance_deletions, transaction="none"),
)
