"""Pages: departures that wait for an administrator, because a provider has sent too many within an hour."""

from uuid import UUID

from openslot.accounts.administration import Administration
from openslot.accounts.models import User
from openslot.accounts.organizations import get_organization_by_id
from openslot.change_log.models import ChangeAction
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.routing import Response, get, post
from openslot.scim import departures
from openslot.scim.models import HeldDeparture
from openslot.web.dashboard import phrases
from openslot.web.organization.changing import author_of, begin_change, log
from openslot.web.organization.current import get_administered, organization_page
from openslot.web.organization.provisioning import HERE
from openslot.web.pages import redirect


@get("/organization/provisioning/waiting")
async def show_waiting(request: Exchange, work: Work, user: User) -> Response:
    """List everyone who waits, with how many bookings."""
    own = get_administered(request)
    organization = await get_organization_by_id(work, own.organization_id)
    held = await departures.list_held(work, organization)
    return organization_page(
        "waiting.html",
        request,
        user,
        own,
        here=HERE,
        rows=[(each, phrases.at(each.held_at, user.zone, now=work.now)) for each in held],
        upcoming=sum(each.upcoming for each in held),
        share=organization.departure_share,
    )


@get("/organization/provisioning/waiting/{user_id}")
async def show_departure(request: Exchange, work: Work, user: User, user_id: UUID) -> Response:
    """Show one departure, and what approving it cancels."""
    own = get_administered(request)
    held = await departures.get_held(work, own.organization_id, user_id)
    return organization_page("departure.html", request, user, own, here=HERE, held=held)


@post("/organization/provisioning/waiting/{user_id}/approve")
async def approve(request: Exchange, work: Work, user: User, user_id: UUID) -> Response:
    """Let a departure happen: the bookings are cancelled."""
    await _decide(request, work, user, user_id, approved=True)
    return redirect(f"{HERE}?done=approved")


@post("/organization/provisioning/waiting/{user_id}/reject")
async def reject(request: Exchange, work: Work, user: User, user_id: UUID) -> Response:
    """Undo a departure: the member is back."""
    await _decide(request, work, user, user_id, approved=False)
    return redirect(f"{HERE}?done=rejected")


@post("/organization/provisioning/waiting/approve")
async def approve_all(request: Exchange, work: Work, user: User) -> Response:
    """Let all departures happen that wait."""
    await _decide(request, work, user, None, approved=True)
    return redirect(f"{HERE}?done=decided")


@post("/organization/provisioning/waiting/reject")
async def reject_all(request: Exchange, work: Work, user: User) -> Response:
    """Undo all departures that wait."""
    await _decide(request, work, user, None, approved=False)
    return redirect(f"{HERE}?done=decided")


async def _decide(request: Exchange, work: Work, user: User, user_id: UUID | None, *, approved: bool) -> None:
    """Decide about one departure, or about all that wait, under the locks of the hosts and of the organization."""
    locked = await departures.lock_held(work, get_administered(request).organization_id, user_id=user_id)
    administration = await begin_change(request, work, user)
    if user_id is not None:
        held = [await departures.get_held(work, administration.organization.id, user_id)]
    else:
        # What began to wait since then is not decided unseen.
        held = [
            each for each in await departures.list_held(work, administration.organization) if each.user_id in locked
        ]
    for each in held:
        await _decide_one(request, work, user, administration, each, approved=approved)


async def _decide_one(
    request: Exchange,
    work: Work,
    user: User,
    administration: Administration,
    held: HeldDeparture,
    *,
    approved: bool,
) -> None:
    organization = administration.organization
    after: dict[str, object] = {}
    if approved:
        acting = departures.on_behalf(work, organization)
        after["cancelled_bookings"] = await departures.approve(acting, organization, held)
    else:
        await departures.reject(work, organization, held)
    action = ChangeAction.DEPARTURE_APPROVED if approved else ChangeAction.DEPARTURE_REJECTED
    await log(work, author_of(request, user), organization, action, held.email, subject_id=held.user_id, after=after)
