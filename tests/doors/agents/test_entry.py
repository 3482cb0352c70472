"""Who comes in: an agent's own active key, from a request that is meant for us, within its limit."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.access.models import CredentialKind, new_key
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.agents.conftest import Connect
from tests.support.agent import PATH, TestAgent, make_key
from tests.support.live import connect, serving

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def ping(client: httpx2.AsyncClient, authorization: str | None, **headers: str) -> httpx2.Response:
    """Send a ping with this credential."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if authorization is not None:
        sent["Authorization"] = authorization
    return await client.post(PATH, json=PING, headers=sent)


@pytest.fixture
async def patient(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server that forgives many failed authentications."""
    app = create_app(replace(settings, limit_failed_auth=1000))
    async with serving(app) as base_url, connect(base_url) as opened:
        yield opened


async def test_malformed_unknown_and_inactive_keys_look_alike(patient: httpx2.AsyncClient, runtime: Runtime) -> None:
    key = await make_key(runtime, "support")
    revoked, expired = await make_key(runtime, "support"), await make_key(runtime, "support")
    await runtime.pool.execute(
        "update agent_keys set revoked_at = now() where last_four = $1 and hash = sha256($2)",
        revoked[-4:],
        revoked.encode(),
    )
    await runtime.pool.execute("update agent_keys set expires_at = now() where hash = sha256($1)", expired.encode())
    bad = [
        None,
        "",
        "Bearer",
        "Bearer x",
        f"Basic {key}",
        f"Bearer {key[:-1]}",
        f"Bearer {key.upper()}",
        f"Bearer {key.replace('support', 'nobody')}",
        f"Bearer {key.replace('support', 'cto')}",
        f"Bearer {new_key(CredentialKind.AGENT_KEY, agent='support')}",
        f"Bearer {revoked}",
        f"Bearer {expired}",
    ]
    answers = [await ping(patient, each) for each in bad]

    assert {(each.status_code, each.content, each.headers["www-authenticate"]) for each in answers} == {
        (401, answers[0].content, "Bearer")
    }
    assert answers[0].json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": -32010,
            "message": "Missing or invalid credentials",
            "data": {"reason": "unauthorized"},
        },
    }
    assert (await ping(patient, f"Bearer {key}")).status_code == 200


async def test_the_name_in_a_key_is_its_agents(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    key = await make_key(runtime, "seo")
    await runtime.pool.execute("update agent_keys set agent = 'orchestrator'")

    assert (await ping(client, f"Bearer {key}")).status_code == 401


async def test_failed_authentications_are_counted_with_those_of_other_doors(
    client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    key = await make_key(runtime, "support")
    statuses = [(await ping(client, "Bearer x")).status_code for _ in range(3)]
    statuses += [(await client.get("/api/v1/me")).status_code for _ in range(2)]
    blocked = await ping(client, f"Bearer {key}")

    assert statuses == [401] * 5
    assert (blocked.status_code, blocked.json()["error"]["code"]) == (429, -32015)
    assert blocked.json()["error"]["data"]["retryAfterSeconds"] == int(blocked.headers["retry-after"])


async def test_a_key_has_its_limit_and_what_is_over_it_is_recorded(settings: Settings, runtime: Runtime) -> None:
    key = await make_key(runtime, "data")
    app = create_app(replace(settings, limit_agent=3))
    async with serving(app) as base_url, connect(base_url) as client:
        answers = [await ping(client, f"Bearer {key}") for _ in range(4)]

    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert answers[3].json()["error"]["code"] == -32015
    assert int(answers[3].headers["retry-after"]) >= 1
    assert answers[0].headers["ratelimit-remaining"] == "2"
    assert {tuple(answer.headers.get_list("ratelimit-limit")) for answer in answers} == {("3",)}
    rows = await runtime.pool.fetch("select agent, tool, status, error_code from agent_calls")
    assert [tuple(row.values()) for row in rows] == [("data", None, "denied_rate", -32015)]


async def test_each_message_of_a_batch_counts(settings: Settings, runtime: Runtime) -> None:
    agent = await make_key(runtime, "data")
    app = create_app(replace(settings, limit_agent=3))
    async with serving(app) as base_url, connect(base_url) as client:
        answer = await TestAgent(client, agent).post([PING] * 5, MCP_Protocol_Version="2025-03-26")

    assert [each.get("error", {}).get("code") for each in answer.json()] == [None, None, None, -32015, -32015]


async def test_a_hundred_and_twenty_is_the_default() -> None:
    assert Settings().limit_agent == 120


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Origin": "http://localhost:6274"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Host": "192.168.1.5:8000"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
    ],
)
async def test_requests_from_and_to_other_sites_are_refused(
    orchestrator: TestAgent, headers: dict[str, str], status: int
) -> None:
    answer = await orchestrator.post(PING, **headers)

    assert answer.status_code == status
    if status == 403:
        assert answer.json()["error"]["data"]["reason"] == "origin_not_allowed"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "cal.example"}, 200),
        ({"Host": "cal.example", "Origin": "https://cal.example"}, 200),
        ({"Host": "127.0.0.1:8000"}, 200),
        ({"Host": "192.168.1.5"}, 403),
        ({"Host": "cal.example", "Origin": "http://cal.example"}, 403),
        ({"Host": "cal.example", "Origin": "http://localhost"}, 403),
        ({"Host": "cal.example", "Origin": "https://cal.example.evil.example"}, 403),
    ],
)
async def test_with_a_public_name_only_that_is_ours(
    settings: Settings, runtime: Runtime, headers: dict[str, str], status: int
) -> None:
    key = await make_key(runtime, "seo")
    async with serving(create_app(replace(settings, base_url="https://cal.example"))) as url, connect(url) as client:
        assert (await ping(client, f"Bearer {key}", **headers)).status_code == status


async def test_foreign_and_large_requests_are_refused_before_their_key_is_looked_at(
    client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    foreign = [await ping(client, "Bearer x", Origin="https://evil.example") for _ in range(6)]
    large = [await client.post(PATH, content=b"x" * 300_000) for _ in range(6)]

    assert [each.status_code for each in foreign + large] == [403] * 6 + [413] * 6
    assert large[0].json()["error"]["code"] == -32600
    assert await runtime.pool.fetchval("select count(*) from rate_log") == 0


async def test_a_malformed_key_costs_no_look_up(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await work.db.execute("lock table agent_keys in access exclusive mode")

        assert (await ping(client, "Bearer svc_agent_support_x")).status_code == 401


@pytest.mark.parametrize("media", ["text/plain", "application/json-seq", ""])
async def test_other_media_types_are_refused(orchestrator: TestAgent, media: str) -> None:
    answer = await orchestrator.post(b"{}", Content_Type=media)

    assert (answer.status_code, answer.json()["error"]["code"]) == (415, -32600)


async def test_accept_may_be_anything(orchestrator: TestAgent) -> None:
    for accept in ("application/json, text/event-stream", "text/html", "*/*"):
        assert (await orchestrator.post(PING, Accept=accept)).status_code == 200


async def test_two_agents_have_two_limits(enter: Connect, runtime: Runtime) -> None:
    first, second = await enter("seo"), await enter("cto")
    await first.ask("ping")

    answer = await second.post(PING)
    assert answer.headers["ratelimit-remaining"] == "119"
