"""Page: whether two-factor authentication is on, and what can be done about it."""

from openslot.access import two_factor
from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.oidc import operations as oidc
from openslot.routing import Form, Request, Response, get
from openslot.web import words
from openslot.web.dashboard.security.forms import BeginTwoFactorForm, ConnectProviderForm
from openslot.web.pages import page

HERE = "/settings/security"
FEW_CODES = 3
NOTICES = {
    "off": Text("Two-factor authentication is off. You sign in with your password alone."),
    "expired": Text("The setup has expired. Start again."),
    "connected": Text("Your account is connected. You can sign in without your password from now on."),
    "disconnected": Text("Your account is no longer connected. Sign in with your password."),
}


@get("/settings/security")
async def show_security(request: Request, work: Work, user: User) -> Response:
    """Show how the account is protected."""
    return await security_page(work, user, notice=NOTICES.get(request.query.get("done", "")))


async def security_page(
    work: Work,
    user: User,
    *,
    status: int = 200,
    notice: Text | None = None,
    form: Form[BeginTwoFactorForm] | None = None,
    provider_form: Form[ConnectProviderForm] | None = None,
) -> Response:
    """Show how the account is protected, with the faults of a form."""
    state = await two_factor.get_state(work, user)
    connected_at = await oidc.find_connected_at(work, user)
    settings = work.runtime.settings
    return page(
        "dashboard/security/overview.html",
        user,
        status=status,
        here=HERE,
        notice=notice,
        state=state,
        on_since=words.day(state.on_since, user.zone) if state.on_since else None,
        has_few_codes=state.codes_left < FEW_CODES,
        form=form or Form(),
        provider=settings.oidc_name if settings.oidc_issuer else None,
        connected=words.day(connected_at, user.zone) if connected_at else None,
        provider_form=provider_form or Form(),
    )
