"""Pages: what an organization is called, how its mail looks, and what happens when members leave."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from openslot.accounts import brands, organizations
from openslot.accounts.errors import SlugTaken
from openslot.accounts.models import ChosenBrand, Organization, User
from openslot.accounts.plans import running
from openslot.change_log.models import ChangeAction, ChangeAuthor, Fields
from openslot.core.errors import Invalid
from openslot.core.text import LINE, ShortLine
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.routing import Form, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.organization.changing import author_of, begin_change, log
from openslot.web.organization.current import get_administered, organization_page
from openslot.web.pages import redirect

HERE = "/organization/settings"
SAVED = Text("Saved.")


class NamesForm(Struct, frozen=True, kw_only=True):
    """What an organization is called."""

    name: Annotated[ShortLine, WhenEmpty(Text("Enter the name of the organization"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=50), WhenEmpty(Text("Enter a short name"))]


class BrandForm(Struct, frozen=True, kw_only=True):
    """What mail shows."""

    brand: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    colour: Annotated[str, Meta(pattern=LINE, max_length=7)] = ""
    logo: Annotated[str, Meta(pattern=LINE, max_length=2000)] = ""


class DeparturesForm(Struct, frozen=True, kw_only=True):
    """What happens when members leave."""

    keeps: bool
    share: Annotated[int, Meta(ge=0, le=100), WhenEmpty(Text("Enter a number from 0 to 100"))]


@get("/organization/settings")
async def show_settings(request: Exchange, work: Work, user: User) -> Response:
    """Show the settings."""
    own = get_administered(request)
    organization = await organizations.get_organization_by_id(work, own.organization_id)
    return await _show(request, work, user, organization)


@post("/organization/settings/names")
async def change_names(request: Exchange, work: Work, user: User, form: Form[NamesForm]) -> Response:
    """Give the organization another name and slug."""
    organization = (await begin_change(request, work, user)).organization
    if form.faults:
        return await _show(request, work, user, organization, names=form)
    sent = form.get()
    try:
        changed = await organizations.change_organization(work, organization, name=sent.name, slug=sent.slug)
    except (Invalid, SlugTaken) as refusal:
        return await _show(request, work, user, organization, names=form.with_faults(refusal.faults))
    before, after = ({"name": each.name, "slug": each.slug} for each in (organization, changed))
    action = ChangeAction.ORGANIZATION_CHANGED
    return await _log_saved(work, author_of(request, user), changed, action, before=before, after=after)


@post("/organization/settings/brand")
async def change_brand(request: Exchange, work: Work, user: User, form: Form[BrandForm]) -> Response:
    """Choose what mail shows."""
    organization = (await begin_change(request, work, user)).organization
    if form.faults:
        return await _show(request, work, user, organization, brand=form)
    sent, was = form.get(), await brands.get_brand(work, organization)
    wanted = ChosenBrand(name=sent.brand, colour=sent.colour.strip(), logo_url=sent.logo)
    try:
        chosen = await brands.set_brand(work, organization, wanted)
    except Invalid as refusal:
        faults = {"brand" if name == "name" else name: fault for name, fault in refusal.faults.items()}
        return await _show(request, work, user, organization, brand=form.with_faults(faults))
    before, after = ({"name": each.name, "colour": each.colour, "logo": each.logo_url} for each in (was, chosen))
    action = ChangeAction.BRAND_CHANGED
    return await _log_saved(work, author_of(request, user), organization, action, before=before, after=after)


@post("/organization/settings/departures")
async def change_departures(request: Exchange, work: Work, user: User, form: Form[DeparturesForm]) -> Response:
    """Choose what happens when members leave."""
    organization = (await begin_change(request, work, user)).organization
    if form.faults:
        return await _show(request, work, user, organization, leaving=form)
    sent = form.get()
    changed = await organizations.change_organization_settings(
        work, organization, keeps_bookings=sent.keeps, departure_share=sent.share
    )
    before, after = (
        {"keeps_bookings": each.keeps_bookings, "departure_share": each.departure_share}
        for each in (organization, changed)
    )
    action = ChangeAction.LEAVING_CHANGED
    return await _log_saved(work, author_of(request, user), organization, action, before=before, after=after)


async def _log_saved(
    work: Work, author: ChangeAuthor, organization: Organization, action: ChangeAction, *, before: Fields, after: Fields
) -> Response:
    """Log what was saved, and show the settings again."""
    subject, subject_id = organization.name, organization.id
    await log(work, author, organization, action, subject, subject_id=subject_id, before=before, after=after)
    return redirect(f"{HERE}?done=saved")


async def _show(
    request: Exchange,
    work: Work,
    user: User,
    organization: Organization,
    *,
    names: Form[NamesForm] | None = None,
    brand: Form[BrandForm] | None = None,
    leaving: Form[DeparturesForm] | None = None,
) -> Response:
    """Show the settings as they are, or a form as it was sent with its faults."""
    own = get_administered(request)
    chosen = await brands.get_brand(work, organization)
    faulty: Form[Any] | None = names or brand or leaving
    until = organization.plan_until
    brand_values = {"brand": chosen.name or "", "colour": chosen.colour or "", "logo": chosen.logo_url or ""}
    keeps = {"keeps": "on"} if organization.keeps_bookings else {}
    return organization_page(
        "settings.html",
        request,
        user,
        own,
        here=HERE,
        status=400 if faulty else 200,
        plan=words.PLANS[running(organization.plan, until, now=work.now)],
        plan_until=words.day(until, user.zone) if until and until > work.now else None,
        names=names or Form(values={"name": organization.name, "slug": organization.slug}),
        brand=brand or Form(values=brand_values),
        leaving=leaving or Form(values={**keeps, "share": str(organization.departure_share)}),
        notice=SAVED if not faulty and request.query.get("done") == "saved" else None,
    )
