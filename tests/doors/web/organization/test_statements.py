"""What a page of an organization costs: no more than five statements, however many members and changes there are."""

from contextlib import nullcontext

import pytest

from openslot.app import create_app
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor
from tests.doors.web.organization.driving import set_stage
from tests.doors.web.organization.support import COSTS
from tests.support.host import Book, open_session
from tests.support.live import connect, serving
from tests.support.name_server import FakeResolver
from tests.support.statements import MAX_STATEMENTS, CountingPool, count_statements


@pytest.mark.rest("fills lists, and counts the statements of every page")
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
        found = {path: await count_statements(client, pool, stage.path(path)) for path in COSTS}

    assert found == {path: (200, cost) for path, cost in COSTS.items()}
    assert max(COSTS.values()) <= MAX_STATEMENTS


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
        assert await count_statements(client, pool, "/help") == (200, 1)
