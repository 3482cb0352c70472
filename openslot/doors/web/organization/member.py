"""Pages: one member, with the role, the state and the invitation, and what happens when the member leaves."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.invitations.operations import invitation_url, renew_invitation, withdraw_invitation
from openslot.domains.accounts.members.operations import (
    change_member_role,
    check_may_decide,
    get_listed_member,
    get_member,
    get_member_for_change,
    list_grantable,
    may_decide_about,
)
from openslot.domains.accounts.models import InvitationLimit, ListedMember, Member, Role, User
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.mail.operations import sends_mail
from openslot.domains.people import departures
from openslot.domains.people.models import LeaverCounts, UpcomingMeeting
from openslot.doors.http.doors import Exchange
from openslot.doors.http.errors import status_of
from openslot.doors.web.organization.members import HERE, find_member_notice
from openslot.doors.web.shared import words
from openslot.doors.web.shared.organization import (
    ROLE_WORDS,
    STATE_WORDS,
    AdministratorChange,
    begin_administrator_change,
    get_administered_membership,
    organization_page,
)
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Conflict, Forbidden, NotFound, Refusal
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, get, post

UNSENT = {
    InvitationLimit.ORGANIZATION: Text("Not sent: your organization has sent too many within a day"),
    InvitationLimit.RECIPIENT: Text("Not sent: this address was sent as many as allowed"),
}
MAX_SHOWN = 100
REFUSED: dict[type[Refusal], str] = {Conflict: "form", Forbidden: "form"}


RAISED = {
    Role.OWNER: (
        Text("Make %(name)s an owner?"),
        Text("Owners can do everything, also manage other owners and delete the organization."),
        Text("Make owner"),
    ),
    Role.ADMIN: (
        Text("Make %(name)s an administrator?"),
        Text("Administrators can do everything in the organization, except manage owners and delete the organization."),
        Text("Make administrator"),
    ),
}


class RoleForm(Struct, frozen=True, kw_only=True):
    role: Role
    confirmed: Literal["yes", ""] = ""


@get("/organization/members/{member_id}")
async def show_member(request: Exchange, work: Work, user: User, member_id: UUID, form: Form[Any] = Form()) -> Response:
    own = get_administered_membership(request)
    listed = await get_listed_member(work, own.organization_id, member_id)
    member = listed.member
    state, tone = STATE_WORDS[listed.get_state(now=work.now)]
    invited_at, until = listed.invited_at, listed.invited_until
    may_decide = may_decide_about(own.role, member.role)
    return organization_page(
        "member.html",
        request,
        own,
        here=HERE,
        member=member,
        name=member.shown_name,
        role=ROLE_WORDS[member.role],
        roles=[(each, ROLE_WORDS[each]) for each in list_grantable(own.role)],
        state=state,
        tone=tone,
        joined=words.day(member.created_at, user.zone),
        invited=words.at(invited_at, user.zone, now=work.now) if listed.can_be_invited and invited_at else None,
        valid_until=words.day(until, user.zone) if listed.can_be_invited and until else None,
        unsent=UNSENT[listed.refused] if listed.can_be_invited and listed.refused else None,
        managed=_format_managed(listed),
        can_be_invited=listed.can_be_invited,
        link=_find_link(work, user, listed) if may_decide else None,
        may_decide=may_decide,
        may_leave=may_decide and member.user.id != user.id and not member.pending,
        form=form,
        notice=find_member_notice(request),
    )


@post("/organization/members/{member_id}/role", shows=show_member, at=REFUSED, own_status=True)
async def change_role(request: Exchange, work: Work, user: User, member_id: UUID, form: Form[RoleForm]) -> Response:
    """Change the role; before someone gets more power, ask."""
    change, listed = await _begin(request, work, user, member_id)
    member, role = listed.member, form.get().role
    is_raised = member.role not in {role, Role.OWNER} and role in RAISED
    if is_raised and not form.get().confirmed and role in list_grantable(change.administration.role):
        return _ask_to_raise(request, user, member, role)
    await change_member_role(work, change.administration, member, role)
    before, after = {"role": member.role}, {"role": role}
    await change.log(ChangeAction.ROLE_CHANGED, member.user.email, member.id, before=before, after=after)
    return redirect(f"{HERE}/{member_id}?done=role")


def _ask_to_raise(request: Exchange, user: User, member: Member, role: Role) -> Response:
    title, explanation, yes = RAISED[role]
    organization_id = get_administered_membership(request).organization_id
    return page(
        "confirm.html",
        user,
        here=HERE,
        title=title.fill(name=member.shown_name),
        explanation=explanation,
        yes=yes,
        back=f"{HERE}/{member.id}",
        no=Text("Go back"),
        fields={"organization": organization_id, "role": role, "confirmed": "yes"},
    )


@post("/organization/members/{member_id}/reinstate", shows=show_member, at=REFUSED, own_status=True)
async def reinstate(request: Exchange, work: Work, user: User, member_id: UUID) -> Response:
    change, listed = await _begin(request, work, user, member_id)
    if await departures.reinstate_by_hand(work, change.administration, listed.member):
        before, after = {"active": False}, {"active": True}
        action = ChangeAction.MEMBER_REINSTATED
        await change.log(action, listed.member.user.email, listed.member.id, before=before, after=after)
    return redirect(f"{HERE}/{member_id}?done=reinstated")


@post("/organization/members/{member_id}/invitation", shows=show_member, at=REFUSED, own_status=True)
async def invite_again(request: Exchange, work: Work, user: User, member_id: UUID) -> Response:
    """Send an invitation again; the earlier link becomes invalid."""
    change, listed = await _begin(request, work, user, member_id)
    check_may_decide(change.administration, listed.member)
    await renew_invitation(work, change.organization, listed)
    await change.log(ChangeAction.INVITATION_RESENT, listed.member.user.email, listed.member.id)
    return redirect(f"{HERE}/{member_id}?done={'invited' if sends_mail(work.runtime) else 'kept'}")


@post("/organization/members/{member_id}/withdraw", shows=show_member, at=REFUSED, own_status=True)
async def withdraw(request: Exchange, work: Work, user: User, member_id: UUID) -> Response:
    change, listed = await _begin(request, work, user, member_id)
    member = listed.member
    check_may_decide(change.administration, member)
    await withdraw_invitation(work, change.organization, member)
    before = {"role": member.role}
    await change.log(ChangeAction.INVITATION_WITHDRAWN, member.user.email, member.id, before=before)
    return redirect(f"{HERE}?done=withdrawn")


async def _begin(
    request: Exchange, work: Work, user: User, member_id: UUID
) -> tuple[AdministratorChange, ListedMember]:
    """Take the locks under which a member is decided about."""
    own = get_administered_membership(request)
    await get_member_for_change(work, own.organization_id, member_id)
    change = await begin_administrator_change(request, work, user)
    return change, await get_listed_member(work, own.organization_id, member_id)


def _find_link(work: Work, reader: User, listed: ListedMember) -> str | None:
    """Find the link of an invitation that nobody gets by mail, for those who can read it in the mailbox anyway."""
    is_valid = listed.invited_until is not None and listed.invited_until > work.now
    if sends_mail(work.runtime) or not reader.is_admin or not listed.can_be_invited or not is_valid:
        return None
    return invitation_url(work.runtime, listed.invitation_id) if listed.invitation_id else None


def _format_managed(listed: ListedMember) -> Text:
    member = listed.member
    if member.pending:
        return Text("No, until the invitation is accepted")
    return Text("Yes") if member.is_managed else Text("No, another organization does")


class LeavingForm(Struct, frozen=True, kw_only=True):
    """What the preview has shown, to tell afterwards what has changed since."""

    total: int = 0
    shown: str = ""
    """The ids of the bookings that were listed, separated by spaces."""


class LeavingPreview(Struct, frozen=True, kw_only=True):
    member: Member
    is_cancelling: bool
    keeps_bookings: bool
    bookings: list[UpcomingMeeting]
    """The first of those that are cancelled."""
    counts: LeaverCounts


@get("/organization/members/{member_id}/remove")
async def show_removal(request: Exchange, work: Work, user: User, member_id: UUID) -> Response:
    return await _preview_page(request, work, user, member_id, removes=True)


@get("/organization/members/{member_id}/suspend")
async def show_suspension(request: Exchange, work: Work, user: User, member_id: UUID) -> Response:
    return await _preview_page(request, work, user, member_id, removes=False)


@post("/organization/members/{member_id}/remove")
async def remove(request: Exchange, work: Work, user: User, member_id: UUID, form: Form[LeavingForm]) -> Response:
    """Remove a member and cancel the upcoming bookings."""
    return await _leave(request, work, user, member_id, form, removes=True)


@post("/organization/members/{member_id}/suspend")
async def suspend(request: Exchange, work: Work, user: User, member_id: UUID, form: Form[LeavingForm]) -> Response:
    """Suspend a member, and cancel the upcoming bookings unless the organization keeps them."""
    return await _leave(request, work, user, member_id, form, removes=False)


async def _leave(
    request: Exchange, work: Work, user: User, member_id: UUID, form: Form[LeavingForm], *, removes: bool
) -> Response:
    own = get_administered_membership(request)
    member = await get_member_for_change(work, own.organization_id, member_id)
    change = await begin_administrator_change(request, work, user)
    if member.pending:
        raise NotFound
    leave = departures.remove_by_hand if removes else departures.suspend_by_hand
    try:
        async with work.attempt():
            cancelled = await leave(work, change.administration, member)
    except (Conflict, Forbidden) as refusal:
        return await _preview_page(request, work, user, member_id, removes=removes, refusal=refusal)
    action = ChangeAction.MEMBER_REMOVED if removes else ChangeAction.MEMBER_SUSPENDED
    before = {"role": member.role, "active": member.active}
    after = {"cancelled_bookings": len(cancelled)} | ({} if removes else {"role": member.role, "active": False})
    await change.log(action, member.user.email, member.id, before=before, after=after)
    added, gone = compare(form.sent or LeavingForm(), cancelled)
    target = f"{HERE}?done=removed" if removes else f"{HERE}/{member_id}?done=suspended"
    return redirect(f"{target}&cancelled={len(cancelled)}&added={added}&gone={gone}")


def compare(seen: LeavingForm, cancelled: list[UUID]) -> tuple[int, int]:
    """Count the bookings that were cancelled and not shown, and those that were shown and not cancelled."""
    gone = len(set(seen.shown.split()) - {each.hex for each in cancelled})
    return max(len(cancelled) - max(seen.total - gone, 0), 0), gone


async def _preview_page(
    request: Exchange, work: Work, user: User, member_id: UUID, *, removes: bool, refusal: Refusal | None = None
) -> Response:
    own = get_administered_membership(request)
    member = await get_member(work, own.organization_id, member_id)
    is_own = member.user.id == user.id
    if member.pending or is_own or not may_decide_about(own.role, member.role) or not (removes or member.active):
        if refusal:
            raise refusal
        return redirect(f"{HERE}/{member_id}")
    organization = await get_organization_by_id(work, own.organization_id)
    return organization_page(
        "leave.html",
        request,
        own,
        here=HERE,
        status=status_of(refusal) if refusal else 200,
        removes=removes,
        preview=await preview_leaving(work, member, keeps=organization.keeps_bookings and not removes),
        refusal=refusal.sentence if refusal else None,
    )


async def preview_leaving(work: Work, member: Member, *, keeps: bool) -> LeavingPreview:
    """List what would end or go to others; of an account that the organization does not manage only the latter."""
    is_cancelling = member.is_managed and not keeps
    counts = LeaverCounts() if keeps else await departures.count_of_leaver(work, member)
    return LeavingPreview(
        member=member,
        is_cancelling=is_cancelling,
        keeps_bookings=keeps,
        bookings=await departures.list_cancelled(work, member, limit=MAX_SHOWN) if is_cancelling else [],
        counts=counts if is_cancelling else replace(counts, cancelled=0, declined=0),
    )
