"""What a page of an organization costs: no more than five statements, however many members and changes there are."""

from contextlib import nullcontext

import pytest

from openslot.app import create_app
from openslot.core.config import Settings
from openslot.core.work import Runtime
from tests.access.test_statements import CountingPool
from tests.scim.test_domains import FakeResolver
from tests.support.live import connect, serving
from tests.web.dashboard.conftest import Book, open_session
from tests.web.dashboard.test_statements import MOST, count
from tests.web.organization.conftest import Harbor
from tests.web.organization.driving import set_stage

# The session is one of them.
COSTS = {
    "/organization": 3,
    "/organization/new": 1,
    "/organization/members": 2,
    "/organization/members?q=active&role=member&state=active": 2,
    "/organization/members/{member_id}": 2,
    "/organization/members/{member_id}/remove": 4,
    "/organization/members/{member_id}/suspend": 4,
    "/organization/provisioning": 4,
    "/organization/provisioning/tokens/{token_id}/revoke": 2,
    "/organization/provisioning/waiting": 3,
    "/organization/provisioning/waiting/{user_id}": 2,
    "/organization/provisioning/log": 2,
    "/organization/domains": 3,
    "/organization/domains/{domain}/remove": 2,
    "/organization/settings": 3,
    "/organization/delete": 5,
    "/organization/log": 2,
    "/organization/log.csv": 2,
}


async def test_no_page_needs_more_statements_where_there_is_more(
    settings: Settings, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    for _ in range(4):
        stage = await set_stage(runtime, harbor, resolver, book)
    session = await open_session(runtime, harbor.owner)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        found = {path: await count(client, pool, stage.path(path)) for path in COSTS}

    assert found == {path: (200, cost) for path, cost in COSTS.items()}
    assert max(COSTS.values()) <= MOST


@pytest.mark.parametrize("who", ["owner", "member", "free"])
async def test_the_navigation_costs_no_statement(
    settings: Settings, runtime: Runtime, harbor: Harbor, who: str
) -> None:
    session = await open_session(runtime, getattr(harbor, who))
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        assert await count(client, pool, "/help") == (200, 1)
