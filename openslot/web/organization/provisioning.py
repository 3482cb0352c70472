"""Pages: provisioning by identity providers (SCIM), with its tokens."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.access import operations as access
from openslot.access.errors import CredentialNotFound, PlanWithoutScim
from openslot.access.keys import CredentialKind, KeyName
from openslot.access.models import Credential
from openslot.accounts.models import Organization, OwnMembership, User
from openslot.accounts.organizations import get_organization_by_id
from openslot.accounts.plans import PLANS_WITH_SCIM, running
from openslot.change_log.models import ChangeAction
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.scim import departures
from openslot.scim.door import PREFIX
from openslot.web.key_rows import EXPIRIES, KeyRow, expiry_of, key_row
from openslot.web.organization.changing import author_of, begin_change, log
from openslot.web.organization.current import get_administered, organization_page
from openslot.web.pages import redirect

HERE = "/organization/provisioning"
NOTICES = {
    "revoked": Text("The token was revoked. Requests that use it are refused."),
    "approved": Text(
        "The departure was approved. The bookings were cancelled, and the invitees will be notified by email."
    ),
    "rejected": Text("The member was reinstated. All bookings were kept."),
    "decided": Text("All departures were decided."),
}
SCIM = CredentialKind.SCIM_TOKEN


class TokenForm(Struct, frozen=True, kw_only=True):
    """A token to create."""

    name: Annotated[KeyName, WhenEmpty(Text("Give the token a name, such as that of the provider"))]
    expires: Annotated[Literal["never", "30", "90", "365"], WhenEmpty(Text("Choose one of these"))]


@get("/organization/provisioning")
async def show_provisioning(request: Exchange, work: Work, user: User) -> Response:
    """Show the address, the tokens, what waits, and how to connect a provider."""
    own = get_administered(request)
    organization = await get_organization_by_id(work, own.organization_id)
    return await _show(request, work, user, organization)


@post("/organization/provisioning/tokens")
async def create_token(request: Exchange, work: Work, user: User, form: Form[TokenForm]) -> Response:
    """Create a token and show it once, in this response."""
    administration = await begin_change(request, work, user)
    organization = administration.organization
    if not _has_scim(organization, work):
        raise PlanWithoutScim
    if form.faults:
        return await _show(request, work, user, organization, form=form)
    sent = form.get()
    token, credential = await access.create_scim_token(
        work, organization, name=sent.name, expires_at=expiry_of(sent.expires, now=work.now)
    )
    await log(
        work,
        author_of(request, user),
        organization,
        ChangeAction.TOKEN_CREATED,
        credential.name,
        subject_id=credential.id,
        after={"ends_in": credential.last_four, "expires_at": credential.expires_at},
    )
    return await _show(request, work, user, organization, made=(credential.name, token))


@get("/organization/provisioning/tokens/{token_id}/revoke")
async def ask_to_revoke_token(request: Exchange, work: Work, user: User, token_id: UUID) -> Response:
    """Ask for confirmation before a token is revoked."""
    own = get_administered(request)
    token = await _get_token(work, own, token_id)
    if not token.is_active(now=work.now):
        return redirect(HERE)
    return organization_page("revoke.html", request, user, own, here=HERE, token=key_row(token, user, now=work.now))


@post("/organization/provisioning/tokens/{token_id}/revoke")
async def revoke_token(request: Exchange, work: Work, user: User, token_id: UUID) -> Response:
    """Revoke a token: it is refused from the next request on."""
    administration = await begin_change(request, work, user)
    organization = administration.organization
    token = await _get_token(work, get_administered(request), token_id)
    await access.revoke_credential(work, SCIM, organization.id, token.id)
    await log(
        work,
        author_of(request, user),
        organization,
        ChangeAction.TOKEN_REVOKED,
        token.name,
        subject_id=token.id,
        before={"ends_in": token.last_four},
    )
    return redirect(f"{HERE}?done=revoked")


async def _show(
    request: Exchange,
    work: Work,
    user: User,
    organization: Organization,
    *,
    form: Form[TokenForm] | None = None,
    made: tuple[str, str] | None = None,
) -> Response:
    own = get_administered(request)
    tokens = await access.list_credentials(work, SCIM, organization.id)
    held = await departures.list_held(work, organization)
    has_scim = _has_scim(organization, work)
    return organization_page(
        "provisioning.html",
        request,
        user,
        own,
        here=HERE,
        status=400 if form and form.faults else 200,
        base_url=f"{work.runtime.settings.public_url}{PREFIX}",
        has_scim=has_scim,
        slug=organization.slug,
        keys=[_token_row(each, user, work, has_scim=has_scim) for each in tokens],
        held=held[:10],
        held_count=len(held),
        expiries=EXPIRIES,
        form=form or Form(),
        made=made,
        notice=NOTICES.get(request.query.get("done", "")),
    )


def _token_row(token: Credential, user: User, work: Work, *, has_scim: bool) -> KeyRow:
    row = key_row(token, user, now=work.now)
    if not has_scim and row.is_active:
        return replace(row, state=Text("Not included in your plan"), tone="warn")
    return row


async def _get_token(work: Work, own: OwnMembership, token_id: UUID) -> Credential:
    for token in await access.list_credentials(work, SCIM, own.organization_id):
        if token.id == token_id:
            return token
    raise CredentialNotFound


def _has_scim(organization: Organization, work: Work) -> bool:
    return running(organization.plan, organization.plan_until, now=work.now) in PLANS_WITH_SCIM
