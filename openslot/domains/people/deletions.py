"""The one place where an account is deleted: closed at once, its bookings cancelled, and erased when all is done."""

import base64
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import structlog
from msgspec import Struct

from openslot.domains.access.operations import end_sessions
from openslot.domains.accounts.errors import AccountManagedByOrganization, AccountOwnsOrganization, UserNotFound
from openslot.domains.accounts.events import UserDeleted, UserDeletionBegun, UserDeletionEnding
from openslot.domains.accounts.members.operations import check_another_admin, end_membership, get_member
from openslot.domains.accounts.models import Member, Role, User
from openslot.domains.accounts.operations import close_account_for_good, get_user
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.accounts.store import lock_leavers
from openslot.domains.availability.claims.operations import erase_some_claims
from openslot.domains.bookings import handovers
from openslot.domains.bookings.models import UNAVAILABLE
from openslot.domains.bookings.operations import erase_some_bookings
from openslot.domains.contacts.operations import erase_some_contacts
from openslot.domains.people import store, team_leavers
from openslot.domains.people.models import AccountDeletion, DeletionPreview, DeletionState, ShownDeletion
from openslot.domains.wait_list.operations import close_wait_lists
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.retention import count_unfinished, delete_rest, delete_some_events
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Periodic, Runtime, Work, recorded_together
from openslot.platform.jobs.each import serve_each

# The retries of a calendar server that is down take four days.
EFFECTS_FINISH_WITHIN = timedelta(days=7)
MAX_SHOWN = 20


async def check_organizations(work: Work, user: User) -> None:
    """Refuse to delete an account that owns an organization or is managed by one."""
    for organization, member in await list_memberships(work, user):
        if member.role is Role.OWNER:
            raise AccountOwnsOrganization(organization)
        if member.is_managed:
            raise AccountManagedByOrganization(organization)


@recorded_together
async def delete_account(work: Work, user: User, *, message: str | None = None) -> None:
    """Close an account at once and for good; the worker cancels its bookings, waits for what follows, and erases it.

    `message` is what invitees are told.
    """
    await lock_leavers(work.db, [user.id])
    await check_organizations(work, user)
    if user.is_admin:
        await check_another_admin(work, user)
    # Closed before anything is cancelled: a booking that is made in this moment is either refused or cancelled too.
    await close_account_for_good(work, user)
    finish_by = work.now + EFFECTS_FINISH_WITHIN
    deletion = AccountDeletion(
        user_id=user.id,
        state=DeletionState.CANCELLING,
        requested_at=work.now,
        requested_by=work.actor,
        message=message or None,
        finish_by=finish_by,
    )
    await store.insert_deletion(work.db, deletion)
    for _, member in await list_memberships(work, user):
        organization = await get_organization_by_id(work, member.organization_id)
        await end_membership(work, organization, user)
        await team_leavers.leave_organization(work, organization, user)
    await work.record(UserDeletionBegun(user_id=user.id, email=user.email, finish_by=finish_by))
    await end_sessions(work, user)


async def preview_deletion(work: Work, user: User) -> DeletionPreview:
    upcoming = await store.list_upcoming(work.db, user.id, now=work.now, limit=MAX_SHOWN)
    counts = await store.count_belongings(work.db, user.id, now=work.now)
    return DeletionPreview(upcoming=upcoming, counts=counts)


async def list_deletions(work: Work) -> list[ShownDeletion]:
    """List the deletions that are not done, oldest first, with what each waits for."""
    found = await store.list_under_way(work.db, limit=1_000)
    return [ShownDeletion(deletion=each, unfinished=await count_unfinished(work.db, each.user_id)) for each in found]


async def list_memberships(work: Work, user: User) -> list[tuple[str, Member]]:
    return [
        (name, await get_member(work, each.organization_id, each.id))
        for name, each in await store.list_memberships(work.db, user.id)
    ]


DELETE = "people.delete_accounts"
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
    await serve_each(work, DELETE, under_way, partial(_advance_all, work.runtime), key=lambda each: each.user_id)
    left = await store.list_under_way(work.db, limit=AT_ONCE)
    return f"{len(under_way) - len(left)} accounts deleted, {len(left)} under way"


async def _advance_all(runtime: Runtime, deletion: AccountDeletion) -> None:
    while await advance(runtime, deletion):
        pass


async def advance(runtime: Runtime, deletion: AccountDeletion) -> bool:
    """Take one step in its own transaction; False if there is nothing to do now."""
    async with runtime.transaction(SYSTEM) as work:
        # The host's lock comes before every row's, as everywhere.
        await lock_leavers(work.db, [deletion.user_id])
        current = await store.lock_deletion(work.db, deletion.user_id)
        if current is None:
            return False
        try:
            user = await get_user(work, current.user_id)
        except UserNotFound:
            await store.finish_deletion(work.db, current.user_id, now=work.now)
            return False
        return await STEPS[current.state](work, current, user)


async def _cancel(work: Work, deletion: AccountDeletion, user: User) -> bool:
    acting = work.acting_as(deletion.requested_by or SYSTEM)
    reason = deletion.message or UNAVAILABLE.fill(host=user.name)
    await close_wait_lists(acting, user)
    released = await handovers.release_some(acting, user, reason=reason, limit=CANCELLED_AT_ONCE)
    state = deletion.state if released.count else DeletionState.WAITING
    await store.update_state(work.db, user.id, state, cancelled=len(released.cancelled) + released.declined)
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
    if work.now < deletion.finish_by + LAST_MAIL and await count_unfinished(work.db, user.id):
        return False
    await store.update_state(work.db, user.id, DeletionState.ERASING)
    return True


async def _erase(work: Work, _: AccountDeletion, user: User) -> bool:
    """Delete some rows of what there is most of, and in the end the user with all that is left."""
    for erase in (erase_some_bookings, erase_some_contacts, erase_some_claims):
        if await erase(work, user, ERASED_AT_ONCE):
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
PEOPLE_JOBS = (Periodic(name=DELETE, expression="* * * * *", run=advance_deletions, transaction="none"),)


LINK_LASTS = timedelta(hours=1)
SEND_LINK = "mail.confirm_deletion"
PURPOSE = "delete account"
PATH = "/settings/data/delete"
TIME_BYTES = 8


class DeletionLinkRequested(Struct, frozen=True, kw_only=True):
    user_id: UUID


async def request_link(work: Work, user: User) -> None:
    """Plan the mail with the link; two requests that wait at the same time are one."""
    requested = DeletionLinkRequested(user_id=user.id)
    await work.plan(SEND_LINK, str(user.id), due_at=work.now, payload=requested, tenant_id=user.id)


def write_link(runtime: Runtime, user: User, *, expires_at: datetime) -> str:
    """Write the address of the page that deletes the account; the user who opens it must be signed in as well."""
    time = int(expires_at.timestamp()).to_bytes(TIME_BYTES)
    signed = time + runtime.signer.sign(PURPOSE, _message(user, time))
    return f"{runtime.settings.public_url}{PATH}/{base64.urlsafe_b64encode(signed).decode().rstrip('=')}"


def is_proof(runtime: Runtime, user: User, token: str, *, now: datetime) -> bool:
    """Return whether a token was sent to the address that the user has, not long ago."""
    try:
        signed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return False
    time, signature = signed[:TIME_BYTES], signed[TIME_BYTES:]
    if not runtime.signer.is_signed(PURPOSE, _message(user, time), signature):
        return False
    return datetime.fromtimestamp(int.from_bytes(time), tz=UTC) > now


def _message(user: User, time: bytes) -> bytes:
    return user.id.bytes + time + fold_ascii(user.email).encode()


SURVIVING_TABLES = {
    "account_deletions": "that an account was deleted and when, under an id that leads to nobody",
    "events": "user.deleted, with that id alone; everything else that happened to the user is deleted",
    "agent_calls": "the agents' audit trail, whose chain of signatures must stay whole: ids and hashes of arguments",
    "agent_emails": "the log of mail that agents have sent, until its retention ends",
    "agent_chain": "the end of the audit trail",
    "agent_keys": "keys of agents, which belong to the platform",
    "agent_calls_begun": "calls of agents that have not ended",
    "agent_images": "images that agents have had made, for a few days",
    "agent_reservations": "spend of agents",
    "agent_spend": "spend of agents",
    "agents": "the agents of the platform",
    "assistant_clients": "programs that have asked for a connection",
    "approvals": "requests of agents, whose arguments are deleted when they are decided or expire",
    "kept_days": "which days were counted",
    "lanes": "the order of effects; the lanes of a deleted account are deleted with its events",
    "allowances": "how much an account, a network or a mail domain has caused, by id or name, for two days at most",
    "change_log": "what administrators have changed, with names and addresses as they were, until its retention ends",
    "marketing_recipients": "addresses that agents may not write to any more must stay known",
    "contact_counts": "a total of all contacts of the platform",
    "daily_figures": "sums of all users for each day, counted again without what is deleted",
    "active_hosts": "which hosts were booked on a day, as bits, counted again without what is deleted",
    "data_keys": "keys of the platform",
    "departures": "how many members have left an organization, and when",
    "domains": "an organization's",
    "flag_version": "a number",
    "flags": "the platform's",
    "stale_days": "which days are to be counted again",
    "teams": "an organization's",
    "switches": "which messages the platform has stopped, and by whom, until they are resumed",
    "finished_oidc_sign_ins": "hashes of sign-ins, for minutes",
    "funnel_steps": "which steps an account has taken after it signed up, under an id that leads to nobody",
    "funnel_visits": "a number for each day",
    "idempotency": "sealed answers for retries, for a day",
    "member_counts": "a total of an organization's members",
    "migrations": "the platform's",
    "organization_settings": "an organization's",
    "organizations": "an organization's",
    "plan_prices": "the platform's",
    "subscription_feed": "up to when the payment provider was read",
    "payment_endings": "the sealed key of an account for payments, until what we have set up there is removed",
    "message_erasures": "the sealed token of an account for messages, until what went through it is deleted there",
    "periodic_runs": "the platform's",
    "failed_items": "ids of what a job has failed for, for days",
    "rate_log": "hashes of callers, for minutes",
    "scim_requests": "an organization's log of its directory, until its retention ends",
    "scim_tokens": "an organization's",
    "sent_invitations": "hashes of addresses that were invited, for a week",
    "setup_links": "the platform's, before the first account",
    "sign_ups": "requests for an account that nobody has confirmed, until they expire",
    "worker_beats": "the platform's",
    "wrong_passwords": "hashes of addresses, for minutes",
}
