"""A program that asks a signed-in host for a connection, step by step, honestly or not."""

import base64
import hashlib
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from msgspec import Struct

from tests.support.agent import TestAgent

ISSUER = "http://127.0.0.1:8000"
RESOURCE = f"{ISSUER}/mcp"
REDIRECT = "https://assistant.example/callback"
VERIFIER = "a-verifier-of-at-least-forty-three-characters-0123456789"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
ALL = "bookings:read bookings:write event_types:read contacts:read contacts:write offline_access"
HIDDEN = re.compile(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)">')
ALLOWED = re.compile(r'name="allow" value="([a-z_:]+)"')
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Tokens(Struct, frozen=True, kw_only=True):
    access_token: str
    token_type: str
    expires_in: int
    scope: str
    refresh_token: str = ""


async def register(client: httpx2.AsyncClient, *uris: str, name: str = "Helper", **more: object) -> str:
    """Register a program and return its id."""
    body = {"redirect_uris": list(uris or (REDIRECT,)), "client_name": name, **more}
    answer = await client.post("/oauth/register", json=body)
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["client_id"]
    return found


def ask(client_id: str, **changed: str | None) -> str:
    """Write the address at which a program asks for a connection."""
    given: dict[str, Any] = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": REDIRECT,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "scope": ALL,
        "state": "the state & more",
        "resource": RESOURCE,
        **changed,
    }
    return "/oauth/authorize?" + urlencode({name: value for name, value in given.items() if value is not None})


async def decide(
    member: httpx2.AsyncClient, address: str, *, decision: str = "allow", allow: list[str] | None = None
) -> httpx2.Response:
    """Look at the page and answer it as a browser does."""
    shown = await member.get(address)
    assert shown.status_code == 200, shown.text
    fields: dict[str, Any] = {name: unescape(value) for name, value in HIDDEN.findall(shown.text)}
    offered = ALLOWED.findall(shown.text)
    return await member.post(
        "/oauth/authorize", data={**fields, "allow": offered if allow is None else allow, "decision": decision}
    )


def read_return(answer: httpx2.Response) -> dict[str, str]:
    """Read with what a user is sent back."""
    assert answer.status_code == 303, answer.text
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


async def get_code(
    member: httpx2.AsyncClient, client_id: str, *, allow: list[str] | None = None, **changed: Any
) -> str:
    """Let the host allow a connection and return the code."""
    return read_return(await decide(member, ask(client_id, **changed), allow=allow))["code"]


async def redeem(client: httpx2.AsyncClient, client_id: str, code: str, **changed: str) -> httpx2.Response:
    """Exchange a code."""
    sent = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        "resource": RESOURCE,
        **changed,
    }
    return await client.post("/oauth/token", data=sent)


async def refresh(client: httpx2.AsyncClient, client_id: str, token: str, **changed: str) -> httpx2.Response:
    """Exchange a refresh token."""
    sent = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token, **changed}
    return await client.post("/oauth/token", data=sent)


def read_tokens(answer: httpx2.Response) -> Tokens:
    assert answer.status_code == 200, answer.text
    return Tokens(**answer.json())


async def connect(member: httpx2.AsyncClient, client_id: str | None = None, *, scope: str = ALL) -> tuple[str, Tokens]:
    """Connect a program from its registration to its tokens."""
    client_id = client_id or await register(member)
    code = await get_code(member, client_id, scope=scope)
    return client_id, read_tokens(await redeem(member, client_id, code))


async def call(client: httpx2.AsyncClient, token: str, message: object = LIST_TOOLS) -> httpx2.Response:
    """Send a message to the tool server."""
    return await client.post("/mcp", json=message, headers={"authorization": f"Bearer {token}"})


def call_of(name: str, **arguments: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


class ConnectedAssistant(TestAgent):
    """An assistant that a host has connected."""

    path = "/mcp"

    async def refusal(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must refuse, and return its error."""
        answer = await self.call(tool, **arguments)
        assert answer["result"]["isError"], answer
        error: dict[str, Any] = answer["result"]["structuredContent"]["error"]
        return error
