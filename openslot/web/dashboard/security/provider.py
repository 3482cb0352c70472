"""Pages: connect the account to the identity provider, and disconnect it."""

from openslot.access import two_factor
from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.work import Work
from openslot.http.refusals import status_of
from openslot.integrations.oidc import operations as oidc
from openslot.integrations.oidc.errors import OidcOff
from openslot.routing import Form, Request, Response, get, post
from openslot.web.dashboard.security.forms import ConnectProviderForm
from openslot.web.dashboard.security.overview import HERE, security_page
from openslot.web.oidc import attempt_cookie, check_rate
from openslot.web.pages import page, redirect

FIELDS = {"current": "password"}


@post("/settings/security/provider", transaction="none")
async def begin_to_connect(request: Request, work: Work, user: User, form: Form[ConnectProviderForm]) -> Response:
    """Check who it is and show the link to the provider, because a form must not lead to another site."""
    if form.faults:
        return await security_page(work, user, provider_form=form, status=400)
    await check_rate(work, request)
    try:
        await two_factor.check_current_password(work, user, form.get().password)
        # The provider may be trusted with the second factor, and then this is a way around it.
        await two_factor.confirm_code(work, user, form.get().code)
    except (Invalid, Conflict) as refusal:
        named = {FIELDS.get(field, field): fault for field, fault in refusal.faults.items()}
        faults = named or {"password": refusal.sentence}
        return await security_page(work, user, provider_form=form.with_faults(faults), status=status_of(refusal))
    url, kept = await oidc.begin(work, wanted=HERE, connects=user.id)
    name = work.runtime.settings.oidc_name
    shown = page("dashboard/security/connect.html", user, here=HERE, provider=name, url=url)
    return Response(status=shown.status, headers=shown.headers, cookies=(attempt_cookie(work, kept),), body=shown.body)


@get("/settings/security/provider/disconnect")
async def ask_to_disconnect(work: Work, user: User) -> Response:
    """Ask before the connection ends."""
    return await _ask(work, user, Form())


@post("/settings/security/provider/disconnect")
async def disconnect_provider(work: Work, user: User) -> Response:
    """End the connection."""
    try:
        await oidc.disconnect(work, user)
    except Conflict as refusal:
        return await _ask(work, user, Form(faults={"form": refusal.sentence}))
    return redirect(f"{HERE}?done=disconnected")


async def _ask(work: Work, user: User, form: Form[ConnectProviderForm]) -> Response:
    settings = work.runtime.settings
    if settings.oidc_issuer is None:
        raise OidcOff
    return page(
        "dashboard/security/disconnect.html",
        user,
        status=409 if form.faults else 200,
        here=HERE,
        provider=settings.oidc_name,
        form=form,
    )
