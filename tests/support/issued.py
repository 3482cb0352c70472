"""One credential of every kind, and every wrong use of it that a log or an answer might repeat."""

import base64
import hashlib
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

import httpx2

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.doors.oauth import operations as assistants
from openslot.doors.oauth.clients import register
from openslot.doors.oauth.models import TokenRequest
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime, Work
from tests.support.passwords import PASSWORD

GRANTS = (
    ("code", {"grant_type": "authorization_code", "client_id": "https://a.example/c"}),
    ("refresh_token", {"grant_type": "refresh_token", "client_id": "https://a.example/c"}),
)


async def issue(runtime: Runtime, user: User) -> dict[str, str]:
    """Issue one credential of every kind."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Org", slug="org", plan=Plan.BUSINESS)
        code, waiting = [await allow_assistant(work, user) for _ in range(2)]
    tokens = await assistants.issue(runtime.work(PUBLIC), code)
    async with runtime.transaction(OPERATOR) as work:
        return {
            "access token of an assistant": tokens.access_token,
            "refresh token of an assistant": tokens.refresh_token or "",
            "code of an assistant": code.code,
            "code of an assistant that waits": waiting.code,
            "api key": (await access.create_api_key(work, user, name="k"))[0],
            "scim token": (await access.create_scim_token(work, organization, name="t"))[0],
            "agent key": (await access.create_agent_key(work, "support", name="a"))[0],
            "session": await access.begin_session(work, user, user_agent="test"),
            "password": PASSWORD,
        }


async def allow_assistant(work: Work, user: User) -> TokenRequest:
    """Let a program ask, and allow it; return what it sends for its tokens."""
    verifier, back = "v" * 43, "https://assistant.example/callback"
    client = await register(work, b'{"redirect_uris": ["https://assistant.example/callback"]}')
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    given = {"response_type": "code", "redirect_uri": back, "code_challenge": challenge}
    scopes = {"code_challenge_method": "S256", "scope": "bookings:read offline_access"}
    asked = assistants.read_request(work.runtime.settings, client, {**given, **scopes})
    code = parse_qs(urlsplit(await assistants.approve(work, user, asked, asked.scopes)).query)["code"][0]
    return TokenRequest(grant_type="authorization_code", client_id=client.id, code=code, code_verifier=verifier)


async def misuse(client: httpx2.AsyncClient, issued: Mapping[str, str]) -> list[httpx2.Response]:
    """Send each secret where it belongs and where it does not, and return what is answered."""
    secrets = list(issued.values())
    bearers = [{"Authorization": f"Bearer {secret}"} for secret in issued.values()]
    cookie = {"Cookie": f"openslot_session={issued['session']}"}
    form = {"email": "mara@lindqvist.example", "password": issued["password"]}
    return [
        *[
            await client.get(path, headers=headers)
            for path in ("/api/v1/me", "/api/scim/v2/Users")
            for headers in bearers
        ],
        *[await client.get(f"/api/v1/nowhere/{secret}", headers=bearers[0]) for secret in issued.values()],
        *[await client.post("/api/v1/me", json={"key": secret}, headers=bearers[0]) for secret in issued.values()],
        await client.get(f"/api/v1/me?key={issued['api key']}", headers=bearers[0]),
        await client.get("/account", headers=cookie),
        await client.post("/login", data={**form, "email": "nobody@nowhere.example"}),
        await client.get(f"/setup?token={issued['session']}"),
        *[
            await client.post("/mcp", json={"x": secret}, headers=headers)
            for secret, headers in zip(secrets, bearers, strict=True)
        ],
        *[
            await client.post("/oauth/token", data={**sent, name: secret})
            for secret in secrets
            for name, sent in GRANTS
        ],
        *[await client.post("/oauth/revoke", data={"token": secret}) for secret in secrets],
    ]
