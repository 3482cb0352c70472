"""Attacks on the authorization server: each is refused, and what was copied is worth nothing."""

from urllib.parse import quote, urlencode

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.access.models import CredentialKind, new_key
from openslot.doors.oauth.rules import is_proven
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import (
    ALL,
    CHALLENGE,
    ISSUER,
    REDIRECT,
    RESOURCE,
    VERIFIER,
    ask,
    call,
    connect,
    decide,
    get_code,
    read_return,
    read_tokens,
    redeem,
    refresh,
    register,
)
from tests.support.clocks import MovingClock
from tests.support.live import connect as connect_to
from tests.support.live import serving
from tests.support.page import read_page


@given(st.text(max_size=150))
def test_only_the_verifier_itself_proves(text: str) -> None:
    assert is_proven(CHALLENGE, VERIFIER)
    assert not is_proven(CHALLENGE, text)


async def test_a_code_is_good_for_once_and_its_second_use_ends_the_connection(member: httpx2.AsyncClient) -> None:
    client_id = await register(member)
    code = await get_code(member, client_id)
    tokens = read_tokens(await redeem(member, client_id, code))
    assert (await call(member, tokens.access_token)).status_code == 200
    again = await redeem(member, client_id, code)

    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert (await call(member, tokens.access_token)).status_code == 401
    assert (await refresh(member, client_id, tokens.refresh_token)).json()["error"] == "invalid_grant"


async def test_a_code_is_good_for_a_minute(member: httpx2.AsyncClient, clock: MovingClock) -> None:
    client_id = await register(member)
    codes = [await get_code(member, client_id) for _ in range(2)]
    clock.pass_time(seconds=59)
    assert (await redeem(member, client_id, codes[0])).status_code == 200
    clock.pass_time(seconds=1)

    assert (await redeem(member, client_id, codes[1])).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    "changed",
    [
        {"code_verifier": "another-verifier-of-at-least-forty-three-characters-01"},
        {"code_verifier": ""},
        {"code_verifier": CHALLENGE},
        {"redirect_uri": "https://assistant.example/other"},
        {"redirect_uri": "https://evil.example/callback"},
        {"client_id": "another"},
    ],
)
async def test_a_copied_code_is_worth_nothing(member: httpx2.AsyncClient, changed: dict[str, str]) -> None:
    client_id = await register(member)
    code = await get_code(member, client_id)
    thief = await register(member) if changed.pop("client_id", None) else client_id
    stolen = await redeem(member, thief, code, **changed)

    assert (stolen.status_code, stolen.json()["error"]) == (400, "invalid_grant")
    assert (await redeem(member, client_id, code)).json()["error"] == "invalid_grant"


async def test_a_copied_refresh_token_ends_the_connection(member: httpx2.AsyncClient) -> None:
    client_id, first = await connect(member)
    second = read_tokens(await refresh(member, client_id, first.refresh_token))
    assert (await call(member, first.access_token)).status_code == 401
    third = read_tokens(await refresh(member, client_id, second.refresh_token))
    copied = await refresh(member, client_id, first.refresh_token)

    assert (copied.status_code, copied.json()["error"]) == (400, "invalid_grant")
    assert (await call(member, third.access_token)).status_code == 401
    assert (await refresh(member, client_id, third.refresh_token)).json()["error"] == "invalid_grant"


async def test_another_program_can_neither_use_nor_end_a_refresh_token(member: httpx2.AsyncClient) -> None:
    client_id, tokens = await connect(member)
    other = await register(member)

    assert (await refresh(member, other, tokens.refresh_token)).json()["error"] == "invalid_grant"
    assert (await call(member, tokens.access_token)).status_code == 200
    assert (await refresh(member, client_id, tokens.refresh_token, scope=f"{ALL} more")).json() == {
        "error": "invalid_scope",
        "error_description": "A refresh can't add scopes. Ask the user again",
    }
    assert (await refresh(member, client_id, tokens.refresh_token)).status_code == 200


async def test_without_a_challenge_nothing_is_allowed(member: httpx2.AsyncClient) -> None:
    client_id = await register(member)
    for changed in (
        {"code_challenge": None},
        {"code_challenge_method": None},
        {"code_challenge_method": "plain", "code_challenge": VERIFIER},
        {"code_challenge": "short"},
        {"code_challenge": f"{CHALLENGE}="},
    ):
        shown = await member.get(ask(client_id, **changed))
        assert shown.status_code == 400
        assert "error=invalid_request" in shown.text
        assert f"iss={quote(ISSUER, safe='')}" in shown.text


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": f"{RESOURCE}/"}, "invalid_target"),
        ({"resource": ISSUER}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"scope": "offline_access"}, "invalid_scope"),
        ({"state": "x" * 2001}, "invalid_request"),
    ],
)
async def test_a_wrong_request_leads_nowhere_by_itself(
    member: httpx2.AsyncClient, changed: dict[str, str | None], error: str
) -> None:
    shown = await member.get(ask(await register(member), **changed))

    assert shown.status_code == 400
    assert "location" not in shown.headers
    assert f"error={error}&" in shown.text.replace("&amp;", "&")


async def test_no_parameter_counts_twice(member: httpx2.AsyncClient) -> None:
    client_id = await register(member)
    for more in ({"redirect_uri": REDIRECT}, {"client_id": "x"}, {"scope": "bookings:read"}, {"resource": RESOURCE}):
        shown = await member.get(f"{ask(client_id)}&{urlencode(more)}")
        assert shown.status_code == 400
        assert "location" not in shown.headers
    code = await get_code(member, client_id)
    sent = await member.post(
        "/oauth/token",
        content=urlencode([("grant_type", "authorization_code"), ("code", code), ("code", code)]),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert (sent.status_code, sent.json()["error"]) == (400, "invalid_request")


async def test_every_answer_names_its_issuer(member: httpx2.AsyncClient) -> None:
    client_id = await register(member, "https://assistant.example/callback?kept=1")
    address = ask(client_id, redirect_uri="https://assistant.example/callback?kept=1")
    for decision in ("allow", "deny"):
        back = read_return(await decide(member, address, decision=decision))
        assert back["iss"] == ISSUER
        assert back["kept"] == "1"
        assert back["state"] == "the state & more"


async def test_a_token_of_another_installation_opens_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, settings: Settings, clock: MovingClock
) -> None:
    client_id, tokens = await connect(member)
    code = await get_code(member, client_id)
    copied = replace(settings, base_url="https://copy.example")
    async with serving(create_app(copied, clock=clock)) as base_url, connect_to(base_url) as copy:
        refused = await call(copy, tokens.access_token)
        refreshed = await refresh(copy, client_id, tokens.refresh_token)
        redeemed = await redeem(copy, client_id, code, resource="https://copy.example/mcp")
        aimed = await redeem(copy, client_id, code)

    assert refused.status_code == 401
    assert 'resource_metadata="https://copy.example/' in refused.headers["www-authenticate"]
    assert refreshed.json()["error"] == "invalid_grant"
    assert redeemed.json()["error"] == "invalid_target"
    assert aimed.json()["error"] == "invalid_target"
    assert (await call(member, new_key(CredentialKind.ASSISTANT_TOKEN))).status_code == 401
    assert (await call(member, tokens.access_token)).status_code == 200


async def test_a_token_opens_its_own_door_alone(
    member: httpx2.AsyncClient, runtime: Runtime, api_key: str, clock: MovingClock
) -> None:
    _, tokens = await connect(member)
    del member.headers["cookie"]
    for token in (tokens.access_token, tokens.refresh_token):
        bearer = {"authorization": f"Bearer {token}"}
        for method, path in (
            ("GET", "/api/v1/me"),
            ("GET", "/api/scim/v2/Users"),
            ("POST", "/api/admin/agent-mcp"),
        ):
            await runtime.pool.execute("delete from rate_log")
            assert (await member.request(method, path, headers=bearer)).status_code == 401, path
        assert (await member.get("/account", headers=bearer)).status_code == 303
    assert (await call(member, tokens.refresh_token)).status_code == 401
    assert (await call(member, api_key)).status_code == 401
    in_query = await member.post(f"/mcp?access_token={tokens.access_token}", json={})
    assert in_query.status_code == 401


async def test_failures_of_assistants_do_not_block_other_doors_nor_theirs_at_once(
    member: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    _, tokens = await connect(member)
    for _ in range(30):
        assert (await member.post("/mcp", json={})).status_code == 401
    assert (await call(member, tokens.access_token)).status_code == 200
    assert (await member.get("/api/v1/me", headers=bearer)).status_code == 200
    for _ in range(70):
        await member.post("/mcp", json={})

    assert (await member.post("/mcp", json={})).status_code == 429
    assert (await member.get("/api/v1/me", headers=bearer)).status_code == 200


async def test_an_assistant_has_a_limit_of_its_own(
    member: httpx2.AsyncClient, settings: Settings, clock: MovingClock
) -> None:
    client_id, tokens = await connect(member)
    async with (
        serving(create_app(replace(settings, limit_assistant=3), clock=clock)) as base_url,
        connect_to(base_url) as client,
    ):
        found = [(await call(client, tokens.access_token)).status_code for _ in range(4)]
        renewed = read_tokens(await refresh(client, client_id, tokens.refresh_token))
        after = await call(client, renewed.access_token)

    assert found == [200, 200, 200, 429]
    # Another token of the same connection is no way around it.
    assert after.status_code == 429


async def test_a_flood_of_registrations_keeps_nobody_out(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, _ = await connect(member)
    monkeypatch.setattr("openslot.doors.oauth.clients.MAX_REGISTERED", 10)
    await runtime.pool.execute("delete from rate_log")
    made = []
    for _ in range(11):
        clock.pass_time(seconds=1)
        made.append(await member.post("/oauth/register", json={"redirect_uris": [REDIRECT]}))
    rows = await runtime.pool.fetch("select id from assistant_clients order by created_at")

    assert [answer.status_code for answer in made] == [201] * 10 + [429]
    ids = [answer.json()["client_id"] for answer in made[:10]]
    # The oldest that nobody has connected has made room, and who is connected stays.
    assert [row["id"] for row in rows] == [used, *ids[1:]]


async def test_registration_is_closed_while_all_that_have_registered_are_connected(
    member: httpx2.AsyncClient, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect(member)
    monkeypatch.setattr("openslot.doors.oauth.clients.MAX_REGISTERED", 1)
    full = await member.post("/oauth/register", json={"redirect_uris": [REDIRECT]})
    await runtime.pool.execute("update assistant_grants set revoked_at = now()")
    again = await member.post("/oauth/register", json={"redirect_uris": [REDIRECT]})

    assert (full.status_code, full.json()["error"]) == (429, "temporarily_unavailable")
    assert int(full.headers["retry-after"]) > 0
    assert again.status_code == 201
    assert await runtime.pool.fetchval("select count(*) from assistant_clients") == 1


async def test_registration_can_be_switched_off(settings: Settings, clock: MovingClock) -> None:
    async with (
        serving(create_app(replace(settings, assistant_registration=False), clock=clock)) as base_url,
        connect_to(base_url) as client,
    ):
        answer = await client.post("/oauth/register", json={"redirect_uris": [REDIRECT]})
        described = (await client.get("/.well-known/oauth-authorization-server")).json()

    assert answer.status_code == 403
    assert "registration_endpoint" not in described


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff\xfe",
        b'{"redirect_uris": "https://a.example/"}',
        b'{"redirect_uris": []}',
        b'{"redirect_uris": [1]}',
        b'{"redirect_uris": [null]}',
        b'{"redirect_uris": ["https://a.example/\\u0000"]}',
        b"[" * 100_000,
        b'{"redirect_uris": ["https://a.example/"], "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"redirect_uris": [' + b",".join([b'"https://a.example/"'] * 21) + b"]}",
    ],
)
async def test_a_malformed_registration_is_refused(client: httpx2.AsyncClient, body: bytes) -> None:
    answer = await client.post("/oauth/register", content=body, headers={"content-type": "application/json"})

    assert answer.status_code in {400, 413}
    assert answer.json()["error"] in {"invalid_client_metadata", "invalid_redirect_uri", "invalid_request"}


@pytest.mark.parametrize(
    "name", ["", " ", "a\nb", "\u202eevil", 7, None, ["x"], "x" * 5000, "<script>alert(1)</script>"]
)
async def test_a_programs_name_is_shown_as_text(member: httpx2.AsyncClient, name: object) -> None:
    answer = await member.post("/oauth/register", json={"redirect_uris": [REDIRECT], "client_name": name})
    assert answer.status_code == 201
    shown = await member.get(ask(answer.json()["client_id"]))

    assert shown.status_code == 200
    assert "<script>alert" not in shown.text
    assert len(read_page(shown).text) < 3000


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"grant_type": "password", "username": "mara", "password": "x"},
        {"grant_type": "client_credentials"},
        {"grant_type": "authorization_code"},
        {"grant_type": "refresh_token"},
        {"grant_type": "authorization_code", "client_id": "\x00", "code": "x"},
        {"grant_type": "authorization_code", "client_id": "x" * 5000, "code": "x"},
        {"grant_type": "authorization_code", "client_id": "https://a.example/c", "code": "é" * 1000},
        {"grant_type": "refresh_token", "client_id": "https://a.example/c", "refresh_token": "😀" * 10},
    ],
)
async def test_a_malformed_token_request_is_refused(client: httpx2.AsyncClient, sent: dict[str, str]) -> None:
    answer = await client.post("/oauth/token", data=sent)

    assert answer.status_code in {400, 401}
    assert answer.json()["error"] in {"invalid_request", "invalid_client", "invalid_grant", "unsupported_grant_type"}
    assert answer.headers["cache-control"] == "no-store"


async def test_an_unknown_program_is_not_shown_as_one(member: httpx2.AsyncClient) -> None:
    shown = await member.get(ask("unknown"))

    assert shown.status_code == 400
    assert shown.headers["x-error-code"] == "invalid_client"
    assert "assistant.example" not in shown.text
    answer = await redeem(member, "unknown", "x")
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


async def test_what_was_kept_while_somebody_signed_in_can_only_lead_to_our_own_page(
    member: httpx2.AsyncClient,
) -> None:
    member.headers["cookie"] += "; openslot_consent=https://evil.example"
    answer = await member.get("/oauth/authorize")

    assert answer.headers["location"].startswith("/oauth/authorize?")
