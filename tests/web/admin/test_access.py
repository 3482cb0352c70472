"""Only administrators of the platform see the administration."""

import re

import httpx2
import pytest

from openslot.accounts import organizations
from openslot.accounts.members import add_member
from openslot.accounts.models import Role, User
from openslot.accounts.plans import Plan
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from openslot.routing import find_declaration
from openslot.web.admin.routes import ADMINISTRATION
from openslot.web.navigation import PLACES
from tests.web.dashboard.conftest import open_session

NOBODY = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"
VALUES = {"slug": "support", "key": "api_docs"}


def routes() -> list[tuple[str, str]]:
    """List every page and form of the administration, with values in its path."""
    found = []
    for handler in ADMINISTRATION:
        declaration = find_declaration(handler)
        assert declaration is not None
        assert declaration.path is not None
        path = re.sub(r"\{(\w+)\}", lambda match: VALUES.get(match[1], NOBODY), declaration.path)
        found.append((declaration.method, path))
    return found


def test_the_pages_are_under_one_address_and_in_the_navigation() -> None:
    assert all(path.startswith("/admin/") for _, path in routes())
    named = {place.path for place in PLACES if place.group == "administration"}
    assert named <= {path for method, path in routes() if method == "GET"}


@pytest.mark.parametrize(("method", "path"), routes())
async def test_a_stranger_is_sent_to_the_sign_in_and_a_host_or_an_owner_finds_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, method: str, path: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        studio = await organizations.add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_member(work, studio, stranger, role=Role.OWNER)
    signed_out = await client.request(method, path)
    assert (signed_out.status_code, signed_out.headers["location"].partition("?")[0]) == (303, "/login")
    for who in (user, stranger):
        client.headers.update(await open_session(runtime, who))
        refused = await client.request(method, path)

        assert refused.status_code == 404
        assert "Administration" not in refused.text


async def test_the_navigation_shows_it_to_administrators_alone(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, admin_user: User
) -> None:
    shown = {}
    for who in (user, admin_user):
        client.headers.update(await open_session(runtime, who))
        shown[who.email] = "/admin/users" in (await client.get("/")).text

    assert shown == {user.email: False, admin_user.email: True}
