"""Pages: the mail domains of an organization."""

from datetime import date
from typing import Annotated

from msgspec import Meta, Struct

from openslot.accounts import organizations
from openslot.accounts.errors import DomainNotProved, DomainTaken
from openslot.accounts.members import begin_administration
from openslot.accounts.models import Domain, OwnMembership, User
from openslot.accounts.organizations import TxtResolver, check_proof, confirm_domain, get_domain, record_name
from openslot.change_log.models import ChangeAction
from openslot.core.errors import Invalid, Refusal, Unavailable
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.http.errors import status_of
from openslot.i18n import Text
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.organization.current import author_of, begin_change, get_administered, log, organization_page
from openslot.web.pages import redirect

HERE = "/organization/domains"
NOTICES = {
    "added": Text("The domain was added. Set the DNS record, then check it."),
    "verified": Text("The domain is verified. Your organization manages the accounts in it."),
    "removed": Text("The domain was removed. Your organization no longer manages accounts because of it."),
}


class DomainForm(Struct, frozen=True, kw_only=True):
    domain: Annotated[str, Meta(pattern=LINE, max_length=253), WhenEmpty(Text("Enter a domain"))]


class DomainRow(Struct, frozen=True, kw_only=True):
    """A domain with the record that proves it."""

    name: str
    record: str
    value: str
    verified: date | None


@get("/organization/domains")
async def show_domains(request: Exchange, work: Work, user: User) -> Response:
    """Show the domains, and the records that prove them."""
    return await _show(request, work, user)


@post("/organization/domains")
async def add_domain(request: Exchange, work: Work, user: User, form: Form[DomainForm]) -> Response:
    administration = await begin_change(request, work, user)
    organization = administration.organization
    if form.faults:
        return await _show(request, work, user, form=form)
    try:
        made = await organizations.add_domain(work, organization, form.get().domain, verified=False)
    except (Invalid, DomainTaken) as refusal:
        return await _show(request, work, user, form=form.with_faults(refusal.faults))
    await log(work, author_of(request, user), organization, ChangeAction.DOMAIN_ADDED, made.domain, subject_id=made.id)
    return redirect(f"{HERE}?done=added")


@post("/organization/domains/{domain}/check", transaction="none")
async def check_domain(request: Exchange, work: Work, user: User, domain: str) -> Response:
    """Look for the record in the DNS, and record that it is there."""
    own = get_administered(request)
    claim = await get_domain(work, own.organization_id, domain)
    try:
        await check_proof(claim, work.runtime.ports.get(TxtResolver))
        async with work.transaction():
            await _confirm(request, work, user, own, claim)
    except (DomainNotProved, DomainTaken, Unavailable) as refusal:
        return await _show(request, work, user, refusal=refusal, refused=claim.domain)
    return redirect(f"{HERE}?done=verified")


@get("/organization/domains/{domain}/remove")
async def ask_to_remove_domain(request: Exchange, work: Work, user: User, domain: str) -> Response:
    """Ask for confirmation before a domain is removed."""
    own = get_administered(request)
    claim = await get_domain(work, own.organization_id, domain)
    return organization_page("remove_domain.html", request, user, own, here=HERE, domain=_row(claim, user))


@post("/organization/domains/{domain}/remove")
async def remove_domain(request: Exchange, work: Work, user: User, domain: str) -> Response:
    administration = await begin_change(request, work, user)
    organization = administration.organization
    claim = await get_domain(work, organization.id, domain)
    await organizations.remove_domain(work, organization, claim.domain)
    await log(
        work,
        author_of(request, user),
        organization,
        ChangeAction.DOMAIN_REMOVED,
        claim.domain,
        subject_id=claim.id,
        before={"verified": claim.verified_at is not None},
    )
    return redirect(f"{HERE}?done=removed")


async def _confirm(request: Exchange, work: Work, user: User, own: OwnMembership, claim: Domain) -> None:
    """Record the proof, if the user may still decide and the domain is not given up meanwhile."""
    administration = await begin_administration(work, own.organization_id, user.id)
    await confirm_domain(work, claim)
    await log(
        work,
        author_of(request, user),
        administration.organization,
        ChangeAction.DOMAIN_VERIFIED,
        claim.domain,
        subject_id=claim.id,
        before={"verified": claim.verified_at is not None},
        after={"verified": True},
    )


async def _show(
    request: Exchange,
    work: Work,
    user: User,
    *,
    form: Form[DomainForm] | None = None,
    refusal: Refusal | None = None,
    refused: str = "",
) -> Response:
    own = get_administered(request)
    organization = await organizations.get_organization_by_id(work, own.organization_id)
    found = await organizations.list_domains(work, organization)
    return organization_page(
        "domains.html",
        request,
        user,
        own,
        here=HERE,
        status=status_of(refusal) if refusal else 400 if form and form.faults else 200,
        domains=[_row(each, user) for each in found],
        form=form or Form(),
        refusal=refusal.sentence if refusal else None,
        refused=refused,
        notice=None if refusal or form else NOTICES.get(request.query.get("done", "")),
    )


def _row(claim: Domain, user: User) -> DomainRow:
    return DomainRow(
        name=claim.domain,
        record=record_name(claim),
        value=claim.proof,
        verified=words.day(claim.verified_at, user.zone) if claim.verified_at else None,
    )
