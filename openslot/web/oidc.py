"""Pages: sign in through the identity provider, and come back from it."""

from openslot.access import limits
from openslot.accounts.models import User
from openslot.core.errors import Conflict, Forbidden, Refusal, TooMany, Unavailable
from openslot.core.work import Work
from openslot.http.errors import headers_of, status_of
from openslot.i18n import Text
from openslot.integrations.oidc import operations as oidc
from openslot.integrations.oidc.attempts import ATTEMPT_LASTS
from openslot.integrations.oidc.errors import OidcMismatch
from openslot.integrations.oidc.models import AuthorizationResponse
from openslot.routing import Cookie, Request, Response, get
from openslot.web.cookies import browser_of
from openslot.web.pages import locale_of, page, redirect
from openslot.web.short_cookies import no_short_cookie, short_cookie, short_cookie_of
from openslot.web.sign_in import local_path
from openslot.web.sign_in_response import respond_signed_in

ATTEMPT_COOKIE = "openslot_oidc"
SECURITY_PAGE = "/settings/security"
# Each begun or finished sign-in may cause requests to the provider.
MOST_A_MINUTE = 30
TOO_MANY = Text("Too many sign-ins from your network")
ADVICE = {
    "oidc_unreachable": Text("Try again in a moment, or sign in with your password."),
    "oidc_declined": Text("Try again, or ask your administrator to give you access to Openslot there."),
    "oidc_mismatch": Text("Start again from the sign-in page."),
    "oidc_no_account": Text("Ask your administrator to create an account for you."),
    "oidc_email_unverified": Text(
        "If you have an account, sign in with your password and connect it in the settings, under Security."
    ),
    "oidc_account_closed": Text("Ask your administrator."),
    "identity_taken": Text("Your account, or the one that you signed in with there, is connected to someone else's."),
}


@get("/login/oidc")
async def begin_oidc(request: Request, work: Work, user: User | None) -> Response:
    """Send the browser to the provider."""
    wanted = local_path(request.query.get("next", ""))
    if user is not None:
        return redirect(wanted)
    await check_rate(work, request)
    try:
        url, kept = await oidc.begin(work, wanted=wanted)
    except Unavailable as refusal:
        return _refuse(work, refusal, user)
    return redirect(url, attempt_cookie(work, kept))


@get("/login/oidc/callback")
async def finish_oidc(request: Request, work: Work, user: User | None) -> Response:
    """Let the person in whom the provider has proved, or connect the account of the user who asked for it."""
    await check_rate(work, request)
    answer = AuthorizationResponse(**{name: request.query.get(name, "") for name in ("code", "state", "error")})
    kept = short_cookie_of(request, work, ATTEMPT_COOKIE)
    try:
        attempt, identity = await oidc.prove(work, answer, cookie=kept)
        if attempt.connects is not None:
            await oidc.connect(work, attempt, identity, user)
            return redirect(f"{SECURITY_PAGE}?done=connected", no_short_cookie(work, ATTEMPT_COOKIE))
        result = await oidc.sign_in(
            work, attempt, identity, locale=locale_of(request).language.tag, user_agent=browser_of(request)
        )
    except (Forbidden, Conflict, Unavailable) as refusal:
        return _refuse(work, refusal, user)
    return respond_signed_in(work, result, local_path(attempt.wanted), no_short_cookie(work, ATTEMPT_COOKIE))


def attempt_cookie(work: Work, kept: str) -> Cookie:
    """Return the cookie by which this browser, and no other, can finish a sign-in."""
    return short_cookie(work, ATTEMPT_COOKIE, kept, lasts=ATTEMPT_LASTS)


async def check_rate(work: Work, request: Request) -> None:
    """Refuse an address that begins or finishes more sign-ins than people do."""
    verdict = await limits.take(work.db, f"oidc:{request.address}", MOST_A_MINUTE)
    if not verdict.taken:
        raise TooMany(TOO_MANY, retry_after=verdict.retry_after)


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
    is_kept = isinstance(refusal, OidcMismatch) and refusal.is_of_another
    return Response(
        status=shown.status,
        headers={**shown.headers, "x-error-code": refusal.code, **headers_of(refusal)},
        cookies=() if is_kept else (no_short_cookie(work, ATTEMPT_COOKIE),),
        body=shown.body,
    )
