"""A program asks, the host allows, and the program acts for the host until that ends."""

from urllib.parse import quote

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import AssistantPolicy, User
from openslot.domains.accounts.organizations.operations import add_organization, change_organization_settings
from openslot.domains.people import operations as people
from openslot.doors.assistants.calls.operations import TOOLS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import (
    ISSUER,
    REDIRECT,
    RESOURCE,
    ask,
    call,
    call_of,
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
from tests.support.page import read_page
from tests.support.passwords import PASSWORD


async def test_a_program_is_told_where_to_get_a_token(client: httpx2.AsyncClient) -> None:
    refused = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    metadata = f"{ISSUER}/.well-known/oauth-protected-resource/mcp"

    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == (
        f'Bearer resource_metadata="{metadata}", scope="bookings:read contacts:read event_types:read"'
    )
    unknown = await client.post("/mcp", json={}, headers={"Authorization": "Bearer svc_unknown"})
    other = await client.post("/mcp", json={}, headers={"Authorization": "Basic dTpw"})
    assert unknown.headers["www-authenticate"] == (
        f'Bearer error="invalid_token", resource_metadata="{metadata}", '
        'scope="bookings:read contacts:read event_types:read"'
    )
    assert other.headers["www-authenticate"] == refused.headers["www-authenticate"]
    for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
        described = (await client.get(path)).json()
        assert described["resource"] == RESOURCE
        assert described["authorization_servers"] == [ISSUER]
        assert "offline_access" not in described["scopes_supported"]


async def test_the_server_describes_what_it_can_do(client: httpx2.AsyncClient) -> None:
    described = (await client.get("/.well-known/oauth-authorization-server")).json()

    assert described["issuer"] == ISSUER
    assert described["code_challenge_methods_supported"] == ["S256"]
    assert described["response_types_supported"] == ["code"]
    assert described["token_endpoint_auth_methods_supported"] == ["none"]
    assert described["authorization_response_iss_parameter_supported"] is True
    assert described["client_id_metadata_document_supported"] is True
    for name in ("authorization", "token", "registration", "revocation"):
        assert described[f"{name}_endpoint"].startswith(f"{ISSUER}/oauth/")
    assert (await client.get("/.well-known/openid-configuration")).status_code == 404


async def test_a_connected_assistant_lists_the_hosts_bookings(member: httpx2.AsyncClient, user: User) -> None:
    _, tokens = await connect(member)
    listed = await call(member, tokens.access_token)
    found = await call(member, tokens.access_token, call_of("list_event_types"))
    free = await call(
        member, tokens.access_token, call_of("get_availability", eventType="30min", timezone="Europe/Berlin")
    )

    assert tokens.expires_in == 3600
    assert [tool["name"] for tool in listed.json()["result"]["tools"]] == [tool.name for tool in TOOLS]
    assert [each["slug"] for each in found.json()["result"]["structuredContent"]["data"]] == ["30min"]
    assert free.json()["result"]["structuredContent"]["data"]


async def test_the_page_says_who_asks_for_what_and_where_it_leads(member: httpx2.AsyncClient) -> None:
    shown = await member.get(ask(await register(member, name="Calendar Helper")))
    text = read_page(shown).text

    for words in (
        "Connect “Calendar Helper”?",
        "mara@lindqvist.example",
        "assistant.example",
        "This program chose its name itself. Nobody has checked it.",
        "Create, reschedule and cancel bookings",
        "ends 30 days after its last use",
    ):
        assert words in text
    policy = shown.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://assistant.example;" in policy


async def test_the_host_chooses_what_is_allowed(member: httpx2.AsyncClient) -> None:
    client_id = await register(member)
    code = await get_code(member, client_id, allow=["contacts:write"])
    tokens = read_tokens(await redeem(member, client_id, code))

    assert tokens.scope == "contacts:read contacts:write"
    assert tokens.refresh_token == ""


async def test_nothing_that_was_not_asked_for_can_be_allowed(member: httpx2.AsyncClient) -> None:
    client_id = await register(member)
    allow = ["bookings:read", "bookings:write", "offline_access", "nonsense"]
    code = await get_code(member, client_id, scope="bookings:read", allow=allow)

    assert read_tokens(await redeem(member, client_id, code)).scope == "bookings:read"


async def test_a_host_who_refuses_is_sent_back_without_a_code(member: httpx2.AsyncClient) -> None:
    answer = await decide(member, ask(await register(member)), decision="deny")

    assert answer.headers["location"].startswith(f"{REDIRECT}?")
    assert read_return(answer) == {"error": "access_denied", "state": "the state & more", "iss": ISSUER}


async def test_who_is_not_signed_in_signs_in_first_and_comes_back(client: httpx2.AsyncClient, user: User) -> None:
    address = ask(await register(client), state="x" * 1500)
    first = await client.get(address)
    signed_in = await client.post(
        "/login", data={"email": user.email, "password": PASSWORD, "next": "/oauth/authorize"}, timeout=60
    )
    again = await client.get(signed_in.headers["location"])
    shown = await client.get(again.headers["location"])

    assert first.headers["location"] == f"/login?next={quote('/oauth/authorize')}"
    assert shown.status_code == 200
    assert "Connect “" in read_page(shown).text
    assert f'name="state" value="{"x" * 1500}"' in shown.text


async def test_without_a_token_in_the_form_nothing_is_allowed(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    address = ask(await register(member))
    del member.headers["x-csrf-token"]
    fields = dict(httpx2.URL(f"http://x{address}").params)
    answer = await member.post("/oauth/authorize", data={**fields, "allow": "bookings:read", "decision": "allow"})

    assert answer.status_code == 403
    assert await runtime.pool.fetchval("select count(*) from assistant_codes") == 0


async def test_refreshing_replaces_both_tokens(member: httpx2.AsyncClient, clock: MovingClock) -> None:
    client_id, first = await connect(member)
    clock.pass_time(hours=1, seconds=1)
    expired = await call(member, first.access_token)
    second = read_tokens(await refresh(member, client_id, first.refresh_token, resource=RESOURCE))

    assert expired.status_code == 401
    assert second.refresh_token != first.refresh_token
    assert second.scope == first.scope
    assert (await call(member, second.access_token)).status_code == 200


async def test_a_connection_that_is_not_used_ends(member: httpx2.AsyncClient, clock: MovingClock) -> None:
    client_id, tokens = await connect(member)
    clock.pass_time(days=30, seconds=1)

    assert (await refresh(member, client_id, tokens.refresh_token)).json()["error"] == "invalid_grant"


async def test_without_offline_access_there_is_an_hour(member: httpx2.AsyncClient, clock: MovingClock) -> None:
    _, tokens = await connect(member, scope="bookings:read")
    assert tokens.refresh_token == ""
    clock.pass_time(hours=1)

    assert (await call(member, tokens.access_token)).status_code == 401


async def test_a_tool_whose_scope_is_missing_asks_for_it(member: httpx2.AsyncClient) -> None:
    client_id, tokens = await connect(member, scope="bookings:read")
    refused = await call(member, tokens.access_token, call_of("list_contacts"))
    more = await connect(member, client_id, scope="bookings:read contacts:read")

    assert refused.status_code == 403
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    assert 'scope="contacts:read"' in refused.headers["www-authenticate"]
    assert refused.json()["error"]["data"] == {"reason": "insufficient_scope"}
    assert (await call(member, more[1].access_token, call_of("list_contacts"))).status_code == 200
    assert (await call(member, tokens.access_token)).status_code == 200


async def test_a_token_can_be_given_back(member: httpx2.AsyncClient) -> None:
    for of in ("access_token", "refresh_token"):
        client_id, tokens = await connect(member)
        sent = {"token": getattr(tokens, of), "client_id": client_id}
        assert (await member.post("/oauth/revoke", data={**sent, "client_id": "another"})).status_code == 200
        assert (await call(member, tokens.access_token)).status_code == 200
        assert (await member.post("/oauth/revoke", data=sent)).status_code == 200
        assert (await call(member, tokens.access_token)).status_code == 401
        assert (await refresh(member, client_id, tokens.refresh_token)).json()["error"] == "invalid_grant"
    assert (await member.post("/oauth/revoke", data={"token": "unknown"})).status_code == 200


async def test_the_account_lists_assistants_and_disconnects_them(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    empty = read_page(await member.get("/account")).text
    client_id, tokens = await connect(member)
    await call(member, tokens.access_token)
    listed = read_page(await member.get("/account")).text
    grant_id = await runtime.pool.fetchval("select id from assistant_grants")
    asked = await member.get(f"/account/assistants/{grant_id}/disconnect")
    done = await member.post(f"/account/assistants/{grant_id}/disconnect")

    assert RESOURCE in empty
    assert "Helper" in listed
    assert "See your contacts" in listed
    assert "Disconnect “Helper”?" in read_page(asked).text
    assert done.headers["location"] == "/account?done=disconnected"
    assert (await call(member, tokens.access_token)).status_code == 401
    assert (await refresh(member, client_id, tokens.refresh_token)).status_code == 400
    assert "Helper" not in read_page(await member.get("/account")).text
    events = await runtime.pool.fetch("select type from events where type like 'assistant.%' order by id")
    assert [row["type"] for row in events] == ["assistant.connected", "assistant.disconnected"]


async def test_nobody_else_can_disconnect_an_assistant(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    _, tokens = await connect(member)
    grant_id = await runtime.pool.fetchval("select id from assistant_grants")
    async with runtime.transaction(OPERATOR) as work:
        session = await access.begin_session(work, stranger, user_agent="test")
    shown = await member.get(
        f"/account/assistants/{grant_id}/disconnect", headers={"cookie": f"openslot_session={session}"}
    )

    assert shown.status_code == 404
    assert (await call(member, tokens.access_token)).status_code == 200


@pytest.mark.parametrize("end", ["disable", "delete row"])
async def test_the_assistant_of_a_closed_account_ends_with_the_next_call(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, end: str
) -> None:
    client_id, tokens = await connect(member)
    code = await get_code(member, client_id)
    if end == "disable":
        async with runtime.transaction(OPERATOR) as work:
            await people.disable_user(work, user)
    else:
        await runtime.pool.execute("delete from users where id = $1", user.id)

    assert (await call(member, tokens.access_token)).status_code == 401
    assert (await refresh(member, client_id, tokens.refresh_token)).json()["error"] == "invalid_grant"
    assert (await redeem(member, client_id, code)).json()["error"] == "invalid_grant"


async def test_an_organization_can_limit_and_forbid_assistants(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    client_id, tokens = await connect(member)
    async with runtime.transaction(OPERATOR) as work:
        harbor = await add_organization(work, name="Harbor", slug="harbor")
        await add_organization_member(work, harbor, user)
        await change_organization_settings(work, harbor, assistants=AssistantPolicy.READ)
    shown = await member.get(ask(client_id))
    assert "Your organization allows assistants to read only" in read_page(shown).text
    limited = read_tokens(await redeem(member, client_id, await get_code(member, client_id)))
    assert limited.scope == "bookings:read contacts:read event_types:read offline_access"
    assert (await call(member, tokens.access_token, call_of("list_contacts"))).status_code == 200

    async with runtime.transaction(OPERATOR) as work:
        await change_organization_settings(work, harbor, assistants=AssistantPolicy.FORBIDDEN)
    refused = await call(member, tokens.access_token)
    page = await member.get(ask(client_id))
    assert refused.status_code == 403
    assert refused.headers["x-error-code"] == "assistants_forbidden"
    assert page.status_code == 400
    assert "Your organization does not allow assistants" in read_page(page).text
    assert "error=access_denied" in page.text


async def test_no_plan_is_needed(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("update users set plan = 'FREE' where id = $1", user.id)
    _, tokens = await connect(member)

    assert (await call(member, tokens.access_token, call_of("list_bookings"))).status_code == 200
