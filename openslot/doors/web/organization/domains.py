"""Pages: the mail domains of an organization."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.accounts.errors import DomainAlreadyClaimed, DomainNotVerified
from openslot.domains.accounts.models import Domain, User
from openslot.domains.accounts.organizations.operations import (
    TxtResolver,
    add_domain,
    check_proof,
    confirm_domain,
    get_domain,
    get_organization_by_id,
    list_domains,
    record_name,
    remove_domain,
)
from openslot.domains.change_log.models import ChangeAction
from openslot.doors.http.doors import Exchange
from openslot.doors.http.errors import status_of
from openslot.doors.web.shared.organization import (
    begin_administrator_change,
    get_administered_membership,
    organization_page,
)
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.errors import Refusal, Unavailable
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, WhenEmpty, get, post

HERE = "/organization/domains"
NOTICES = {
    "added": Text("The domain was added. Set the DNS record, then check it."),
    "verified": Text("The domain is verified. Your organization manages the accounts in it."),
    "removed": Text("The domain was removed. Your organization no longer manages accounts because of it."),
}


class DomainForm(Struct, frozen=True, kw_only=True):
    domain: Annotated[str, Meta(pattern=LINE, max_length=253), WhenEmpty(Text("Enter a domain"))]


@get("/organization/domains")
async def show_domains(request: Exchange, work: Work, user: User, form: Form[DomainForm] = Form()) -> Response:
    return await _show(request, work, form)


@post("/organization/domains", shows=show_domains)
async def claim_domain(request: Exchange, work: Work, user: User, form: Form[DomainForm]) -> Response:
    change = await begin_administrator_change(request, work, user)
    made = await add_domain(work, change.organization, form.get().domain, verified=False)
    await change.log(ChangeAction.DOMAIN_ADDED, made.domain, made.id)
    return redirect(f"{HERE}?done=added")


@post("/organization/domains/{domain}/check", transaction="none")
async def check_domain(request: Exchange, work: Work, user: User, domain: str) -> Response:
    """Look for the record in the DNS, and record that it is there."""
    own = get_administered_membership(request)
    claim = await get_domain(work, own.organization_id, domain)
    try:
        await check_proof(claim, work.runtime.ports.get(TxtResolver))
        async with work.transaction():
            await _confirm(request, work, user, claim)
    except (DomainNotVerified, DomainAlreadyClaimed, Unavailable) as refusal:
        shown = await _show(request, work, Form(), refusal=refusal, refused=claim.domain)
        return replace(shown, status=status_of(refusal))
    return redirect(f"{HERE}?done=verified")


@get("/organization/domains/{domain}/remove")
async def ask_to_remove_domain(request: Exchange, work: Work, user: User, domain: str) -> Response:
    own = get_administered_membership(request)
    claim = await get_domain(work, own.organization_id, domain)
    return organization_page("remove_domain.html", request, own, here=HERE, domain=claim)


@post("/organization/domains/{domain}/remove")
async def give_up_domain(request: Exchange, work: Work, user: User, domain: str) -> Response:
    change = await begin_administrator_change(request, work, user)
    claim = await get_domain(work, change.organization.id, domain)
    await remove_domain(work, change.organization, claim.domain)
    before = {"verified": claim.verified_at is not None}
    await change.log(ChangeAction.DOMAIN_REMOVED, claim.domain, claim.id, before=before)
    return redirect(f"{HERE}?done=removed")


async def _confirm(request: Exchange, work: Work, user: User, claim: Domain) -> None:
    """Record the proof, if the user may still decide and the domain is not given up meanwhile."""
    change = await begin_administrator_change(request, work, user)
    await confirm_domain(work, claim)
    before, after = {"verified": claim.verified_at is not None}, {"verified": True}
    await change.log(ChangeAction.DOMAIN_VERIFIED, claim.domain, claim.id, before=before, after=after)


async def _show(
    request: Exchange, work: Work, form: Form[DomainForm], *, refusal: Refusal | None = None, refused: str = ""
) -> Response:
    own = get_administered_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    found = await list_domains(work, organization)
    return organization_page(
        "domains.html",
        request,
        own,
        here=HERE,
        domains=found,
        record_name=record_name,
        form=form,
        refusal=refusal.sentence if refusal else None,
        refused=refused,
        notices=NOTICES,
    )
