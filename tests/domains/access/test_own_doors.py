"""Every kind of credential at every door: it opens its own, shown as it is shown there, and no other."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import connect as connect_assistant
from tests.support.host import open_session
from tests.support.live import connect, serving

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
# How each door is asked, and what those are answered who are not let in.
DOORS = {
    "REST": ("GET", "/api/v1/me", 401),
    "SCIM": ("GET", "/api/scim/v2/Users", 401),
    "agents": ("POST", "/api/admin/agent-mcp", 401),
    "assistants": ("POST", "/mcp", 401),
    "dashboard": ("GET", "/account", 303),
    "administration": ("GET", "/admin/users", 303),
}
SHOWN = {"bearer": ("Authorization", "Bearer {}"), "cookie": ("Cookie", "openslot_session={}")}
# All that opens: which credential, how it is shown, and at which door.
OPENS = {
    ("API key", "bearer", "REST"),
    ("SCIM token", "bearer", "SCIM"),
    ("agent's key", "bearer", "agents"),
    ("assistant's token", "bearer", "assistants"),
    ("session", "cookie", "dashboard"),
    ("session", "cookie", "administration"),
}


@pytest.fixture
async def patient(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server that forgives many failed authentications."""
    app = create_app(replace(settings, limit_failed_auth=1000))
    async with serving(app) as base_url, connect(base_url) as opened:
        yield opened


@pytest.fixture
async def credentials(patient: httpx2.AsyncClient, runtime: Runtime, admin: User) -> dict[str, str]:
    """One of each kind, of somebody who may do everything."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Org", slug="org", plan=Plan.BUSINESS)
        api_key, _ = await access.create_api_key(work, admin, name="k")
        scim_token, _ = await access.create_scim_token(work, organization, name="t")
        agent_key, _ = await access.create_agent_key(work, "orchestrator", name="a")
    headers = await open_session(runtime, admin)
    async with connect(str(patient.base_url), headers=headers) as browser:
        _, tokens = await connect_assistant(browser)
    return {
        "API key": api_key,
        "SCIM token": scim_token,
        "agent's key": agent_key,
        "assistant's token": tokens.access_token,
        "assistant's refresh token": tokens.refresh_token,
        "session": headers["cookie"].removeprefix("openslot_session="),
    }


async def test_each_credential_opens_its_own_door_and_no_other(
    patient: httpx2.AsyncClient, credentials: dict[str, str]
) -> None:
    asked = [(kind, way, door) for kind in credentials for way in SHOWN for door in DOORS]
    answers = {each: await knock(patient, credentials[each[0]], way=each[1], door=each[2]) for each in asked}

    assert {each: answer.status_code for each, answer in answers.items()} == {
        each: 200 if each in OPENS else DOORS[each[2]][2] for each in asked
    }
    sent_to = {answer.headers["location"] for answer in answers.values() if answer.has_redirect_location}
    assert {place.partition("?")[0] for place in sent_to} == {"/login"}


async def test_two_credentials_of_other_doors_open_no_more_than_one(
    patient: httpx2.AsyncClient, credentials: dict[str, str]
) -> None:
    for door, (_, _, refused) in DOORS.items():
        own = {kind for kind, _, opened in OPENS if opened == door}
        cookie = "openslot_session=" + credentials["API key" if "session" in own else "session"]
        for kind in credentials.keys() - own:
            answer = await knock(patient, credentials[kind], way="bearer", door=door, cookie=cookie)
            assert answer.status_code == refused, (door, kind)


async def knock(client: httpx2.AsyncClient, secret: str, *, way: str, door: str, **more: str) -> httpx2.Response:
    """Ask at a door with a credential."""
    method, path, _ = DOORS[door]
    header, form = SHOWN[way]
    body = PING if method == "POST" else None
    return await client.request(method, path, json=body, headers={header: form.format(secret), **more})
