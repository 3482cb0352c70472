"""Pages: sign in with a password, a second factor or an identity provider, and sign out."""

from typing import Annotated
from urllib.parse import quote

from msgspec import Meta, Struct

from openslot.domains.access.errors import InvalidCode, InvalidCredentials, SignInExpired
from openslot.domains.access.models import SecondFactorNeeded, SignedIn
from openslot.domains.access.operations import finish_sign_in, needs_set_up, sign_in, sign_out
from openslot.domains.access.two_factor.operations import PENDING_LASTS, has_pending
from openslot.domains.accounts.models import User
from openslot.domains.accounts.sign_ups import is_open
from openslot.domains.oidc.models import AuthorizationResponse, InvalidOidcResponse
from openslot.domains.oidc.operations import begin_identity_check, connect_identity, prove_identity, sign_in_by_identity
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.web.shared import cookies
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.doors.web.shared.sign_in import (
    ATTEMPT_COOKIE,
    TypedCode,
    attempt_cookie,
    check_rate,
    local_path,
    show_no_account,
)
from openslot.platform.core.errors import Conflict, Forbidden, Refusal, Unauthorized, Unavailable
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Cookie, Form, Request, Response, WhenEmpty, get, post

NOTICES = {"password": Text("Your password was changed. Sign in with the new one.")}
SECURITY_PAGE = "/settings/security"
ADVICE = {
    "oidc_unreachable": Text("Try again in a moment, or sign in with your password."),
    "oidc_declined": Text("Try again, or ask your administrator to give you access to Openslot there."),
    "invalid_oidc_response": Text("Start again from the sign-in page."),
    "oidc_account_not_found": Text("Ask your administrator to create an account for you."),
    "oidc_email_unverified": Text(
        "If you have an account, sign in with your password and connect it in the settings, under Security."
    ),
    "oidc_account_disabled": Text("Ask your administrator."),
    "identity_already_connected": Text(
        "Your account, or the one that you signed in with there, is connected to someone else's."
    ),
}


def respond_signed_in(work: Work, result: SignedIn | SecondFactorNeeded, path: str, *more: Cookie) -> Response:
    """Redirect to one of our pages with the session's cookies, or first to the page that asks for a code."""
    if isinstance(result, SecondFactorNeeded):
        pending = cookies.write_cookie(work, cookies.PENDING_COOKIE, result.token, lasts=PENDING_LASTS)
        return redirect(f"/login/two-factor?next={quote(path)}", pending, *more)
    return redirect(path, *cookies.cookies_for(work, result), *more)


class SignInForm(Struct, frozen=True, kw_only=True):
    email: Annotated[str, Meta(pattern=LINE, max_length=254), WhenEmpty(Text("Enter your email address"))]
    password: Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Enter your password"))]
    next: str = ""


@get("/login", is_public=True)
async def show_login(request: Request, work: Work, user: User | None, form: Form[SignInForm] = Form()) -> Response:
    wanted = local_path(form["next"] or request.query.get("next", ""))
    if user is not None:
        return redirect(wanted)
    settings = work.runtime.settings
    may_sign_up = is_open(settings)
    if settings.oidc_issuer is None and not may_sign_up and await needs_set_up(work):
        return show_no_account(work)
    return page(
        "login.html",
        None,
        form=form,
        wanted=wanted,
        notices=NOTICES,
        may_sign_up=may_sign_up,
        provider=settings.oidc_name if settings.oidc_issuer else None,
    )


@post("/login", transaction="none", shows=show_login, at={InvalidCredentials: "form"}, own_status=True)
async def log_in(request: Request, work: Work, user: User | None, form: Form[SignInForm]) -> Response:
    """Let the user in if the password is right; no connection is held while it is checked."""
    sent = form.get()
    if user is not None:
        return redirect(local_path(sent.next))
    result = await sign_in(
        work,
        email=sent.email,
        password=sent.password,
        device=cookies.read_cookie(request, work.runtime.settings, cookies.DEVICE_COOKIE),
        address=request.address,
        user_agent=cookies.browser_of(request),
    )
    return respond_signed_in(work, result, local_path(sent.next))


@post("/logout")
async def log_out(work: Work, user: User) -> Response:
    await sign_out(work)
    return redirect("/login", cookies.delete_cookie(work, cookies.SESSION_COOKIE))


class SecondStepForm(Struct, frozen=True, kw_only=True):
    code: TypedCode
    next: str = ""


@get("/login/two-factor")
async def show_second_step(
    request: Request, work: Work, user: User | None, form: Form[SecondStepForm] = Form()
) -> Response:
    wanted = local_path(form["next"] or request.query.get("next", ""))
    if user is not None:
        return redirect(wanted)
    if not form.faults and not await has_pending(
        work, cookies.read_cookie(request, work.runtime.settings, cookies.PENDING_COOKIE)
    ):
        return redirect("/login")
    return page("two_factor.html", None, form=form, wanted=wanted, has_expired=False)


@post("/login/two-factor", transaction="none", shows=show_second_step, own_status=True)
async def send_code(request: Request, work: Work, user: User | None, form: Form[SecondStepForm]) -> Response:
    sent = form.get()
    if user is not None:
        return redirect(local_path(sent.next))
    try:
        signed_in = await finish_sign_in(
            work,
            token=cookies.read_cookie(request, work.runtime.settings, cookies.PENDING_COOKIE),
            code=sent.code,
            device=cookies.read_cookie(request, work.runtime.settings, cookies.DEVICE_COOKIE),
            address=request.address,
            user_agent=cookies.browser_of(request),
        )
    except SignInExpired:
        wanted = local_path(sent.next)
        return page("two_factor.html", None, status=401, form=Form(), wanted=wanted, has_expired=True)
    except InvalidCode as refusal:
        raise Unauthorized(details=refusal.faults) from None
    return respond_signed_in(
        work, signed_in, local_path(sent.next), cookies.delete_cookie(work, cookies.PENDING_COOKIE)
    )


@get("/login/oidc")
async def begin_oidc(request: Request, work: Work, user: User | None) -> Response:
    wanted = local_path(request.query.get("next", ""))
    if user is not None:
        return redirect(wanted)
    await check_rate(work, request)
    try:
        url, kept = await begin_identity_check(work, wanted=wanted)
    except Unavailable as refusal:
        return _refuse(work, refusal, user)
    return redirect(url, attempt_cookie(work, kept))


@get("/login/oidc/callback")
async def finish_oidc(request: Request, work: Work, user: User | None) -> Response:
    """Let the person in whom the provider has proved, or connect the account of the user who asked for it."""
    await check_rate(work, request)
    answer = AuthorizationResponse(**{name: request.query.get(name, "") for name in ("code", "state", "error")})
    kept = cookies.read_cookie(request, work.runtime.settings, ATTEMPT_COOKIE)
    try:
        attempt, identity = await prove_identity(work, answer, cookie=kept)
        if attempt.connects is not None:
            await connect_identity(work, attempt, identity, user)
            return redirect(f"{SECURITY_PAGE}?done=connected", cookies.delete_cookie(work, ATTEMPT_COOKIE))
        result = await sign_in_by_identity(
            work, attempt, identity, locale=locale_of(request).language.tag, user_agent=cookies.browser_of(request)
        )
    except (Forbidden, Conflict, Unavailable) as refusal:
        return _refuse(work, refusal, user)
    return respond_signed_in(work, result, local_path(attempt.wanted), cookies.delete_cookie(work, ATTEMPT_COOKIE))


def _refuse(work: Work, refusal: Refusal, user: User | None) -> Response:
    shown = page(
        "oidc_refused.html",
        user,
        status=status_of(refusal),
        message=refusal.sentence,
        advice=ADVICE.get(refusal.code),
        back=SECURITY_PAGE if user else "/login",
    )
    # An answer to an earlier sign-in, or a link of another site, does not end the one that is under way.
    is_kept = isinstance(refusal, InvalidOidcResponse) and refusal.is_of_another
    return Response(
        status=shown.status,
        headers={**shown.headers, "x-error-code": refusal.code, **headers_of(refusal)},
        cookies=() if is_kept else (cookies.delete_cookie(work, ATTEMPT_COOKIE),),
        body=shown.body,
    )
