"""Pages: a program asks to be connected as an assistant, and the user decides."""

from datetime import timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.doors.http.doors import Exchange
from openslot.doors.http.security import PAGE_POLICY
from openslot.doors.oauth import operations
from openslot.doors.oauth.errors import AssistantsForbidden, InvalidOAuthRequest, OAuthRefusal
from openslot.doors.oauth.models import AssistantScope, AuthorizationRequest, ClientOrigin, Parameters, RedirectUri
from openslot.doors.oauth.operations import return_address
from openslot.doors.oauth.rules import ORDER, SCOPES, parse_redirect
from openslot.doors.web.shared.cookies import delete_cookie, read_cookie, read_field, write_cookie
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Refusal, Unavailable
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, get, post

PATH = "/oauth/authorize"
COOKIE = "openslot_consent"
# How long somebody may take to sign in first.
SIGN_IN_LASTS = timedelta(minutes=30)
# A browser keeps no larger cookie.
LONGEST_REQUEST = 3500
PARAMETERS = (
    "client_id",
    "redirect_uri",
    "response_type",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "state",
    "resource",
)
# What OAuth calls them, where that is not their code.
ERRORS: dict[type[Refusal], str] = {InvalidOAuthRequest: "invalid_request", AssistantsForbidden: "access_denied"}


class AssistantConsentForm(Struct, frozen=True, kw_only=True):
    allow: tuple[str, ...] = ()
    decision: str = ""


@get("/oauth/authorize")
async def show_consent(request: Exchange, work: Work, user: User | None) -> Response:
    """Ask whether a program may act for the user; who is not signed in signs in first."""
    try:
        given = read_parameters(request.query_string)
    except InvalidOAuthRequest as refusal:
        return _refuse(user, refusal)
    if user is None:
        kept = write_cookie(work, COOKIE, urlencode(given), lasts=SIGN_IN_LASTS)
        return redirect(f"/login?next={PATH}", *([kept] if given else []))
    if not given and (kept_query := read_cookie(request, work.runtime.settings, COOKIE)):
        return redirect(f"{PATH}?{kept_query}", delete_cookie(work, COOKIE))
    return await _show(work, user, given)


@post("/oauth/authorize", transaction="none")
async def decide(request: Exchange, work: Work, user: User, form: Form[AssistantConsentForm]) -> Response:
    """Send the user back to the program, with a code if it was allowed."""
    sent = {name: read_field(request, name) for name in PARAMETERS}
    read = await _read(work, user, {name: value for name, value in sent.items() if value})
    if isinstance(read, Response):
        return read
    asked, grantable = read
    if form.get().decision != "allow":
        return redirect(_return(work, asked.redirect_uri, "access_denied", asked.state))
    chosen = frozenset(scope for scope in grantable if scope in form.get().allow)
    try:
        async with work.transaction():
            return redirect(await operations.approve(work, user, asked, chosen))
    except (OAuthRefusal, AssistantsForbidden) as refusal:
        return _refuse(user, refusal)


def read_parameters(query: bytes) -> Parameters:
    """Read what a program asks for; OAuth allows no parameter twice, because two readers could take different ones."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=False, max_num_fields=50, errors="strict")
    except ValueError:
        raise InvalidOAuthRequest(Text("The address could not be read")) from None
    given = [(name, value) for name, value in pairs if name in PARAMETERS]
    if len(given) != len(dict(given)):
        raise InvalidOAuthRequest(Text("The address has a parameter twice"))
    if len(urlencode(given)) > LONGEST_REQUEST:
        raise InvalidOAuthRequest(Text("The address is too long"))
    return dict(given)


async def _read(
    work: Work, user: User, given: Parameters
) -> tuple[AuthorizationRequest, frozenset[AssistantScope]] | Response:
    """Return what is asked for and which of it can be allowed, or the page that says what is wrong."""
    try:
        client = await operations.get_asking_client(work, user, given)
    except (OAuthRefusal, Unavailable) as refusal:
        return _refuse(user, refusal)
    try:
        asked = operations.read_request(work.runtime.settings, client, given)
        return asked, await operations.list_grantable(work, user, asked)
    except (OAuthRefusal, AssistantsForbidden) as refusal:
        error = ERRORS.get(type(refusal), refusal.code)
        return _refuse(user, refusal, back=_return(work, given["redirect_uri"], error, given.get("state")))


async def _show(work: Work, user: User, given: Parameters) -> Response:
    read = await _read(work, user, given)
    if isinstance(read, Response):
        return read
    asked, grantable = read
    back = parse_redirect(asked.redirect_uri)
    assert back is not None  # noqa: S101 - it is one of the program's own
    shown = page(
        "consent/consent.html",
        user,
        client=asked.client,
        own_site=_own_site(asked),
        back=back,
        given=given,
        scopes=[(scope, SCOPES[scope]) for scope in ORDER if scope in grantable],
        is_limited=grantable != asked.scopes,
    )
    return replace(shown, headers={**shown.headers, "content-security-policy": _policy(back)})


def _own_site(asked: AuthorizationRequest) -> str | None:
    """Name the host that describes the program; None if it has described itself."""
    return urlsplit(asked.client.id).netloc if asked.client.origin is ClientOrigin.DOCUMENT else None


def _policy(back: RedirectUri) -> str:
    """Let the form lead to where the program wants the user back: browsers hold redirects after a form to it, too."""
    # A policy can't name an IPv6 address.
    target = "http:" if "[" in back.origin else back.origin
    return PAGE_POLICY.decode().replace("form-action 'self'", f"form-action 'self' {target}")


def _refuse(user: User | None, refusal: Refusal, *, back: str | None = None) -> Response:
    """Say what is wrong on a page of our own: nobody is sent elsewhere who does not want it."""
    target = parse_redirect(back) if back else None
    shown = page(
        "consent/refused.html",
        user,
        status=503 if isinstance(refusal, Unavailable) else 400,
        message=refusal.sentence,
        back=back,
        site=target.site if target else None,
    )
    return replace(shown, headers={**shown.headers, "x-error-code": refusal.code})


def _return(work: Work, redirect_uri: str, error: str, state: str | None) -> str:
    return return_address(work.runtime.settings, redirect_uri, {"error": error, "state": state})
