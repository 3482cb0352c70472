"""Pages: two-factor authentication, its recovery codes, and the account at the identity provider."""

import base64
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.access.errors import TwoFactorAlreadyEnabled, TwoFactorNotEnabled, TwoFactorSetupExpired
from openslot.domains.access.two_factor.operations import (
    begin_two_factor_setup,
    check_current_password,
    confirm_second_factor,
    confirm_two_factor_setup,
    get_two_factor_secret,
    get_two_factor_state,
    grouped,
    renew_recovery_codes,
    setup_url,
    turn_off_two_factor,
)
from openslot.domains.accounts.models import User
from openslot.domains.oidc.models import OidcNotConfigured
from openslot.domains.oidc.operations import begin_identity_check, disconnect_identity, find_identity_connected_at
from openslot.doors.web.shared import words
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.passwords import CurrentPassword
from openslot.doors.web.shared.qr import draw_qr
from openslot.doors.web.shared.sign_in import TypedCode, attempt_cookie, check_rate
from openslot.platform.core.errors import Conflict
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, get, post

HERE = "/settings/security"
FEW_CODES = 3
NOTICES = {
    "off": Text("Two-factor authentication is off. You sign in with your password alone."),
    "expired": Text("The setup has expired. Start again."),
    "connected": Text("Your account is connected. You can sign in without your password from now on."),
    "disconnected": Text("Your account is no longer connected. Sign in with your password."),
}
SETUP = f"{HERE}/two-factor"


class BeginTwoFactorForm(Struct, frozen=True, kw_only=True):
    current: CurrentPassword


class ConnectProviderForm(Struct, frozen=True, kw_only=True):
    password: CurrentPassword
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


class FirstCodeForm(Struct, frozen=True, kw_only=True):
    code: TypedCode


class BothFactorsForm(Struct, frozen=True, kw_only=True):
    current: CurrentPassword
    code: TypedCode


@get("/settings/security")
async def show_security(work: Work, user: User, form: Form[Any] = Form()) -> Response:
    """Show how the account is protected, with the faults of a form."""
    state = await get_two_factor_state(work, user)
    connected_at = await find_identity_connected_at(work, user)
    settings = work.runtime.settings
    return page(
        "dashboard/security/overview.html",
        user,
        here=HERE,
        notices=NOTICES,
        form=form,
        state=state,
        on_since=words.day(state.on_since, user.zone) if state.on_since else None,
        has_few_codes=state.codes_left < FEW_CODES,
        provider=settings.oidc_name if settings.oidc_issuer else None,
        connected=words.day(connected_at, user.zone) if connected_at else None,
    )


@get("/settings/security/recovery-codes")
async def ask_to_renew_codes(work: Work, user: User, form: Form[BothFactorsForm] = Form()) -> Response:
    """Ask for password and code before the earlier codes are replaced."""
    return await _ask_for_both(work, user, form, "renew")


@post("/settings/security/recovery-codes", transaction="none", shows=ask_to_renew_codes)
async def renew_codes(work: Work, user: User, form: Form[BothFactorsForm]) -> Response:
    """Replace the recovery codes, and show the new ones once."""
    sent = form.get()
    try:
        codes = await renew_recovery_codes(work, user, password=sent.current, code=sent.code)
    except TwoFactorNotEnabled:
        return redirect(HERE)
    return codes_page(work, user, codes, is_new=False)


@get("/settings/security/two-factor/off")
async def ask_to_turn_off(work: Work, user: User, form: Form[BothFactorsForm] = Form()) -> Response:
    """Ask for password and code before the second factor is removed."""
    return await _ask_for_both(work, user, form, "off")


@post("/settings/security/two-factor/off", transaction="none", shows=ask_to_turn_off)
async def turn_two_factor_off(work: Work, user: User, form: Form[BothFactorsForm]) -> Response:
    sent = form.get()
    try:
        await turn_off_two_factor(work, user, password=sent.current, code=sent.code)
    except TwoFactorNotEnabled:
        return redirect(HERE)
    return redirect(f"{HERE}?done=off")


async def _ask_for_both(work: Work, user: User, form: Form[BothFactorsForm], what: str) -> Response:
    state = await get_two_factor_state(work, user)
    return page(f"dashboard/security/{what}.html", user, here=HERE, form=form) if state.on_since else redirect(HERE)


def codes_page(work: Work, user: User, codes: tuple[str, ...], *, is_new: bool) -> Response:
    """Show recovery codes with a link that downloads them; it holds them itself, because they are stored nowhere."""
    file = "\n".join((work.runtime.settings.public_url, user.email, "", *codes, ""))
    return page(
        "dashboard/security/codes.html",
        user,
        here=HERE,
        codes=codes,
        is_new=is_new,
        file=f"data:text/plain;charset=utf-8;base64,{base64.b64encode(file.encode()).decode()}",
    )


@post(SETUP, transaction="none", shows=show_security, at={Conflict: "current"}, own_status=True)
async def begin_two_factor(work: Work, user: User, form: Form[BeginTwoFactorForm]) -> Response:
    """Make a secret for the user's app if the password is right."""
    try:
        await begin_two_factor_setup(work, user, password=form.get().current)
    except TwoFactorAlreadyEnabled:
        return redirect(HERE)
    return redirect(SETUP)


@get(SETUP)
async def show_two_factor_setup(work: Work, user: User, form: Form[FirstCodeForm] = Form()) -> Response:
    """Show the secret to the session that has begun the set-up."""
    try:
        secret = await get_two_factor_secret(work, user)
    except TwoFactorSetupExpired:
        return redirect(f"{HERE}?done=expired" if form.faults else HERE)
    image = base64.b64encode(draw_qr(setup_url(secret, user.email))).decode()
    return page(
        "dashboard/security/setup.html",
        user,
        here=HERE,
        image=f"data:image/svg+xml;base64,{image}",
        secret=grouped(secret),
        form=form,
    )


@post(f"{SETUP}/confirm", transaction="none", shows=show_two_factor_setup, at={TwoFactorSetupExpired: "form"})
async def confirm_two_factor(work: Work, user: User, form: Form[FirstCodeForm]) -> Response:
    """Turn two-factor authentication on if the app shows the right code, and show the recovery codes once."""
    codes = await confirm_two_factor_setup(work, user, code=form.get().code)
    return codes_page(work, user, codes, is_new=True)


@post(
    "/settings/security/provider",
    transaction="none",
    shows=show_security,
    at={Conflict: "password"},
    names={"current": "password"},
    own_status=True,
)
async def begin_to_connect(request: Request, work: Work, user: User, form: Form[ConnectProviderForm]) -> Response:
    """Check who it is and show the link to the provider, because a form must not lead to another site."""
    await check_rate(work, request)
    await check_current_password(work, user, form.get().password)
    # The provider may be trusted with the second factor, and then this is a way around it.
    await confirm_second_factor(work, user, form.get().code)
    url, kept = await begin_identity_check(work, wanted=HERE, connects=user.id)
    name = work.runtime.settings.oidc_name
    shown = page("dashboard/security/connect.html", user, here=HERE, provider=name, url=url)
    return replace(shown, cookies=(attempt_cookie(work, kept),))


@get("/settings/security/provider/disconnect")
async def ask_to_disconnect(work: Work, user: User, form: Form[Any] = Form()) -> Response:
    """Ask before the connection ends."""
    settings = work.runtime.settings
    if settings.oidc_issuer is None:
        raise OidcNotConfigured
    return page("dashboard/security/disconnect.html", user, here=HERE, provider=settings.oidc_name, form=form)


@post("/settings/security/provider/disconnect", shows=ask_to_disconnect, at={Conflict: "form"}, own_status=True)
async def disconnect_provider(work: Work, user: User) -> Response:
    await disconnect_identity(work, user)
    return redirect(f"{HERE}?done=disconnected")
