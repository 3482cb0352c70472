"""What was issued is found nowhere again: not in the database, not in the logs, not in an answer."""

import asyncio
import base64
import hashlib
import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2

from openslot.access import operations as access
from openslot.accounts.models import User
from openslot.accounts.organizations import add_organization
from openslot.accounts.plans import Plan
from openslot.assistants import operations as assistants
from openslot.assistants.clients import register
from openslot.assistants.models import TokenRequest
from openslot.core.actor import OPERATOR, PUBLIC
from openslot.core.work import Runtime, Work
from tests.support.forked import Forked, openslot
from tests.support.live import connect
from tests.support.passwords import PASSWORD
from tests.support.ports import held_port

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


async def dump(runtime: Runtime) -> str:
    """Write every row of every table as text."""
    tables = await runtime.pool.fetch("select format('%I.%I', schemaname, tablename) as name from pg_tables "
                                    "where schemaname not in ('pg_catalog', 'information_schema')")  # fmt: skip
    rows = [await runtime.pool.fetch(f"select t::text as row from {table['name']} t") for table in tables]
    return "\n".join(row["row"] for each in rows for row in each)


async def test_the_database_holds_no_secret_in_the_clear(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    issued = await issue(runtime, user)
    await client.get("/api/v1/me", headers={"Authorization": f"Bearer {issued['api key']}"})
    await client.get("/account", headers={"Cookie": f"openslot_session={issued['session']}"})
    written = await dump(runtime)

    assert user.email in written
    for kind, secret in issued.items():
        assert secret not in written, kind
        assert secret.encode().hex() not in written, kind


async def test_the_most_talkative_logs_hold_no_secret(runtime: Runtime, user: User, tmp_path: Path) -> None:
    issued = await issue(runtime, user)
    environment = {
        **os.environ,
        "DATABASE_URL": runtime.settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(tmp_path),
        "OPENSLOT_LOG_LEVEL": "debug",
    }
    out, err = tmp_path / "out", tmp_path / "err"
    with held_port() as port:
        server = Forked(openslot, "web", "--port", str(port), environment=environment, out=out, err=err)
        async with connect(f"http://127.0.0.1:{port}") as client:
            answers = await _use_everything(client, issued)
        server.terminate()
        assert await asyncio.to_thread(server.wait, 60) == 0
    logs = out.read_text() + err.read_text()

    assert '"route": "/api/v1/me"' in logs
    for kind, secret in issued.items():
        assert secret not in logs, kind
        assert not [answer for answer in answers if secret in answer.text + str(answer.headers)], kind


async def _use_everything(client: httpx2.AsyncClient, issued: dict[str, str]) -> list[httpx2.Response]:
    for _ in range(1200):
        try:
            await client.get("/healthz")
            break
        except httpx2.ConnectError:
            await asyncio.sleep(0.05)
    secrets = list(issued.values())
    bearers = [{"Authorization": f"Bearer {secret}"} for secret in issued.values()]
    cookie = {"Cookie": f"openslot_session={issued['session']}"}
    form = {"email": "mara@lindqvist.example", "password": issued["password"]}
    return [
        *[await client.get("/api/v1/me", headers=headers) for headers in bearers],
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
