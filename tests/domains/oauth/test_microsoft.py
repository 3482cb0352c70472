"""Our client at Microsoft: what it asks for, how scopes are compared, and what a refusal means for the person."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.oauth import client as wire
from openslot.domains.oauth import operations as oauth
from openslot.domains.oauth.models import (
    AdminConsentNeeded,
    CallbackQuery,
    ConsentDeclined,
    InvalidOAuthResponse,
    OAuthClient,
    OAuthUnreachable,
    OAuthVendor,
    find_client,
)
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from tests.support.fake_server import Answer, Request, listening
from tests.support.google_host import in_session

NOW = datetime(2026, 3, 16, 9, tzinfo=UTC)
GIVEN: dict[str, Any] = {"microsoft_client_id": "5c1f8b5e", "microsoft_client_secret": "8Q8~secret"}
CALENDARS = "Calendars.ReadWrite"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, **GIVEN)


class LoginServer:
    """Refuses everything in the words that a test gives it."""

    def __init__(self) -> None:
        self.says: dict[str, object] = {}

    async def serve(self, request: Request) -> Answer:
        return Answer(400, json.dumps(self.says).encode(), {"Content-Type": "application/json"})


@pytest.fixture
async def login() -> AsyncIterator[tuple[LoginServer, OAuthClient]]:
    server = LoginServer()
    async with listening(server.serve) as url:
        yield server, registered(microsoft_login_url=url)


def registered(**settings: str) -> OAuthClient:
    found = find_client(replace(Settings(), **GIVEN, **settings), OAuthVendor.MICROSOFT)
    assert found is not None
    return found


def test_without_a_client_nothing_is_offered() -> None:
    assert find_client(Settings(), OAuthVendor.MICROSOFT) is None
    assert find_client(replace(Settings(), **GIVEN), OAuthVendor.GOOGLE) is None


@pytest.mark.parametrize("tenant", ["common", "organizations", "72f988bf-0000-41af-91ab-2d7cd011db47"])
def test_the_tenant_is_a_part_of_both_addresses(tenant: str) -> None:
    client = registered(microsoft_tenant=tenant)

    place = f"https://login.microsoftonline.com/{tenant}/oauth2/v2.0"
    assert (client.auth_url, client.token_url) == (f"{place}/authorize", f"{place}/token")


def test_the_page_is_asked_for_an_account_and_for_access_that_lasts() -> None:
    url = wire.write_auth_url(Outbound(), registered(), state="a state", verifier="a verifier")

    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert query["scope"].split() == ["offline_access", "User.Read", CALENDARS]
    assert (query["prompt"], query["code_challenge_method"]) == ("select_account", "S256")
    assert query["redirect_uri"].endswith("/connect/microsoft/callback")


@pytest.mark.parametrize(
    ("granted", "missing"),
    [
        (("User.Read", CALENDARS), []),
        ((f"https://graph.microsoft.com/{CALENDARS}", "https://graph.microsoft.com/User.Read", "openid"), []),
        (("user.read", "calendars.readwrite"), []),
        (("User.Read", "Calendars.Read"), [CALENDARS]),
        ((), ["User.Read", CALENDARS]),
    ],
)
def test_scopes_are_compared_by_their_short_names(granted: tuple[str, ...], missing: list[str]) -> None:
    assert [each.scope for each in registered().list_missing(granted)] == missing


@pytest.mark.parametrize(
    ("description", "refusal"),
    [
        ("AADSTS65004: User declined to consent to access the app.", ConsentDeclined),
        ("AADSTS90094: An administrator has set a policy.", AdminConsentNeeded),
        ("AADSTS65001: The user or administrator has not consented.", AdminConsentNeeded),
        ("AADSTS650019: something else", ConsentDeclined),
        ("", ConsentDeclined),
    ],
)
async def test_what_only_an_administrator_can_allow_is_said_plainly(
    runtime: Runtime, user: User, description: str, refusal: type[Exception]
) -> None:
    work = in_session(runtime, user)
    url = await oauth.begin_oauth_consent(work, user, OAuthVendor.MICROSOFT)
    state = parse_qs(urlsplit(url).query)["state"][0]
    answer = CallbackQuery(state=state, error="access_denied", error_description=description)

    with pytest.raises(refusal):
        await oauth.finish_oauth_consent(work, user, OAuthVendor.MICROSOFT, answer)


@pytest.mark.parametrize(
    ("error", "code", "refusal"),
    [
        ("invalid_grant", 65001, AdminConsentNeeded),
        ("consent_required", 90094, AdminConsentNeeded),
        ("invalid_grant", 70008, InvalidOAuthResponse),
        ("invalid_client", 7000215, OAuthUnreachable),
    ],
)
async def test_a_code_that_is_refused(
    login: tuple[LoginServer, OAuthClient], error: str, code: int, refusal: type[Exception]
) -> None:
    server, client = login
    server.says = {"error": error, "error_description": f"AADSTS{code}: no", "error_codes": [code]}
    outbound = Outbound(allow=(ip_network("127.0.0.0/8"),))

    with pytest.raises(refusal) as refused:
        await wire.exchange_code(outbound, client, "a code", verifier="a verifier", now=NOW)
    if isinstance(refused.value, OAuthUnreachable):
        assert refused.value.reason == "Microsoft refuses: invalid_client (AADSTS7000215)"


@pytest.mark.parametrize(
    ("error", "is_final"),
    [("invalid_grant", True), ("interaction_required", True), ("temporarily_unavailable", False)],
)
async def test_a_refresh_token_that_is_refused(
    login: tuple[LoginServer, OAuthClient], error: str, *, is_final: bool
) -> None:
    server, client = login
    server.says = {"error": error, "error_description": "AADSTS50076: no"}
    outbound = Outbound(allow=(ip_network("127.0.0.0/8"),))

    with pytest.raises(wire.GrantRefused if is_final else OAuthUnreachable):
        await wire.refresh_grant(outbound, client, "a token", now=NOW)
