"""Organizations as administrators of the platform see them."""

import httpx2
import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.page import read_page


@pytest.fixture
async def studio(runtime: Runtime, user: User) -> Organization:
    """An organization with one owner, and another one."""
    async with runtime.transaction(OPERATOR) as work:
        found = await organizations.add_organization(work, name="<b>Harbor", slug="harbor", plan=Plan.BUSINESS)
        await organizations.add_organization(work, name="Quay", slug="quay", plan=Plan.FREE)
        await add_organization_member(work, found, user, role=Role.OWNER)
    return found


async def test_organizations_are_listed_and_found(admin: httpx2.AsyncClient, studio: Organization) -> None:
    every = (await admin.get("/admin/organizations")).text
    one = (await admin.get("/admin/organizations?q=QUAY")).text

    assert "2 organizations" in every
    assert "&lt;b&gt;Harbor" in every
    assert "Harbor" not in one
    assert "No organization matches" in read_page(await admin.get("/admin/organizations?q=nothing")).text
    assert (await admin.get("/admin/organizations?q=%00")).status_code == 400


async def test_a_page_tells_its_members_and_changes_the_plan(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User, studio: Organization
) -> None:
    page = (await admin.get("/admin/organizations/harbor")).text
    answer = await admin.post("/admin/organizations/harbor/plan", data={"plan": "PRO"})

    assert f'href="/admin/users/{user.id}"' in page
    assert "Owner" in page
    assert answer.headers["location"] == "/admin/organizations/harbor?done=plan"
    assert await runtime.pool.fetchval("select plan from organizations where slug = 'harbor'") == "PRO"
    assert (await admin.post("/admin/organizations/harbor/plan", data={"plan": "GOLD"})).status_code == 400


async def test_an_unknown_organization_is_not_found(admin: httpx2.AsyncClient) -> None:
    assert (await admin.get("/admin/organizations/nothing")).status_code == 404
    assert (await admin.post("/admin/organizations/nothing/plan", data={"plan": "PRO"})).status_code == 404
