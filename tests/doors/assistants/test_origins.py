"""Pages that call the tool servers and the endpoints of OAuth from a browser: who may, and what they can read."""

import json

import httpx2
import pytest
from msgspec.structs import replace
from playwright.async_api import Browser

from openslot.app import create_app
from openslot.platform.core.config import Settings
from tests.doors.assistants.support import LIST_TOOLS, REDIRECT, call, connect
from tests.support.clocks import MovingClock
from tests.support.live import connect as connect_to
from tests.support.live import serving
from tests.support.peers import serve

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
ASK = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,mcp-protocol-version"}
OPEN = ("https://claude.ai", "https://claude.com", "https://chatgpt.com", "http://localhost:6274", "http://[::1]:6274")
CLOSED = (
    "null",
    "",
    "https://evil.example",
    "http://claude.ai",
    "https://claude.ai:444",
    "https://claude.ai.evil.example",
    "https://evil.example/https://claude.ai",
    "https://evilclaude.ai",
    "https://sub.chatgpt.com",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example:80",
    "http://localhost@evil.example",
    "file://",
    "http://[",
)


@pytest.mark.parametrize("origin", OPEN)
async def test_pages_of_assistants_and_of_this_computer_may_call(member: httpx2.AsyncClient, origin: str) -> None:
    _, tokens = await connect(member)
    asked = await member.options("/mcp", headers={"origin": origin, **ASK})
    unknown = await member.post("/mcp", json=LIST_TOOLS, headers={"origin": origin})
    bearer = {"authorization": f"Bearer {tokens.access_token}"}
    called = await member.post("/mcp", json=LIST_TOOLS, headers={"origin": origin, **bearer})

    assert (asked.status_code, unknown.status_code, called.status_code) == (204, 401, 200)
    allowed = asked.headers["access-control-allow-headers"]
    assert {"Authorization", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"} <= set(allowed.split(", "))
    for answer in (asked, unknown, called):
        assert answer.headers["access-control-allow-origin"] == origin
        assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]
        assert "Origin" in answer.headers["vary"]
        assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("origin", CLOSED)
async def test_pages_of_others_are_refused_whatever_they_send(member: httpx2.AsyncClient, origin: str) -> None:
    _, tokens = await connect(member)
    bearer = {"authorization": f"Bearer {tokens.access_token}"}
    refused = await member.post("/mcp", json=LIST_TOOLS, headers={"origin": origin, **bearer})
    asked = await member.options("/mcp", headers={"origin": origin, **ASK})

    assert refused.status_code == 403
    assert refused.headers["x-error-code"] == "origin_not_allowed"
    for answer in (refused, asked):
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert (await call(member, tokens.access_token)).status_code == 200


async def test_the_agents_server_stays_closed_to_them(settings: Settings, clock: MovingClock) -> None:
    named = replace(settings, base_url="https://book.example")
    async with serving(create_app(named, clock=clock)) as base_url, connect_to(base_url) as client:
        for origin in OPEN:
            headers = {"host": "book.example", "origin": origin}
            refused = await client.post("/api/admin/agent-mcp", json=LIST_TOOLS, headers=headers)
            assert (refused.status_code, refused.headers["x-error-code"]) == (403, "origin_not_allowed")
            assert not [name for name in refused.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("POST", "/oauth/register"),
        ("POST", "/oauth/token"),
        ("POST", "/oauth/revoke"),
    ],
)
async def test_every_page_may_ask_what_programs_need_before_they_have_a_token(
    client: httpx2.AsyncClient, method: str, path: str
) -> None:
    headers = {"origin": "https://any.example"}
    asked = await client.options(path, headers={**headers, **ASK})
    answer = await client.request(method, path, headers=headers)

    assert asked.status_code == 204
    assert "MCP-Protocol-Version" in asked.headers["access-control-allow-headers"]
    for each in (asked, answer):
        assert each.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in each.headers
    shown = await client.options("/oauth/authorize", headers={**headers, **ASK})
    assert not [name for name in shown.headers if name.startswith("access-control")]


FLOW = """async ([base, redirect]) => {
  const mcp = {method: "POST", headers: {"content-type": "application/json", "mcp-protocol-version": "2025-11-25",
    "authorization": "Bearer wrong"}, body: JSON.stringify({jsonrpc: "2.0", id: 1, method: "tools/list"})};
  const refused = await fetch(base + "/mcp", mcp);
  const challenge = refused.headers.get("www-authenticate");
  const resource = await (await fetch(/resource_metadata="([^"]+)"/.exec(challenge)[1].replace(/^http:..[^/]+/, base),
    {headers: {"mcp-protocol-version": "2025-11-25"}})).json();
  const server = await (await fetch(base + "/.well-known/oauth-authorization-server",
    {headers: {"mcp-protocol-version": "2025-11-25"}})).json();
  const registered = await (await fetch(base + "/oauth/register", {method: "POST",
    headers: {"content-type": "application/json"}, body: JSON.stringify({redirect_uris: [redirect]})})).json();
  const token = await (await fetch(base + "/oauth/token", {method: "POST",
    body: new URLSearchParams({grant_type: "authorization_code", client_id: registered.client_id, code: "x"})})).json();
  const open = await (await fetch(base + "/mcp/public", {...mcp, headers: {"content-type": "application/json",
    "mcp-protocol-version": "2025-11-25"}})).json();
  return {status: refused.status, challenge, resource, server, token, tools: open.result.tools.length};
}"""


async def test_a_page_in_a_browser_reads_what_it_needs(browser: Browser, client: httpx2.AsyncClient) -> None:
    base = str(client.base_url).rstrip("/")
    async with serve(PAGE) as inspector:
        page = await browser.new_page()
        await page.goto(f"http://127.0.0.1:{inspector.port}/")
        found = await page.evaluate(FLOW, [base, REDIRECT])
        await page.close()

    assert found["status"] == 401
    assert 'scope="bookings:read' in found["challenge"]
    assert found["resource"]["authorization_servers"] == [found["server"]["issuer"]]
    assert found["token"]["error"] == "invalid_grant", json.dumps(found)
    assert found["tools"] == 9
