"""Pages: provisioning by identity providers (SCIM): its tokens, its requests, and departures that wait."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.errors import CredentialNotFound, ScimPlanRequired
from openslot.domains.access.models import Credential, CredentialKind, KeyName
from openslot.domains.access.operations import create_scim_token, list_credentials, revoke_credential
from openslot.domains.accounts.models import Organization, OwnMembership, User
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.accounts.plans import PLANS_WITH_SCIM, running
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.people import departures
from openslot.doors.http.doors import Exchange
from openslot.doors.scim.door import PREFIX
from openslot.doors.scim.models import RequestFilter
from openslot.doors.scim.operations import KEPT, search_requests
from openslot.doors.web.organization.log import read_log_query
from openslot.doors.web.shared.expiries import EXPIRIES, expiry_of
from openslot.doors.web.shared.list_queries import ListQuery, read_before
from openslot.doors.web.shared.organization import (
    begin_administrator_change,
    get_administered_membership,
    organization_page,
)
from openslot.doors.web.shared.pages import MailNotice, Notices, redirect
from openslot.platform.core.ids import SHAPE, parse_id
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, WhenEmpty, get, post

HERE = "/organization/provisioning"
NOTICES: Notices = {
    "revoked": Text("The token was revoked. Requests that use it are refused."),
    "approved": MailNotice(
        Text("The departure was approved. The bookings were cancelled, and the invitees will be notified by email."),
        Text(
            "The departure was approved and the bookings were cancelled. "
            "No mail server is set up, so nobody is notified."
        ),
    ),
    "rejected": Text("The member was reinstated. All bookings were kept."),
    "decided": Text("All departures were decided."),
}
SCIM = CredentialKind.SCIM_TOKEN
PATH = "/organization/provisioning/log"
ROWS = 50
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
STATUSES = {"2": Text("Done"), "4": Text("Refused"), "5": Text("Failed")}
FIELDS = ("method", "status", "path", "user", "token", "from", "to")


class TokenForm(Struct, frozen=True, kw_only=True):
    name: Annotated[KeyName, WhenEmpty(Text("Give the token a name, such as that of the provider"))]
    expires: Annotated[Literal["never", "30", "90", "365"], WhenEmpty(Text("Choose one of these"))]


@get("/organization/provisioning")
async def show_provisioning(request: Exchange, work: Work, user: User, form: Form[TokenForm] = Form()) -> Response:
    organization = await get_organization_by_id(work, get_administered_membership(request).organization_id)
    return await _show(request, work, organization, form)


@post("/organization/provisioning/tokens", shows=show_provisioning)
async def create_token(request: Exchange, work: Work, user: User, form: Form[TokenForm]) -> Response:
    """Create a token and show it once, in this response."""
    change, sent = await begin_administrator_change(request, work, user), form.get()
    organization = change.organization
    if not _has_scim(organization, work):
        raise ScimPlanRequired
    token, credential = await create_scim_token(
        work, organization, name=sent.name, expires_at=expiry_of(sent.expires, now=work.now)
    )
    after = {"ends_in": credential.last_four, "expires_at": credential.expires_at}
    await change.log(ChangeAction.TOKEN_CREATED, credential.name, credential.id, after=after)
    return await _show(request, work, organization, Form(), made=(credential.name, token))


@get("/organization/provisioning/tokens/{token_id}/revoke")
async def ask_to_revoke_token(request: Exchange, work: Work, user: User, token_id: UUID) -> Response:
    own = get_administered_membership(request)
    token = await _get_token(work, own, token_id)
    if not token.is_active(now=work.now):
        return redirect(HERE)
    return organization_page("revoke.html", request, own, here=HERE, token=token)


@post("/organization/provisioning/tokens/{token_id}/revoke")
async def revoke_token(request: Exchange, work: Work, user: User, token_id: UUID) -> Response:
    """Revoke a token: it is refused from the next request on."""
    change = await begin_administrator_change(request, work, user)
    token = await _get_token(work, get_administered_membership(request), token_id)
    await revoke_credential(work, SCIM, change.organization.id, token.id)
    await change.log(ChangeAction.TOKEN_REVOKED, token.name, token.id, before={"ends_in": token.last_four})
    return redirect(f"{HERE}?done=revoked")


async def _show(
    request: Exchange,
    work: Work,
    organization: Organization,
    form: Form[TokenForm],
    *,
    made: tuple[str, str] | None = None,
) -> Response:
    own = get_administered_membership(request)
    tokens = await list_credentials(work, SCIM, organization.id)
    held = await departures.list_held(work, organization)
    return organization_page(
        "provisioning.html",
        request,
        own,
        here=HERE,
        base_url=f"{work.runtime.settings.public_url}{PREFIX}",
        has_scim=_has_scim(organization, work),
        slug=organization.slug,
        keys=tokens,
        held=held[:10],
        held_count=len(held),
        expiries=EXPIRIES,
        form=form,
        made=made,
        notices=NOTICES,
    )


async def _get_token(work: Work, own: OwnMembership, token_id: UUID) -> Credential:
    for token in await list_credentials(work, SCIM, own.organization_id):
        if token.id == token_id:
            return token
    raise CredentialNotFound


def _has_scim(organization: Organization, work: Work) -> bool:
    return running(organization.plan, organization.plan_until, now=work.now) in PLANS_WITH_SCIM


@get("/organization/provisioning/log")
async def show_request_log(request: Exchange, work: Work, user: User) -> Response:
    own = get_administered_membership(request)
    query, before_id = read_log_query(request, user, PATH, *FIELDS), read_before(request)
    found = await search_requests(work, own.organization_id, _filter(query), before_id=before_id, limit=ROWS + 1)
    return organization_page(
        "requests.html",
        request,
        own,
        here=HERE,
        rows=found[:ROWS],
        form=query.form,
        methods=[(name, name) for name in METHODS],
        statuses=STATUSES,
        kept=KEPT.days,
        is_narrowed=query.is_narrowed,
        is_first=not request.query.get("before"),
        first=query.link(),
        older=query.link(before=found[ROWS - 1].id) if len(found) > ROWS else None,
    )


def _filter(typed: ListQuery) -> RequestFilter:
    return RequestFilter(
        method=typed["method"] if typed["method"] in METHODS else "",
        status=typed["status"] if typed["status"] in STATUSES else "",
        path=typed["path"],
        user=typed["user"],
        token_id=parse_id(typed["token"]) if SHAPE.fullmatch(typed["token"]) else None,
        span=typed.span,
    )


@get("/organization/provisioning/waiting")
async def show_waiting(request: Exchange, work: Work, user: User) -> Response:
    own = get_administered_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    held = await departures.list_held(work, organization)
    return organization_page(
        "waiting.html",
        request,
        own,
        here=HERE,
        rows=held,
        upcoming=sum(each.counts.cancelled for each in held),
        share=organization.departure_share,
    )


@get("/organization/provisioning/waiting/{user_id}")
async def show_departure(request: Exchange, work: Work, user: User, user_id: UUID) -> Response:
    own = get_administered_membership(request)
    held = await departures.get_held(work, own.organization_id, user_id)
    return organization_page("departure.html", request, own, here=HERE, held=held)


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
    await _decide(request, work, user, None, approved=True)
    return redirect(f"{HERE}?done=decided")


@post("/organization/provisioning/waiting/reject")
async def reject_all(request: Exchange, work: Work, user: User) -> Response:
    await _decide(request, work, user, None, approved=False)
    return redirect(f"{HERE}?done=decided")


async def _decide(request: Exchange, work: Work, user: User, user_id: UUID | None, *, approved: bool) -> None:
    """Decide about one departure, or about all that wait, under the locks of the hosts and of the organization."""
    locked = await departures.lock_held(work, get_administered_membership(request).organization_id, user_id=user_id)
    change = await begin_administrator_change(request, work, user)
    organization = change.organization
    if user_id is not None:
        held = [await departures.get_held(work, organization.id, user_id)]
    else:
        # What began to wait since then is not decided unseen.
        held = [each for each in await departures.list_held(work, organization) if each.user_id in locked]
    for each in held:
        after: dict[str, object] = {}
        if approved:
            acting = departures.on_behalf(work, organization)
            after["cancelled_bookings"] = await departures.approve(acting, organization, each)
        else:
            await departures.reject(work, organization, each)
        action = ChangeAction.DEPARTURE_APPROVED if approved else ChangeAction.DEPARTURE_REJECTED
        await change.log(action, each.email, each.user_id, after=after)
