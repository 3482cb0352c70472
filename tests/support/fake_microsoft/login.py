"""Microsoft's login server: a person decides on its page, and the client gets tokens that end by the clock."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from html import escape
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct

from openslot.platform.core.work import Clock
from tests.support.fake_server import Answer, Request

CLIENT_ID, CLIENT_SECRET = "5c1f8b5e-7d0c-4b0e-9f43-6a2f0c8e7a11", "8Q8~the.client's-secret"
TENANT = "72f988bf-0000-41af-91ab-2d7cd011db47"
PERSONAL = "9188040d-6c67-4c5b-b112-36a304b66dad"
ACCESS_LASTS, IDLE_LASTS, CODE_LASTS = timedelta(seconds=4799), timedelta(days=90), timedelta(minutes=10)
NEEDED = {"client_id", "response_type", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"}
ALLOWED = NEEDED | {"response_mode", "prompt", "login_hint", "domain_hint"}
TOKEN_FIELDS = {
    "authorization_code": {
        "client_id",
        "client_secret",
        "grant_type",
        "code",
        "redirect_uri",
        "code_verifier",
        "scope",
    },
    "refresh_token": {"client_id", "client_secret", "grant_type", "refresh_token", "scope"},
}
SCOPES = {"openid", "profile", "email", "offline_access", "User.Read", "Calendars.Read", "Calendars.ReadWrite"}
DECLINED = (65004, "User declined to consent to access the app.")
ADMIN_NEEDED = {
    65001: "The user or administrator has not consented to use the application. Send an interactive authorization "
    "request for this user and resource.",
    90094: "An administrator has set a policy that prevents you from granting the application the permissions that it "
    "requests. Contact an administrator, who can grant permissions to this app on your behalf.",
}


class SignInRefused(Exception):
    """The login server shows an error to the person, and sends nobody back."""


class Person(Struct):
    """Somebody who can sign in."""

    email: str
    tenant: str = TENANT
    admin_needed: int | None = None
    """The code with which the organization refuses what only an administrator may allow."""


class Code(Struct):
    email: str
    tenant: str
    scopes: tuple[str, ...]
    challenge: str
    redirect_uri: str
    ends_at: datetime
    is_redeemed: bool = False


class Granted(Struct):
    """A refresh token and what it is good for."""

    email: str
    scopes: tuple[str, ...]
    used_at: datetime
    dies_at: datetime | None = None
    """After it was used, and another one has taken its place."""
    is_revoked: bool = False


class Access(Struct, frozen=True):
    email: str
    scopes: tuple[str, ...]
    ends_at: datetime


class Login:
    """The page on which people decide, and the token endpoint."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.people: dict[str, Person] = {}
        self.sends_to = ""
        """Where the service listens, which a test's settings do not know."""
        self.grace = timedelta(minutes=1)
        """How long a refresh token is accepted after its use; Microsoft promises no end, other vendors do."""
        self.refreshes = 0
        self.codes: dict[str, Code] = {}
        self.grants: dict[str, Granted] = {}
        self.accesses: dict[str, Access] = {}

    def decide(self, url: str, email: str, *, declines: bool = False) -> str:
        """Be a person on the page: sign in, decide, and return the address that the browser goes to."""
        tenant, query = _read_request(url)
        person = self.people.get(email)
        if person is None or not _may_sign_in(person, tenant):
            raise SignInRefused("AADSTS50020: this account does not exist in the tenant")
        back = urlsplit(query["redirect_uri"])
        place = f"{self.sends_to}{back.path}" if self.sends_to else query["redirect_uri"]
        if declines or person.admin_needed is not None:
            code, text = DECLINED
            if person.admin_needed is not None:
                code, text = person.admin_needed, ADMIN_NEEDED[person.admin_needed]
            told = {"error": "access_denied", "error_subcode": "cancel", "error_description": f"AADSTS{code}: {text}"}
            return f"{place}?{urlencode({**told, 'state': query['state']})}"
        name = f"M.{secrets.token_urlsafe(60)}"
        scopes = tuple(query["scope"].split())
        ends_at = self.clock() + CODE_LASTS
        self.codes[name] = Code(email, tenant, scopes, query["code_challenge"], query["redirect_uri"], ends_at)
        return f"{place}?{urlencode({'code': name, 'state': query['state'], 'session_state': 'a'})}"

    def show_page(self, request: Request) -> Answer:
        """Show the page on which a person decides, or follow the decision."""
        try:
            _read_request(request.path)
            if request.method != "POST":
                return _show_form(request)
            form = dict(request.pairs)
            place = self.decide(request.path, form["email"], declines=form["decision"] == "cancel")
        except SignInRefused as refusal:
            return _page("Sorry, but we’re having trouble signing you in.", f"<p>{escape(str(refusal))}</p>", 400)
        if self.people[form["email"]].admin_needed is None:
            return Answer(303, b"", {"Location": place})
        text = "Return to the application without granting consent"
        return _page("Need admin approval", f'<a href="{escape(place)}">{text}</a>')

    def allow(self, email: str, *scopes: str) -> str:
        """Give an access token without any page."""
        return str(json.loads(self._give(self._grant(email, scopes)).body)["access_token"])

    def revoke(self, email: str) -> None:
        """End all sessions, as an administrator or a new password does."""
        for each in self.grants.values():
            each.is_revoked = each.is_revoked or each.email == email
        self.accesses = {token: each for token, each in self.accesses.items() if each.email != email}

    def end_access_tokens(self) -> None:
        """End all access tokens before their time."""
        self.accesses.clear()

    def find_access(self, token: str) -> Access | None:
        found = self.accesses.get(token)
        return found if found is not None and found.ends_at > self.clock() else None

    def answer(self, request: Request, tenant: str) -> Answer:
        """Give tokens, or refuse."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
            return _refuse("invalid_request", 900144)
        form = dict(request.pairs)
        kinds: dict[str, Callable[[dict[str, str], str], Answer]] = {
            "authorization_code": self._exchange,
            "refresh_token": self._refresh,
        }
        kind = form.get("grant_type", "")
        if kind not in kinds:
            return _refuse("unsupported_grant_type", 70003)
        if not TOKEN_FIELDS[kind] - {"scope"} <= set(form) <= TOKEN_FIELDS[kind]:
            return _refuse("invalid_request", 900144)
        if form["client_id"] != CLIENT_ID:
            return _refuse("unauthorized_client", 700016)
        if form["client_secret"] != CLIENT_SECRET:
            return _refuse("invalid_client", 7000215, 401)
        return kinds[kind](form, tenant)

    def _exchange(self, form: dict[str, str], tenant: str) -> Answer:
        code = self.codes.get(form["code"])
        if code is None or code.tenant != tenant:
            return _refuse("invalid_grant", 9002313)
        if code.is_redeemed:
            return _refuse("invalid_grant", 54005)
        if code.ends_at <= self.clock():
            return _refuse("invalid_grant", 70008)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if challenge.decode().rstrip("=") != code.challenge:
            return _refuse("invalid_grant", 501481)
        if form["redirect_uri"] != code.redirect_uri:
            return _refuse("invalid_grant", 50011)
        code.is_redeemed = True
        return self._give(self._grant(code.email, code.scopes))

    def _refresh(self, form: dict[str, str], tenant: str) -> Answer:
        self.refreshes += 1
        now = self.clock()
        granted = self.grants.get(form["refresh_token"])
        if granted is None or (granted.dies_at is not None and granted.dies_at <= now):
            return _refuse("invalid_grant", 70000)
        if granted.is_revoked:
            return _refuse("invalid_grant", 50173)
        if now - granted.used_at > IDLE_LASTS:
            return _refuse("invalid_grant", 700082)
        person = self.people[granted.email]
        if person.admin_needed is not None:
            return _refuse("invalid_grant", person.admin_needed, suberror="consent_required")
        if not _may_sign_in(person, tenant) or not set(form.get("scope", "").split()) <= set(granted.scopes):
            return _refuse("invalid_scope", 70011)
        granted.dies_at = granted.dies_at or now + self.grace
        return self._give(self._grant(granted.email, granted.scopes))

    def _grant(self, email: str, scopes: tuple[str, ...]) -> str:
        name = f"1.{secrets.token_urlsafe(900)}"
        self.grants[name] = Granted(email, scopes, self.clock())
        return name

    def _give(self, refresh_token: str) -> Answer:
        granted = self.grants[refresh_token]
        token = f"eyJ0eXAi.{secrets.token_urlsafe(1600)}"
        self.accesses[token] = Access(granted.email, granted.scopes, self.clock() + ACCESS_LASTS)
        # The right to refresh is not told among the scopes.
        scopes = " ".join(each for each in granted.scopes if each != "offline_access")
        lasts = int(ACCESS_LASTS.total_seconds())
        body = {"token_type": "Bearer", "scope": scopes, "expires_in": lasts, "ext_expires_in": lasts}
        more = {"refresh_token": refresh_token} if "offline_access" in granted.scopes else {}
        return _write(200, {**body, "access_token": token, **more})


def _may_sign_in(person: Person, tenant: str) -> bool:
    if tenant == "organizations":
        return person.tenant != PERSONAL
    return tenant in {"common", person.tenant} or (tenant == "consumers" and person.tenant == PERSONAL)


def _read_request(url: str) -> tuple[str, dict[str, str]]:
    """Read what a client asks for, or refuse it as the page does."""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = dict(pairs)
    if len(query) != len(pairs) or not NEEDED <= set(query) <= ALLOWED:
        raise SignInRefused(f"AADSTS900144: the request has other parameters: {sorted(query)}")
    if query["client_id"] != CLIENT_ID:
        raise SignInRefused("AADSTS700016: the application was not found in the directory")
    fixed = ("response_type", "code"), ("code_challenge_method", "S256")
    if any(query[name] != value for name, value in fixed) or query.get("response_mode", "query") != "query":
        raise SignInRefused("AADSTS9002325: a code with PKCE is expected")
    if query.get("prompt", "consent") not in {"login", "consent", "select_account"}:
        raise SignInRefused("AADSTS90023: unsupported prompt value")
    if not set(query["scope"].split()) <= SCOPES or not query["state"] or len(query["code_challenge"]) != 43:
        raise SignInRefused("AADSTS70011: the scope, the state or the challenge is not valid")
    return parts.path.split("/")[1], query


def _show_form(request: Request) -> Answer:
    scopes = dict(parse_qsl(urlsplit(request.path).query))["scope"]
    buttons = "".join(f'<button name="decision" value="{each}">{each}</button>' for each in ("accept", "cancel"))
    address = '<label>Email <input name="email"></label>'
    form = f'<form method="post" action="{escape(request.path)}">{address}{buttons}</form>'
    return _page("Permissions requested", f"<p>{escape(scopes)}</p>{form}")


def _page(title: str, content: str, status: int = 200) -> Answer:
    page = f"<!doctype html><title>Microsoft</title><h1>{title}</h1>{content}"
    return Answer(status, page.encode(), {"Content-Type": "text/html; charset=utf-8"})


def _refuse(error: str, code: int, status: int = 400, **more: str) -> Answer:
    text = ADMIN_NEEDED.get(code, "The request or the grant is not valid.")
    told = {"error": error, "error_description": f"AADSTS{code}: {text} Trace ID: a", "error_codes": [code]}
    return _write(status, {**told, "timestamp": "2026-03-16 08:00:00Z", "trace_id": "a", "correlation_id": "a", **more})


def _write(status: int, body: object) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json; charset=utf-8"})
