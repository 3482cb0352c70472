"""Members of an organization, its pages and forms."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import httpx2

from openslot.domains.accounts.invitations.operations import invitation_url
from openslot.platform.core.work import Runtime
from tests.support.live import connect
from tests.support.passwords import PASSWORD

DELETE_PAGE = "/organization/delete"
SURE = {"name": "Harbor", "password": PASSWORD}
MEMBERS = "/organization/members"
# The session is one of them.
COSTS = {
    "/organization": 3,
    "/organization/new": 1,
    "/organization/members": 2,
    "/organization/members?q=active&role=member&state=active": 2,
    "/organization/members/{member_id}": 2,
    "/organization/members/{member_id}/remove": 5,
    "/organization/members/{member_id}/suspend": 5,
    "/organization/provisioning": 4,
    "/organization/provisioning/tokens/{token_id}/revoke": 2,
    "/organization/provisioning/waiting": 3,
    "/organization/provisioning/waiting/{user_id}": 2,
    "/organization/provisioning/log": 2,
    "/organization/domains": 3,
    "/organization/domains/{domain}/remove": 2,
    "/organization/payments": 3,
    "/organization/payments/disconnect": 4,
    "/organization/messages": 3,
    "/organization/messages/{connection_id}": 3,
    "/organization/messages/{connection_id}/disconnect": 3,
    "/organization/teams": 3,
    "/organization/teams/{team_id}": 4,
    "/organization/teams/{team_id}/delete": 3,
    "/organization/teams/{team_id}/members/{teammate_id}": 3,
    "/organization/teams/{team_id}/members/{teammate_id}/remove": 4,
    "/organization/teams/{team_id}/event-types/{event_type_id}/ledger": 5,
    "/organization/teams/{team_id}/event-types/{event_type_id}/hosts": 5,
    "/organization/teams/{team_id}/event-types/new": 3,
    "/organization/settings": 3,
    "/organization/delete": 5,
    "/organization/log": 2,
    "/organization/log.csv": 2,
}


async def is_there(runtime: Runtime, slug: str = "harbor") -> bool:
    return bool(await runtime.pool.fetchval("select exists (select from organizations where slug = $1)", slug))


async def invite(client: httpx2.AsyncClient, email: str, **fields: str) -> httpx2.Response:
    return await client.post(MEMBERS, data={"email": email, **fields})


async def member_id_of(runtime: Runtime, email: str) -> UUID | None:
    found: UUID | None = await runtime.pool.fetchval(
        "select m.id from memberships m join users u on u.id = m.user_id where u.email = $1", email
    )
    return found


async def link_of(runtime: Runtime, email: str) -> str:
    row = await runtime.pool.fetchrow(
        "select i.id from invitations i join users u on u.id = i.user_id where u.email = $1", email
    )
    assert row is not None
    return invitation_url(runtime, row["id"]).removeprefix(runtime.settings.public_url)


async def state_of(client: httpx2.AsyncClient, member_id: UUID) -> str:
    shown = await client.get(f"{MEMBERS}/{member_id}")
    found = re.search(r'<h1>.*<span class="badge \w*">(?:<svg.*?</svg>)?([^<]+)', shown.text)
    assert found is not None, shown.text
    return found[1]


def read_form(page: str, action: str | None = None) -> dict[str, str]:
    """Read the hidden fields of the form of a page that is sent to an address; by default the last one."""
    forms = re.findall(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', page, re.DOTALL)
    chosen = [body for target, body in forms if action is None or target == action]
    hidden = re.findall(
        r'<input type="hidden" name="(\w+)" value="([^"]*)">', chosen[-1] if action else "".join(chosen)
    )
    return {name: value for name, value in hidden if name != "csrf"}


@asynccontextmanager
async def signed_in(client: httpx2.AsyncClient, headers: dict[str, str]) -> AsyncIterator[httpx2.AsyncClient]:
    async with connect(str(client.base_url), headers=headers, timeout=60) as opened:
        yield opened
