"""What a page of the administration costs: no more than five statements, however much there is."""

from contextlib import nullcontext

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent
from tests.support.host import Book, open_session
from tests.support.live import connect, serving
from tests.support.statements import MAX_STATEMENTS, CountingPool, count_statements

# The session is one of them.
COSTS = {
    "/admin/analytics": 4,
    "/admin/users": 2,
    "/admin/users/{user}": 4,
    "/admin/users/{user}/disable": 3,
    "/admin/organizations": 2,
    "/admin/organizations/harbor": 4,
    "/admin/organizations/harbor/delete": 5,
    "/admin/agents": 4,
    "/admin/agents/support": 5,
    "/admin/approvals": 3,
    "/admin/approvals/{approval}": 4,
    "/admin/team-chat": 2,
    "/admin/audit": 2,
    "/admin/flags": 2,
    "/admin/flags/api_docs": 4,
    "/admin/messaging": 3,
    "/admin/messaging/email/stop": 1,
    "/admin/jobs": 5,
    "/admin/log": 2,
    "/admin/mailbox": 2,
}


@pytest.mark.rest("fills lists, and counts the statements of every page")
async def test_no_page_needs_more_statements_where_there_is_more(
    settings: Settings,
    runtime: Runtime,
    client: httpx2.AsyncClient,
    admin_user: User,
    user: User,
    support: TestAgent,
    book: Book,
) -> None:
    await book()
    async with runtime.transaction(OPERATOR) as work:
        await organizations.add_organization(work, name="Harbor", slug="harbor", plan=Plan.FREE)
    waiting = await support.call("disable_user", userId=str(user.id), reason="Asked to", confirm=True)
    session = await open_session(runtime, admin_user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as other:
        for path, cost in COSTS.items():
            asked = path.format(user=user.id, approval=waiting["error"]["data"]["approvalId"])
            answer = await count_statements(other, pool, asked)

            assert answer == (200, cost), (path, pool.asked)
            assert cost <= MAX_STATEMENTS
