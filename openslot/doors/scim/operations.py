"""The verbs behind the SCIM door: create, replace, change and remove a member as a provider says, and log requests."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from openslot.domains.accounts.errors import EmailAlreadyExists, MemberAlreadyExists, MemberNotFound
from openslot.domains.accounts.invitations.operations import WEEK, invite_if_allowed
from openslot.domains.accounts.members.operations import (
    add_described_member,
    describe_member,
    get_member,
    get_member_for_change,
)
from openslot.domains.accounts.models import Member, Organization, User, UserWanted
from openslot.domains.accounts.operations import change_address, find_user_by_email, get_user, has_password, rename_user
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.accounts.organizations.store import has_domain_of, has_foreign_domain, lock_organization
from openslot.domains.accounts.store import lock_host, lock_leavers
from openslot.domains.people import departures
from openslot.domains.people.operations import welcome_user
from openslot.doors.scim import resources, store
from openslot.doors.scim.attributes import MAX_RESULTS
from openslot.doors.scim.errors import InvalidValue, NotUnique, VersionMismatch
from openslot.doors.scim.filters import parse_filter
from openslot.doors.scim.models import LoggedRequest, NewRequest, RequestFilter
from openslot.doors.scim.patches import patch
from openslot.platform.core.db import Row
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.times import find_zone
from openslot.platform.core.work import Periodic, Runtime, Work
from openslot.platform.jobs.batches import delete_old

ResourceChange = Callable[[resources.Resource], resources.Resource]


async def get_scim_user(work: Work, user_id: UUID) -> Row:
    row = await store.find_shown(work.db, _organization_id(work), user_id)
    if row is None:
        raise MemberNotFound
    return row


async def list_users(work: Work, *, filter_: str | None, start: int, count: int) -> tuple[list[Row], int]:
    """Read users in the order in which they joined, and how many there are."""
    condition = store.Condition(parse_filter(filter_)) if filter_ is not None else None
    limit = min(max(count, 0), MAX_RESULTS)
    return await store.list_shown(work.db, _organization_id(work), condition, limit=limit, offset=max(start, 1) - 1)


async def create_user(work: Work, body: Mapping[str, Any]) -> Row:
    """Add someone to the organization: a new account, or the existing one with the address."""
    wanted = resources.check_user(resources.read_user(body))
    organization = await get_organization_by_id(work, _organization_id(work))
    email = resources.get_email(wanted)
    user = await find_user_by_email(work, email)
    said_active = wanted.pop("active", True)
    if user is not None:
        # Who is said to have left goes with what they have in teams, whose locks come first.
        await (lock_host(work.db, user.id) if said_active else lock_leavers(work.db, [user.id]))
    await lock_organization(work.db, organization.id)
    await _check_unique(work, organization.id, wanted["userName"], besides=None)
    is_new = user is None
    if user is None:
        # Another organization's people are asked too, also if it has not added them yet.
        pending = await has_foreign_domain(work.db, organization.id, email)
        user = await _welcome(work, wanted, email)
    else:
        pending = not await has_domain_of(work.db, organization.id, user.email)
    try:
        member_id = await add_described_member(
            work, organization, user, profile=wanted, said_active=said_active, pending=pending
        )
    except MemberAlreadyExists:
        raise NotUnique(f"{email} is already a user of this organization") from None
    await _begin(work, organization, member_id, is_active=said_active, is_new=is_new)
    return await get_scim_user(work, member_id)


async def replace_user(work: Work, user_id: UUID, body: Mapping[str, Any], *, if_match: str | None) -> Row:
    """Make a user what the provider says; a missing `active` is left as it is."""
    wanted = resources.check_user(resources.read_user(body))
    return await _change(work, user_id, lambda current: _with_active(wanted, current), if_match=if_match)


async def patch_user(work: Work, user_id: UUID, body: Mapping[str, Any], *, if_match: str | None) -> Row:
    """Apply a provider's changes to a user, all of them or none."""
    return await _change(work, user_id, lambda current: patch(current, body), if_match=if_match)


async def remove_user(work: Work, user_id: UUID, *, if_match: str | None) -> None:
    """Remove a user from the organization; the account stays."""
    organization = await get_organization_by_id(work, _organization_id(work))
    member = await get_member_for_change(work, organization.id, user_id)
    _check_version(member, if_match)
    await departures.remove(work, organization, member)


async def _change(work: Work, user_id: UUID, change: ResourceChange, *, if_match: str | None) -> Row:
    organization = await get_organization_by_id(work, _organization_id(work))
    member = await get_member_for_change(work, organization.id, user_id)
    _check_version(member, if_match)
    current = _describe(member)
    wanted = change({**current, **({} if member.said_active is None else {"active": member.said_active})})
    said_active = wanted.pop("active", None)
    if wanted != current or said_active != member.said_active:
        if wanted["userName"] != current["userName"]:
            await lock_organization(work.db, organization.id)
            await _check_unique(work, organization.id, wanted["userName"], besides=member.id)
        profile = member.profile if wanted == current else wanted
        await describe_member(work, member, profile=profile, said_active=said_active)
        await _reach_account(work, organization, member, current, wanted)
        await _set_active(work, organization, member, said_active)
    return await get_scim_user(work, user_id)


async def _set_active(work: Work, organization: Organization, member: Member, said_active: bool | None) -> None:
    if said_active is False and member.said_active is not False:
        await departures.suspend(work, organization, member, is_leaving=member.active)
    elif said_active is True and member.said_active is not True:
        await departures.reinstate(work, organization, member)
        await _invite(work, organization, member)


async def _reach_account(
    work: Work, organization: Organization, member: Member, current: resources.Resource, wanted: resources.Resource
) -> None:
    """Change name and address of an account in a verified domain; other accounts are left to their owners."""
    if not member.is_in_domain:
        return
    name = resources.find_new_name(current, wanted)
    if name is not None and name != member.user.name:
        await rename_user(work, member.user, name)
    email = resources.get_email(wanted)
    if fold_ascii(email) in {fold_ascii(member.user.email), fold_ascii(resources.get_email(current))}:
        return
    if not await has_domain_of(work.db, organization.id, email):
        return
    try:
        is_changed = await change_address(work, organization, await get_user(work, member.user.id), email)
    except EmailAlreadyExists:
        raise NotUnique(f"Another account has the address {email}") from None
    if is_changed:
        await _invite(work, organization, await get_member(work, organization.id, member.id))


async def _begin(work: Work, organization: Organization, member_id: UUID, *, is_active: bool, is_new: bool) -> None:
    """Open or close the account of a new member, and invite its owner if a step is missing."""
    member = await get_member(work, organization.id, member_id)
    if not is_active:
        # Whoever had an open account leaves; an account that was opened a moment ago has nothing to lose.
        is_leaving = not is_new and member.user.disabled_at is None
        await departures.suspend(work, organization, member, is_leaving=is_leaving)
        return
    await departures.reopen(work, organization, member)
    await _invite(work, organization, member)


async def _invite(work: Work, organization: Organization, member: Member) -> None:
    if member.pending or not await has_password(work, member.user):
        await invite_if_allowed(work, organization, member.user)


async def _welcome(work: Work, wanted: resources.Resource, email: str) -> User:
    zone = find_zone(wanted.get("timezone", ""))
    new = UserWanted(email=email, name=resources.get_name(wanted), zone=str(zone) if zone else "UTC")
    try:
        return await welcome_user(work, new)
    except EmailAlreadyExists:
        # Another transaction has opened the account since the look-up.
        raise NotUnique(f"Another account has the address {email}") from None
    except Invalid as refusal:
        faults = ", ".join(f"{field} {words}" for field, words in (refusal.details or {}).items())
        raise InvalidValue(faults or refusal.message) from None


async def _check_unique(work: Work, organization_id: UUID, user_name: str, *, besides: UUID | None) -> None:
    if await store.has_user_name(work.db, organization_id, user_name, besides=besides):
        raise NotUnique("Another user of this organization has this userName")


def _describe(member: Member) -> resources.Resource:
    if member.profile is not None:
        return dict(member.profile)
    return resources.derive_user(email=member.user.email, name=member.shown_name)


def _with_active(wanted: resources.Resource, current: resources.Resource) -> resources.Resource:
    return {**wanted, "active": current["active"]} if "active" not in wanted and "active" in current else wanted


def _check_version(member: Member, if_match: str | None) -> None:
    if if_match is not None and not resources.is_named(member.version, if_match):
        raise VersionMismatch


def _organization_id(work: Work) -> UUID:
    organization_id = work.actor.organization_id
    if organization_id is None:
        raise MemberNotFound
    return organization_id


KEPT = INVITATIONS_KEPT = timedelta(days=30)


async def log_request(runtime: Runtime, request: NewRequest) -> None:
    """Log a request, together with those that are answered at the same time."""
    await runtime.batcher(_log_requests).ask(request)


async def list_requests(
    work: Work, token_ids: Sequence[UUID], *, page: int = 1, limit: int = 100
) -> list[LoggedRequest]:
    return await store.list_requests(work.db, token_ids, limit=limit, offset=(page - 1) * limit)


async def search_requests(
    work: Work, organization_id: UUID, wanted: RequestFilter, *, before_id: int | None, limit: int
) -> list[LoggedRequest]:
    """Read what an organization's providers asked for, newest first, from behind a request on."""
    return await store.search_requests(work.db, organization_id, wanted, before_id=before_id, limit=limit)


async def _log_requests(runtime: Runtime, requests: Sequence[NewRequest]) -> Sequence[None]:
    await store.insert_requests(runtime.pool, requests)
    return [None] * len(requests)


async def tidy_scim(work: Work) -> str:
    """Remove logged requests after 30 days, departures that no longer count, and old invitations."""
    requests = await delete_old(work.db, "scim_requests", "at", before=work.now - KEPT)
    await delete_old(work.db, "departures", "at", before=work.now - departures.WITHIN)
    await delete_old(work.db, "sent_invitations", "at", before=work.now - WEEK)
    removed = await delete_old(work.db, "invitations", "expires_at", before=work.now - INVITATIONS_KEPT)
    return f"{requests} logged requests, {removed} invitations removed"


SCIM_JOBS = (Periodic(name="scim.tidy", expression="3-59/5 * * * *", run=tidy_scim, transaction="none"),)
