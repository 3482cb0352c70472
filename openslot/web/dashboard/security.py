"""Pages: two-factor authentication, its recovery codes, and the account at the identity provider."""

import base64
from typing import Annotated

from msgspec import Meta, Struct

from openslot.access import two_factor
from openslot.access.errors import SetupExpired, TwoFactorIsOff, TwoFactorIsOn, WrongCode
from openslot.access.two_factor import grouped, setup_url
from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.http.errors import status_of
from openslot.i18n import Text
from openslot.integrations.oidc import operations as oidc
from openslot.integrations.oidc.models import OidcOff
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.booking_page.sharing import draw_qr
from openslot.web.pages import page, redirect
from openslot.web.sign_in import TypedCode, attempt_cookie, check_rate

CurrentPassword = Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Enter your current password"))]
HERE = "/settings/security"
FEW_CODES = 3
NOTICES = {
    "off": Text("Two-factor authentication is off. You sign in with your password alone."),
    "expired": Text("The setup has expired. Start again."),
    "connected": Text("Your account is connected. You can sign in without your password from now on."),
    "disconnected": Text("Your account is no longer connected. Sign in with your password."),
}
SETUP = f"{HERE}/two-factor"
FIELDS = {"current": "password"}


class BeginTwoFactorForm(Struct, frozen=True, kw_only=True):
    """The password with which the set-up begins."""

    current: CurrentPassword


class ConnectProviderForm(Struct, frozen=True, kw_only=True):
    """What proves that it is the user who connects an account to the identity provider."""

    password: CurrentPassword
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


class FirstCodeForm(Struct, frozen=True, kw_only=True):
    code: TypedCode


class BothFactorsForm(Struct, frozen=True, kw_only=True):
    """What proves that it is the user who weakens or renews the second factor."""

    current: CurrentPassword
    code: TypedCode


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


@get("/settings/security/recovery-codes")
async def ask_to_renew_codes(work: Work, user: User) -> Response:
    """Ask for password and code before the earlier codes are replaced."""
    state = await two_factor.get_state(work, user)
    return _ask_for_codes(user, Form()) if state.on_since else redirect(HERE)


@post("/settings/security/recovery-codes", transaction="none")
async def renew_codes(work: Work, user: User, form: Form[BothFactorsForm]) -> Response:
    """Replace the recovery codes, and show the new ones once."""
    if form.faults:
        return _ask_for_codes(user, form)
    sent = form.get()
    try:
        codes = await two_factor.renew_recovery_codes(work, user, password=sent.current, code=sent.code)
    except TwoFactorIsOff:
        return redirect(HERE)
    except Invalid as refusal:
        return _ask_for_codes(user, form.with_faults(refusal.faults))
    return codes_page(work, user, codes, is_new=False)


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


def _ask_for_codes(user: User, form: Form[BothFactorsForm]) -> Response:
    return page("dashboard/security/renew.html", user, status=400 if form.faults else 200, here=HERE, form=form)


@post("/settings/security/two-factor", transaction="none")
async def begin_two_factor(work: Work, user: User, form: Form[BeginTwoFactorForm]) -> Response:
    """Make a secret for the user's app if the password is right."""
    if form.faults:
        return await security_page(work, user, form=form, status=400)
    try:
        await two_factor.begin_setup(work, user, password=form.get().current)
    except TwoFactorIsOn:
        return redirect(HERE)
    except (Invalid, Conflict) as refusal:
        faults = refusal.faults or {"current": refusal.sentence}
        return await security_page(work, user, form=form.with_faults(faults), status=status_of(refusal))
    return redirect(SETUP)


@get("/settings/security/two-factor")
async def show_two_factor_setup(work: Work, user: User) -> Response:
    """Show the secret to the session that has begun the set-up."""
    try:
        return await _show(work, user, Form())
    except SetupExpired:
        return redirect(HERE)


@post("/settings/security/two-factor/confirm", transaction="none")
async def confirm_two_factor(work: Work, user: User, form: Form[FirstCodeForm]) -> Response:
    """Turn two-factor authentication on if the app shows the right code, and show the recovery codes once."""
    try:
        if form.faults:
            return await _show(work, user, form)
        try:
            codes = await two_factor.confirm_setup(work, user, code=form.get().code)
        except WrongCode as refusal:
            return await _show(work, user, form.with_faults(refusal.faults))
    except SetupExpired:
        return redirect(f"{HERE}?done=expired")
    return codes_page(work, user, codes, is_new=True)


async def _show(work: Work, user: User, form: Form[FirstCodeForm]) -> Response:
    secret = await two_factor.get_setup(work, user)
    image = base64.b64encode(draw_qr(setup_url(secret, user.email))).decode()
    return page(
        "dashboard/security/setup.html",
        user,
        status=400 if form.faults else 200,
        here=HERE,
        image=f"data:image/svg+xml;base64,{image}",
        secret=grouped(secret),
        form=form,
    )


@get("/settings/security/two-factor/off")
async def ask_to_turn_off(work: Work, user: User) -> Response:
    """Ask for password and code before the second factor is removed."""
    state = await two_factor.get_state(work, user)
    return _ask_to_turn_off(user, Form()) if state.on_since else redirect(HERE)


@post("/settings/security/two-factor/off", transaction="none")
async def turn_two_factor_off(work: Work, user: User, form: Form[BothFactorsForm]) -> Response:
    if form.faults:
        return _ask_to_turn_off(user, form)
    sent = form.get()
    try:
        await two_factor.turn_off(work, user, password=sent.current, code=sent.code)
    except TwoFactorIsOff:
        return redirect(HERE)
    except Invalid as refusal:
        return _ask_to_turn_off(user, form.with_faults(refusal.faults))
    return redirect(f"{HERE}?done=off")


def _ask_to_turn_off(user: User, form: Form[BothFactorsForm]) -> Response:
    return page("dashboard/security/off.html", user, status=400 if form.faults else 200, here=HERE, form=form)


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
    return await _ask_to_disconnect(work, user, Form())


@post("/settings/security/provider/disconnect")
async def disconnect_provider(work: Work, user: User) -> Response:
    try:
        await oidc.disconnect(work, user)
    except Conflict as refusal:
        return await _ask_to_disconnect(work, user, Form(faults={"form": refusal.sentence}))
    return redirect(f"{HERE}?done=disconnected")


async def _ask_to_disconnect(work: Work, user: User, form: Form[ConnectProviderForm]) -> Response:
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
