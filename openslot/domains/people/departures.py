"""Departures from an organization, with a brake: if a provider sends many at once, what can't be undone waits."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from msgspec import Struct, structs

from openslot.domains.access.operations import end_sessions
from openslot.domains.accounts.members.operations import (
    Administration,
    add_described_member,
    check_may_decide,
    check_may_leave,
    describe_member,
    end_membership,
    find_member_by_user,
    get_member_by_user,
    list_organization_members,
    restore_member,
    set_member_active,
)
from openslot.domains.accounts.members.store import list_administrators
from openslot.domains.accounts.models import Member, Organization, Role, User
from openslot.domains.accounts.operations import find_user_by_email, get_user, note_user_left
from openslot.domains.accounts.organizations.store import lock_organization
from openslot.domains.accounts.store import lock_host, lock_leavers
from openslot.domains.bookings import handovers
from openslot.domains.bookings.models import LEFT
from openslot.domains.people import store, team_leavers
from openslot.domains.people.errors import DeparturePending, HeldDepartureNotFound
from openslot.domains.people.events import DepartureDecided, DepartureHeld
from openslot.domains.people.models import HeldDeparture, LeaverCounts, Preview, UpcomingMeeting
from openslot.domains.people.operations import reinstate_member, remove_member, suspend_member
from openslot.domains.teams.models import Team
from openslot.domains.teams.operations import remove_team_member
from openslot.domains.wait_list.operations import close_wait_lists
from openslot.platform.core.folding import find_each
from openslot.platform.core.work import Work, recorded_together

WITHIN = timedelta(hours=1)
REPORT_HELD = "scim.report_held"

log = structlog.get_logger()


class HeldReport(Struct, frozen=True, kw_only=True):
    organization_id: UUID
    organization_name: str
    administrator_id: UUID


def is_too_many(departed: int, members_before: int, *, share: int) -> bool:
    """Return whether so many departures within an hour are more than five and more than the organization's share."""
    return departed > 5 and departed * 100 > share * members_before


@recorded_together
async def suspend(work: Work, organization: Organization, member: Member, *, is_leaving: bool) -> None:
    """Suspend a member: the account is closed at once, and its upcoming bookings are cancelled, kept, or wait.

    An account that the organization does not manage stays open, so that others take over its teams' event types.
    """
    is_held = await _is_held(work, organization, member, removed=False, is_leaving=is_leaving)
    await set_member_active(work, member, active=False)
    if member.is_managed:
        stay = is_held or organization.keeps_bookings
        await suspend_member(work, organization, member.user, keeps_bookings=stay)
    else:
        await team_leavers.hand_over(work, organization.id, member.user)


async def reinstate(work: Work, organization: Organization, member: Member) -> None:
    """Reinstate a suspended member; a departure that waited is dropped."""
    await set_member_active(work, member, active=True)
    await reopen(work, organization, member)


async def reopen(work: Work, organization: Organization, member: Member) -> None:
    """Open the account of an active member again; a departure that waited is dropped."""
    await store.delete_held(work.db, organization.id, member.user.id)
    if member.is_managed:
        await reinstate_member(work, organization, member)


@recorded_together
async def remove(work: Work, organization: Organization, member: Member) -> None:
    """Remove a member; if too many leave at once, the bookings wait."""
    if not await _is_held(work, organization, member, removed=True, is_leaving=member.active):
        await remove_member(work, organization, member.user)
        return
    await end_membership(work, organization, member.user)
    if member.is_managed:
        # The user's row is locked before the sessions, in the same order as by a change of password.
        await note_user_left(work, member.user)
        await end_sessions(work, member.user)


@recorded_together
async def leave_team(work: Work, organization: Organization, team: Team, leavers: list[User], *, staying: int) -> int:
    """Take users out of a team, which is locked, as a provider says, and return how many bookings they keep.

    If nobody stays to take their bookings, or too many have left within an hour, they host what is booked.
    """
    removed = await store.count_removed(work.db, team.id, since=work.now - WITHIN) + len(leavers)
    is_held = not staying or is_too_many(removed, staying + removed, share=organization.departure_share)
    kept = 0
    for user in leavers:
        if not is_held:
            await team_leavers.leave_team(work, team, user)
            continue
        found = await team_leavers.count_of_leaver(work, team, user.id)
        kept += found.cancelled + found.handed_over
        await remove_team_member(work, team, user.id)
    if kept:
        log.warning(
            "bookings of a team kept", organization=organization.slug, team=team.slug, removed=removed, kept=kept
        )
    return kept


async def remove_by_hand(work: Work, administration: Administration, member: Member) -> list[UUID]:
    """Remove a member as an administrator decides, who has seen what is cancelled; name what is."""
    await check_may_leave(work, administration, member)
    organization = administration.organization
    await store.delete_held(work.db, organization.id, member.user.id)
    return await remove_member(on_behalf(work, organization), organization, member.user)


async def remove_as_operator(work: Work, organization: Organization, user: User) -> None:
    """Remove a member as the operator decides; a departure that waited is over."""
    await lock_leavers(work.db, [user.id])
    await store.delete_held(work.db, organization.id, user.id)
    await remove_member(work, organization, user)


async def suspend_by_hand(work: Work, administration: Administration, member: Member) -> list[UUID]:
    """Suspend a member as an administrator decides; name the bookings that are cancelled."""
    await check_may_leave(work, administration, member)
    organization = administration.organization
    if not member.active:
        return []
    await describe_member(work, member, profile=member.profile, said_active=False)
    await set_member_active(work, member, active=False)
    if not member.is_managed:
        await team_leavers.hand_over(work, organization.id, member.user)
        return []
    return await suspend_member(
        on_behalf(work, organization), organization, member.user, keeps_bookings=organization.keeps_bookings
    )


async def reinstate_by_hand(work: Work, administration: Administration, member: Member) -> bool:
    """Reinstate a suspended member as an administrator decides; False if nobody is suspended."""
    check_may_decide(administration, member)
    if member.active or member.pending:
        return False
    await describe_member(work, member, profile=member.profile, said_active=True)
    await reinstate(work, administration.organization, member)
    return True


def on_behalf(work: Work, organization: Organization) -> Work:
    """Cancel in the name of the organization, not of the host."""
    return work.acting_as(structs.replace(work.actor, organization_id=organization.id))


async def _is_held(work: Work, organization: Organization, member: Member, *, removed: bool, is_leaving: bool) -> bool:
    """Count a departure, and hold it for an administrator if there are too many.

    One that waits goes on waiting, whatever else the provider sends. A member who has left before counts again only
    if there are bookings that would be lost.
    """
    await lock_organization(work.db, organization.id)
    if await store.update_held(work.db, member, removed=removed):
        return True
    if not member.is_managed:
        return False
    is_cancelling = removed or not organization.keeps_bookings
    if not is_leaving and not (is_cancelling and await store.count_released(work.db, [member.user.id], now=work.now)):
        return False
    departed, before = await store.count_departures(work.db, organization.id, since=work.now - WITHIN)
    departed += 1
    await store.insert_departure(work.db, organization.id, now=work.now)
    if not is_cancelling or not is_too_many(departed, before, share=organization.departure_share):
        return False
    await store.insert_held(work.db, member, removed=removed, now=work.now)
    log.warning("departure held", organization=organization.slug, departed=departed, members=before)
    held = DepartureHeld(
        organization_id=organization.id,
        organization_name=organization.name,
        user_id=member.user.id,
        email=member.user.email,
        departed=departed,
        members=before,
    )
    await work.record(held)
    await _plan_report(work, organization)
    return True


async def _plan_report(work: Work, organization: Organization) -> None:
    """Plan a mail to every administrator within five minutes; departures held until then are in the same mail."""
    for administrator_id in await list_administrators(work.db, organization.id):
        report = HeldReport(
            organization_id=organization.id, organization_name=organization.name, administrator_id=administrator_id
        )
        key = f"{organization.id}:{administrator_id}"
        await work.plan(REPORT_HELD, key, due_at=_next_report(work.now), payload=report, tenant_id=administrator_id)


def _next_report(now: datetime) -> datetime:
    """Round up to the next five minutes, so that a long series of departures can't delay the mail."""
    step = timedelta(minutes=5).total_seconds()
    return datetime.fromtimestamp((now.timestamp() // step + 1) * step, UTC)


async def check_decided(work: Work, organization: Organization, email: str) -> None:
    """Refuse to add someone whose departure waits: a rejection restores the member as before."""
    user = await find_user_by_email(work, email)
    if user and await store.find_held(work.db, organization.id, user.id, now=work.now):
        raise DeparturePending


async def lock_held(work: Work, organization_id: UUID, *, user_id: UUID | None = None) -> set[UUID]:
    """Wait for the locks of all hosts whose departures wait, or of one, and name them.

    Whoever decides takes them before the organization's lock, in the same order as identity providers.
    """
    return await store.lock_held_hosts(work.db, organization_id, user_id=user_id)


async def list_held(work: Work, organization: Organization) -> list[HeldDeparture]:
    return await store.list_held(work.db, organization.id, now=work.now)


async def get_held(work: Work, organization_id: UUID, user_id: UUID) -> HeldDeparture:
    held = await store.find_held(work.db, organization_id, user_id, now=work.now)
    if held is None:
        raise HeldDepartureNotFound
    return held


@recorded_together
async def approve(work: Work, organization: Organization, held: HeldDeparture) -> int:
    """Finish a departure: cancel the leaver's upcoming bookings and return how many there were."""
    await lock_leavers(work.db, [held.user_id])
    await _decide(work, organization, held, approved=True)
    user = await get_user(work, held.user_id)
    if held.removed:
        await team_leavers.leave_organization(work, organization, user)
    else:
        await team_leavers.hand_over(work, organization.id, user)
    reason = LEFT.fill(host=user.name, organization=organization.name)
    await close_wait_lists(work, user)
    return len(await handovers.cancel_upcoming(work, user, reason=reason))


async def approve_all(work: Work, organization: Organization) -> int:
    """Finish all departures that wait, and return how many bookings were cancelled."""
    acting = on_behalf(work, organization)
    # Always in the same order, so that two decisions at the same time can't deadlock.
    held = sorted(await list_held(work, organization), key=lambda each: each.user_id)
    return sum([await approve(acting, organization, each) for each in held])


async def reject(work: Work, organization: Organization, held: HeldDeparture) -> None:
    """Undo a departure: the member is restored as before, and every booking is kept."""
    await lock_host(work.db, held.user_id)
    await _decide(work, organization, held, approved=False)
    user = await get_user(work, held.user_id)
    member = await _bring_back(work, organization, user, held)
    await set_member_active(work, member, active=True)
    await describe_member(work, member, profile=member.profile, said_active=True)
    await reinstate_member(work, organization, member)


async def _bring_back(work: Work, organization: Organization, user: User, held: HeldDeparture) -> Member:
    """Return the member, with the role from before if the provider has removed the user, or created them again."""
    member = await find_member_by_user(work, organization, user)
    if member is not None and member.id == held.member_id:
        return member
    role = Role(held.role)
    if member is not None:
        await restore_member(work, member, role)
    else:
        await add_described_member(
            work, organization, user, profile=held.profile, said_active=True, role=role, member_id=held.member_id
        )
    return await get_member_by_user(work, organization, user)


async def _decide(work: Work, organization: Organization, held: HeldDeparture, *, approved: bool) -> None:
    if not await store.delete_held(work.db, organization.id, held.user_id):
        raise HeldDepartureNotFound
    await work.record(DepartureDecided(organization_id=organization.id, user_id=held.user_id, approved=approved))


async def preview(work: Work, organization: Organization, emails: list[str]) -> list[Preview]:
    """Return what would be cancelled if these members, or all, were suspended or removed now, one after the other."""
    listed = await list_organization_members(work, organization, limit=100_000)
    chosen = [member for member in listed if member.active]
    if emails:
        wanted = await find_each(work.db, emails, {member.user.email: member for member in chosen})
        wanted_ids = {member.id for member in wanted.values()}
        chosen = [member for member in chosen if member.id in wanted_ids]
    released = await store.count_released(work.db, [member.user.id for member in chosen], now=work.now)
    departed, before = await store.count_departures(work.db, organization.id, since=work.now - WITHIN)
    shown = []
    for member in chosen:
        departed += member.is_managed
        shown.append(
            Preview(
                email=member.user.email,
                name=member.user.name,
                is_managed=member.is_managed,
                counts=released.get(member.user.id, LeaverCounts()),
                is_held=member.is_managed and is_too_many(departed, before, share=organization.departure_share),
                is_kept=organization.keeps_bookings,
            )
        )
    return shown


async def count_of_leaver(work: Work, member: Member) -> LeaverCounts:
    """Count what would become of the bookings and requests of a member who leaves."""
    released = await store.count_released(work.db, [member.user.id], now=work.now)
    return released.get(member.user.id, LeaverCounts())


async def list_cancelled(work: Work, member: Member, *, limit: int) -> list[UpcomingMeeting]:
    """List the first of the bookings that would be cancelled if a member left."""
    return await store.list_upcoming(work.db, member.user.id, now=work.now, limit=limit)
