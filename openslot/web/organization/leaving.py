"""Pages: suspend or remove a member, with a preview of what is cancelled."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts import members
from openslot.accounts.models import Member, User
from openslot.accounts.organizations import get_organization_by_id
from openslot.accounts.roles import may_decide_about
from openslot.bookings import agenda
from openslot.bookings.models import AgendaFilter
from openslot.change_log.models import ChangeAction
from openslot.core.errors import Conflict, Forbidden, NotFound, Refusal
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.http.refusals import status_of
from openslot.i18n import Text
from openslot.routing import Form, Response, get, post
from openslot.scim import departures
from openslot.web.dashboard import phrases
from openslot.web.organization.changing import author_of, begin_change, log
from openslot.web.organization.current import get_administered, organization_page
from openslot.web.organization.members import HERE
from openslot.web.pages import redirect

MOST_SHOWN = 100


class LeavingForm(Struct, frozen=True, kw_only=True):
    """What the preview has shown, to tell afterwards what has changed since."""

    total: int = 0
    shown: str = ""
    """The ids of the bookings that were listed, separated by spaces."""


class LeavingBooking(Struct, frozen=True, kw_only=True):
    """A booking that would be cancelled."""

    when: Text
    invitee: str
    event_type: str


class LeavingPreview(Struct, frozen=True, kw_only=True):
    """What happens to the bookings of a member who leaves."""

    member: Member
    is_cancelling: bool
    keeps_bookings: bool
    bookings: list[LeavingBooking]
    total: int
    ids: str


@get("/organization/members/{member_id}/remove")
async def show_removal(request: Exchange, work: Work, user: User, member_id: UUID) -> Response:
    """Show what is cancelled if a member is removed."""
    return await _preview_page(request, work, user, member_id, removes=True)


@get("/organization/members/{member_id}/suspend")
async def show_suspension(request: Exchange, work: Work, user: User, member_id: UUID) -> Response:
    """Show what is cancelled if a member is suspended."""
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
    own = get_administered(request)
    member = await members.get_member_for_change(work, own.organization_id, member_id)
    administration = await begin_change(request, work, user)
    if member.pending:
        raise NotFound
    leave = departures.remove_by_hand if removes else departures.suspend_by_hand
    try:
        async with work.attempt():
            cancelled = await leave(work, administration, member)
    except (Conflict, Forbidden) as refusal:
        return await _preview_page(request, work, user, member_id, removes=removes, refusal=refusal)
    await log(
        work,
        author_of(request, user),
        administration.organization,
        ChangeAction.MEMBER_REMOVED if removes else ChangeAction.MEMBER_SUSPENDED,
        member.user.email,
        subject_id=member.id,
        before={"role": member.role, "active": member.active},
        after={"cancelled_bookings": len(cancelled)} | ({} if removes else {"role": member.role, "active": False}),
    )
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
    own = get_administered(request)
    member = await members.get_member(work, own.organization_id, member_id)
    is_own = member.user.id == user.id
    if member.pending or is_own or not may_decide_about(own.role, member.role) or not (removes or member.active):
        if refusal:
            raise refusal
        return redirect(f"{HERE}/{member_id}")
    organization = await get_organization_by_id(work, own.organization_id)
    return organization_page(
        "leave.html",
        request,
        user,
        own,
        here=HERE,
        status=status_of(refusal) if refusal else 200,
        removes=removes,
        preview=await preview_leaving(work, user, member, keeps=organization.keeps_bookings and not removes),
        refusal=refusal.sentence if refusal else None,
    )


async def preview_leaving(work: Work, user: User, member: Member, *, keeps: bool) -> LeavingPreview:
    """List what would be cancelled; nothing of an account that the organization does not manage is shown."""
    is_cancelling = member.is_managed and not keeps
    found = await agenda.list_agenda(work, member.user, AgendaFilter(), limit=MOST_SHOWN) if is_cancelling else None
    entries = found.entries if found else []
    return LeavingPreview(
        member=member,
        is_cancelling=is_cancelling,
        keeps_bookings=keeps,
        bookings=[
            LeavingBooking(
                when=phrases.day_and_hours(each.starts_at, each.ends_at, user.zone, now=work.now),
                invitee=each.invitee_name,
                event_type=each.event_type_name,
            )
            for each in entries
        ],
        total=found.total if found else 0,
        ids=" ".join(each.id.hex for each in entries),
    )
