"""Google's side of OAuth: a person decides on its page, and the client gets tokens that end by the clock."""

import base64
import hashlib
import json
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from html import escape
from urllib.parse import parse_qs, urlencode, urlsplit

from msgspec import Struct

from openslot.platform.core.work import Clock
from tests.support.fake_server import Answer, Request

CLIENT_ID, CLIENT_SECRET = "openslot-tests.apps.googleusercontent.com", "GOCSPX-the client's secret"
ACCESS_LASTS, TESTING_LASTS = timedelta(seconds=3599), timedelta(days=7)


class Code(Struct, frozen=True):
    email: str
    scopes: tuple[str, ...]
    challenge: str
    redirect_uri: str
    is_offline: bool


class Granted(Struct):
    """A refresh token and what it is good for."""

    email: str
    scopes: tuple[str, ...]
    made_at: datetime
    is_revoked: bool = False


class Access(Struct, frozen=True):
    email: str
    scopes: tuple[str, ...]
    refresh_token: str
    ends_at: datetime


class Consents:
    """The page on which people decide, and the token endpoint."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_testing = False
        """Whether the operator's app is in testing: its refresh tokens end after seven days."""
        self.rotates = False
        """Whether each refresh gives another refresh token, and ends the one before, as at Microsoft."""
        self.sends_to = ""
        """Where the service listens, which a test's settings do not know."""
        self.refreshes = 0
        self.codes: dict[str, Code] = {}
        self.grants: dict[str, Granted] = {}
        self.accesses: dict[str, Access] = {}

    def decide(self, url: str, email: str, *, unticked: Collection[str] = (), declines: bool = False) -> str:
        """Be a person on the page: sign in, tick the boxes, and return the address that the browser goes to."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query, strict_parsing=True).items()}
        assert query["client_id"] == CLIENT_ID
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        assert query["prompt"] == "consent"
        back = urlsplit(query["redirect_uri"])
        place = f"{self.sends_to}{back.path}" if self.sends_to else query["redirect_uri"]
        if declines:
            return f"{place}?{urlencode({'error': 'access_denied', 'state': query['state']})}"
        scopes = tuple(each for each in query["scope"].split() if each not in unticked)
        code = f"4/{secrets.token_urlsafe(20)}"
        is_offline = query.get("access_type") == "offline"
        self.codes[code] = Code(email, scopes, query["code_challenge"], query["redirect_uri"], is_offline)
        return f"{place}?{urlencode({'code': code, 'state': query['state'], 'scope': ' '.join(scopes)})}"

    def show_page(self, request: Request) -> Answer:
        """Show the page on which a person decides, or follow the decision."""
        url = urlsplit(request.path)
        scopes = parse_qs(url.query)["scope"][0].split()
        if request.method == "POST":
            form = request.pairs
            ticked = [value for name, value in form if name == "scope"]
            unticked = [each for each in scopes if each not in ticked]
            declines = ("decision", "cancel") in form
            place = self.decide(request.path, dict(form)["email"], unticked=unticked, declines=declines)
            return Answer(303, b"", {"Location": place})
        boxes = "".join(f'<label><input type="checkbox" name="scope" value="{each}">{each}</label>' for each in scopes)
        buttons = "".join(f'<button name="decision" value="{each}">{each}</button>' for each in ("continue", "cancel"))
        address = '<label>Email <input name="email"></label>'
        form_text = f'<form method="post" action="{escape(request.path)}">{address}{boxes}{buttons}</form>'
        page = f"<!doctype html><title>Google</title><h1>Openslot wants access</h1>{form_text}"
        return Answer(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"})

    def allow(self, email: str, *scopes: str) -> str:
        """Give an access token without any page."""
        refresh_token = f"1//{secrets.token_urlsafe(30)}"
        self.grants[refresh_token] = Granted(email, scopes, self.clock())
        return str(json.loads(self._give(refresh_token).body)["access_token"])

    def revoke(self, email: str) -> None:
        """Remove the access, as a person does on the page of their account."""
        for each in self.grants.values():
            each.is_revoked = each.is_revoked or each.email == email
        self.accesses = {token: each for token, each in self.accesses.items() if each.email != email}

    def end_access_tokens(self) -> None:
        """End all access tokens before their time."""
        self.accesses.clear()

    def find_access(self, token: str) -> Access | None:
        found = self.accesses.get(token)
        return found if found is not None and found.ends_at > self.clock() else None

    def answer(self, request: Request) -> Answer:
        """Give tokens, or refuse."""
        form = dict(request.pairs)
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return _refuse("invalid_client", 401)
        if form.get("grant_type") == "authorization_code":
            return self._exchange(form)
        if form.get("grant_type") == "refresh_token":
            return self._refresh(form.get("refresh_token", ""))
        return _refuse("unsupported_grant_type")

    def _exchange(self, form: dict[str, str]) -> Answer:
        code = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if code is None or challenge.decode().rstrip("=") != code.challenge:
            return _refuse("invalid_grant")
        if form.get("redirect_uri") != code.redirect_uri:
            return _refuse("redirect_uri_mismatch")
        refresh_token = f"1//{secrets.token_urlsafe(30)}"
        self.grants[refresh_token] = Granted(code.email, code.scopes, self.clock())
        return self._give(refresh_token, shows_it=code.is_offline)

    def _refresh(self, refresh_token: str) -> Answer:
        self.refreshes += 1
        granted = self.grants.get(refresh_token)
        if granted is None or granted.is_revoked:
            return _refuse("invalid_grant")
        if self.is_testing and self.clock() - granted.made_at > TESTING_LASTS:
            return _refuse("invalid_grant")
        if not self.rotates:
            return self._give(refresh_token)
        del self.grants[refresh_token]
        following = f"1//{secrets.token_urlsafe(30)}"
        self.grants[following] = granted
        return self._give(following, shows_it=True)

    def _give(self, refresh_token: str, *, shows_it: bool = False) -> Answer:
        granted = self.grants[refresh_token]
        token = f"ya29.{secrets.token_urlsafe(30)}"
        self.accesses[token] = Access(granted.email, granted.scopes, refresh_token, self.clock() + ACCESS_LASTS)
        body = {"access_token": token, "expires_in": 3599, "scope": " ".join(granted.scopes), "token_type": "Bearer"}
        return _write(200, {**body, "refresh_token": refresh_token} if shows_it else body)


def _refuse(error: str, status: int = 400) -> Answer:
    return _write(status, {"error": error, "error_description": "Bad Request"})


def _write(status: int, body: object) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
