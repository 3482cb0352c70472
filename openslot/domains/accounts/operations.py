"""The verbs of users, their settings and addresses; those of organizations and members have files of their own."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from uuid import UUID

import asyncpg
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts import errors, store
from openslot.domains.accounts.events import (
    PlanChanged,
    UserAdded,
    UserChanged,
    UserDisabled,
    UserEnabled,
    UserSettingsChanged,
)
from openslot.domains.accounts.invitations.store import delete_open_invitations
from openslot.domains.accounts.members.operations import check_another_admin
from openslot.domains.accounts.members.store import find_managing_organization, owns_organization
from openslot.domains.accounts.models import (
    Activity,
    Organization,
    Preferences,
    User,
    UserSettings,
    UserStatus,
    UserWanted,
)
from openslot.domains.accounts.plans import Plan, PlanGrant
from openslot.domains.accounts.profiles.operations import check_may_reserve
from openslot.domains.accounts.profiles.store import RESERVED
from openslot.domains.accounts.rules import check_settings, check_user
from openslot.domains.accounts.store import is_leaving
from openslot.platform.core.actor import ActorKind
from openslot.platform.core.moments import Span
from openslot.platform.core.work import Work

TELL_KEPT = "mail.address_kept"


class AddressKept(Struct, frozen=True, kw_only=True):
    """An address that a provider has for an owner, and that the account did not get."""

    user_id: UUID
    organization_name: str
    email: str


async def add_user(work: Work, wanted: UserWanted, *, password_hash: str | None = None) -> User:
    checked = check_user(wanted)
    user_id, tried = await _insert(work, checked, password_hash), {checked.username}
    # Another transaction may take the next name first, and names of deleted accounts are not in any list.
    while user_id is None and wanted.username is None:
        choice = await _choose_username(work, checked, tried)
        user_id = await _insert(work, replace(checked, username=choice), password_hash)
        tried.add(choice)
    if user_id is None:
        raise errors.UsernameAlreadyExists
    user = await get_user(work, user_id)
    await work.record(UserAdded(user_id=user.id, email=user.email))
    return user


async def get_user(work: Work, user_id: UUID) -> User:
    user = await store.find_user(work.db, user_id, now=work.now)
    if user is None:
        raise errors.UserNotFound
    return user


async def find_user_by_email(work: Work, email: str) -> User | None:
    return await store.find_user_by_email(work.db, email.strip(), now=work.now)


async def get_user_by_email(work: Work, email: str) -> User:
    user = await find_user_by_email(work, email)
    if user is None:
        raise errors.UserNotFound
    return user


async def list_users(
    work: Work,
    *,
    search: str | None = None,
    plan: Plan | None = None,
    status: UserStatus | None = None,
    page: int = 1,
    limit: int = 20,
) -> tuple[list[User], int]:
    """Read one page of all users, newest first, and how many there are; `plan` is a user's own."""
    return await store.list_users(
        work.db, now=work.now, search=search, plan=plan, status=status, limit=limit, offset=(page - 1) * limit
    )


async def list_users_by_id(work: Work, ids: Sequence[UUID]) -> dict[UUID, User]:
    return await store.list_users_by_id(work.db, ids, now=work.now)


async def list_activity(
    work: Work, user: User, *, span: Span, page: int = 1, limit: int = 20
) -> tuple[list[Activity], int]:
    """Read one page of what happened to a user and all that belongs to the account, newest first."""
    return await store.list_activity(work.db, user.id, span=span, limit=limit, offset=(page - 1) * limit)


async def change_user_settings(work: Work, user: User, wanted: UserSettings) -> User:
    given = check_settings(wanted)
    changed = replace(user, **given)
    names = tuple(name for name in given if getattr(user, name) != getattr(changed, name))
    if not names:
        return user
    try:
        async with work.attempt():
            is_admin = await store.update_settings(work.db, user.id, given, now=work.now)
            if "username" in names:
                # It is written: from here on nobody else changes the user before the commit.
                if is_admin and work.actor.kind is ActorKind.AGENT:
                    raise errors.AdministratorProtected
                await check_may_reserve(work, user)
    except asyncpg.UniqueViolationError:
        raise errors.UsernameAlreadyExists from None
    await work.record(
        UserSettingsChanged(
            user_id=user.id,
            email=user.email,
            changed=names,
            name=changed.name,
            username=changed.username,
            zone=changed.zone,
            locale=changed.locale,
        )
    )
    return replace(changed, updated_at=work.now)


async def set_user_preferences(work: Work, user: User, wanted: Preferences) -> None:
    """Change how the user's own pages look; it is nobody else's concern, and so no event."""
    await store.update_preferences(work.db, user.id, wanted)


async def set_first_step(work: Work, user: User, step: int) -> None:
    """Keep which of the first steps comes next; a step that is repeated, or taken after all were, changes nothing."""
    if user.welcome_step is not None and step > user.welcome_step:
        await store.update_welcome_step(work.db, user.id, step)


async def finish_first_steps(work: Work, user: User) -> None:
    await store.update_welcome_step(work.db, user.id, None)


async def set_user_plan(
    work: Work, user: User, plan: Plan, *, until: datetime | None = None, reason: str | None = None
) -> User:
    await store.update_plan(work.db, user.id, plan, until=until, now=work.now)
    if plan != user.plan:
        changed = PlanChanged(user_id=user.id, email=user.email, plan=plan, previous=user.plan, reason=reason)
        await work.record(changed)
    return await get_user(work, user.id)


async def clear_decided_plan(work: Work, user: User) -> None:
    """Take back what an operator has decided: the user has no plan of their own, unless it is paid for."""
    await store.clear_plan(work.db, user.id, now=work.now)


async def follow_user_subscription(work: Work, user: User, plan: Plan, *, until: datetime | None) -> None:
    """Give a user the plan that is paid for, unless an operator has decided otherwise."""
    if await store.is_user_plan_decided(work.db, user.id):
        return
    await store.follow_subscription(work.db, user.id, plan, until=until, now=work.now)
    if plan != user.plan:
        changed = PlanChanged(
            user_id=user.id, email=user.email, plan=plan, previous=user.plan, reason="by subscription"
        )
        await work.record(changed)


async def list_plan_grants(work: Work, user: User) -> list[PlanGrant]:
    return await store.list_plan_grants(work.db, user.id)


async def set_password_hash(work: Work, user: User, password_hash: str) -> None:
    await store.update_password(work.db, user.id, password_hash, now=work.now)


async def replace_password(work: Work, user: User, *, old: str | None, new: str) -> bool:
    """Replace one hash by another; False if the user's password is no longer the old one."""
    return await store.replace_password(work.db, user.id, old=old, new=new, now=work.now)


async def is_unclaimed(work: Work, user: User) -> bool:
    """Answer whether a provider has opened an account outside all domains that nobody has ever used."""
    return await store.is_unclaimed(work.db, user.id)


async def claim_account(work: Work, user: User, *, name: str, locale: str, password_hash: str) -> User:
    """Give an unclaimed account to whoever has proven that its address is theirs, open and with their password."""
    opened = await store.open_claimed(
        work.db, user.id, name=name, locale=locale, password_hash=password_hash, now=work.now
    )
    if not opened:
        raise errors.EmailAlreadyExists
    if user.disabled_at is not None:
        await work.record(UserEnabled(user_id=user.id, email=user.email))
    await work.record(UserChanged(user_id=user.id, email=user.email, name=name, previous_email=user.email))
    return await get_user(work, user.id)


async def has_password(work: Work, user: User) -> bool:
    return await store.find_password_hash(work.db, user.id) is not None


async def set_admin(work: Work, user: User, *, is_admin: bool) -> User:
    if not is_admin:
        await check_another_admin(work, user)
    await store.update_admin(work.db, user.id, is_admin=is_admin, now=work.now)
    return await get_user(work, user.id)


async def set_user_disabled(work: Work, user: User, *, reason: str | None) -> bool:
    if user.is_admin:
        await check_another_admin(work, user)
    if not await store.update_disabled(work.db, user.id, work.now, now=work.now):
        return False
    await work.record(UserDisabled(user_id=user.id, email=user.email, reason=reason))
    return True


async def set_user_enabled(work: Work, user: User) -> None:
    if await is_leaving(work.db, user.id):
        raise errors.AccountDeletionPending
    if await store.update_disabled(work.db, user.id, None, now=work.now):
        await work.record(UserEnabled(user_id=user.id, email=user.email))


async def close_account_for_good(work: Work, user: User) -> None:
    if not await store.close_for_good(work.db, user.id, now=work.now):
        raise errors.AccountDeletionPending


async def rename_user(work: Work, user: User, name: str) -> None:
    await store.update_name(work.db, user.id, name, now=work.now)
    await work.record(UserChanged(user_id=user.id, email=user.email, name=name, previous_email=user.email))


async def change_email(work: Work, user: User, email: str) -> None:
    try:
        await store.update_email(work.db, user.id, email, now=work.now)
    except asyncpg.UniqueViolationError:
        raise errors.EmailAlreadyExists from None
    await work.record(UserChanged(user_id=user.id, email=email, name=user.name, previous_email=user.email))


async def change_address(work: Work, organization: Organization, user: User, email: str) -> bool:
    """Give an account the address from a provider, unless it would hand an organization over; return whether it did.

    Anyone who can choose the address can reset the password. So an administrator with a token would become the owner,
    and no organization gets the platform in this way.
    """
    if await _keeps_address(work, user):
        kept = AddressKept(user_id=user.id, organization_name=organization.name, email=email)
        await work.plan(TELL_KEPT, str(user.id), due_at=work.now, payload=kept, tenant_id=user.id)
        return False
    await replace_address(work, user, email)
    return True


async def check_own_address(work: Work, user: User) -> None:
    """Refuse a user whose address an identity provider decides about."""
    managed_by = None if await _keeps_address(work, user) else await find_managing_organization(work.db, user.id)
    if managed_by is not None:
        raise errors.EmailManagedByOrganization(managed_by)


async def replace_address(work: Work, user: User, email: str) -> None:
    """Give an account another address; links that were sent to the former one end."""
    await change_email(work, user, email)
    # The reader of the former address may be another person, and an open link sets the password.
    await delete_open_invitations(work.db, user.id)


async def note_user_left(work: Work, user: User) -> None:
    """Record when a user left an organization, so that a booking requested before and made after is refused."""
    await store.update_left(work.db, user.id, left_at=work.runtime.clock())


async def _insert(work: Work, wanted: UserWanted, password_hash: str | None) -> UUID | None:
    try:
        async with work.attempt():
            return await store.insert_user(work.db, wanted, password_hash=password_hash, now=work.now)
    except asyncpg.UniqueViolationError as fault:
        if fault.constraint_name != RESERVED:
            raise errors.EmailAlreadyExists from None
        return None


async def _choose_username(work: Work, wanted: UserWanted, tried: AbstractSet[str | None]) -> str:
    base = wanted.username or ""
    taken = tried | await store.taken_usernames(work.db, base)
    choices = (f"{base}-{n}" for n in range(2, len(taken) + 3))
    return next(choice for choice in choices if choice not in taken)


async def _keeps_address(work: Work, user: User) -> bool:
    return user.is_admin or await owns_organization(work.db, user.id)
