"""An identity provider that speaks SCIM, and an organization that it serves."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import Organization
from openslot.domains.accounts.organizations.operations import add_domain, add_organization
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.work import Runtime, system_clock
from tests.support.effects import run_attempt

BASE = "/api/scim/v2"
DOMAIN = "harbor.example"
SCIM = "application/scim+json"
SUSPEND = {"op": "replace", "path": "active", "value": False}
DUE = "select id, round from effects where state = 'queued' and next_try_at <= $1 order by no"


class Provider:
    """An identity provider: a token, and requests as providers make them."""

    def __init__(self, client: httpx2.AsyncClient, token: str) -> None:
        self.client = client
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": SCIM}

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        """Send one request."""
        sent = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return await self.client.request(method, f"{BASE}{path}", json=body, headers=sent)

    async def create(self, user_name: str, **attributes: Any) -> dict[str, Any]:
        """Create a user, who must be accepted."""
        answer = await self.send("POST", "/Users", {"userName": user_name, **attributes})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def read(self, user_id: str) -> dict[str, Any]:
        """Read a user, who must be there."""
        answer = await self.send("GET", f"/Users/{user_id}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def patch(self, user_id: str, *operations: dict[str, Any], **headers: str) -> httpx2.Response:
        """Send one PATCH."""
        schema = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
        body = {"schemas": [schema], "Operations": list(operations)}
        return await self.send("PATCH", f"/Users/{user_id}", body, **headers)

    async def find(self, filter_: str, **parameters: Any) -> dict[str, Any]:
        """Search users by a filter that must be accepted."""
        answer = await self.client.get(
            f"{BASE}/Users",
            params={"filter": filter_, **parameters},
            headers={"Authorization": self.headers["Authorization"]},
        )
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


async def found_organization(
    runtime: Runtime, slug: str, domain: str, plan: Plan = Plan.BUSINESS
) -> tuple[Organization, str]:
    """Make an organization with a verified domain and a token."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name=slug.capitalize(), slug=slug, plan=plan)
        await add_domain(work, organization, domain, verified=True)
        token, _ = await access.create_scim_token(work, organization, name="Okta")
        return organization, token


@pytest.fixture
async def harbor(runtime: Runtime) -> tuple[Organization, str]:
    """An organization and its token."""
    return await found_organization(runtime, "harbor", DOMAIN)


@pytest.fixture
def organization(harbor: tuple[Organization, str]) -> Organization:
    """The organization."""
    return harbor[0]


@pytest.fixture
def token(harbor: tuple[Organization, str]) -> str:
    """Its token."""
    return harbor[1]


async def work_ahead(runtime: Runtime) -> None:
    """Run what is due within the next ten minutes, now."""
    for row in await runtime.pool.fetch(DUE, system_clock() + timedelta(minutes=10)):
        await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))
