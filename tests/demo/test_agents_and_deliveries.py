"""The demo's agents and webhook: the audit log is whole, figures agree, nothing is sent, and every page has rows."""

import httpx2
import pytest

from openslot.demo.seed import Seeded, seed
from openslot.doors.agents.audit import operations as audit
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.page import read_page

pytestmark = pytest.mark.rest("makes all demo data: one test in make test does")
BY_DAY = """
select on_date from agent_spend group by on_date
having sum(spent_micros) filter (where agent = '*') is distinct from sum(spent_micros) filter (where agent <> '*')"""
UNKNOWN_APPROVALS = """
select count(*) from agent_calls c where approval_id is not null
  and not exists (select from approvals a where a.id = c.approval_id and a.arguments_hash = c.input_hash)"""


@pytest.fixture
async def seeded(runtime: Runtime) -> Seeded:
    async with runtime.transaction(OPERATOR) as work:
        return await seed(work)


async def test_the_agents_log_is_whole_and_agrees_with_what_they_spent(runtime: Runtime, seeded: Seeded) -> None:
    verified = await audit.verify(runtime)
    count = runtime.pool.fetchval

    assert (verified.faults, verified.records > 200) == ((), True)
    assert await count("select count(distinct status) from agent_calls") >= 6
    assert await count("select count(*) from approvals where status = 'pending' and expires_at > now()") >= 3
    assert await count(UNKNOWN_APPROVALS) == 0
    assert await runtime.pool.fetch(BY_DAY) == []
    assert await count("select count(*) from agent_calls where at > now()") == 0


async def test_the_webhook_is_paused_and_every_event_has_arrived(runtime: Runtime, seeded: Seeded) -> None:
    count = runtime.pool.fetchval

    assert await count("select array_agg(state) from webhook_endpoints") == ["paused"]
    assert await count("select count(*) from webhook_deliveries where error is not null") > 3
    sent = "select count(distinct event_id) from webhook_deliveries"
    assert await count(sent) == await count(f"{sent} where error is null") > 40
    assert await count(sent) == await count("select count(*) from effects where reaction = 'webhooks.send'")
    under_way = "select count(*) from effects where reaction like 'webhooks.%' and state <> 'done'"
    assert await count(under_way) == 0


async def test_every_page_has_rows(client: httpx2.AsyncClient, runtime: Runtime, seeded: Seeded) -> None:
    endpoint_id = await runtime.pool.fetchval("select id from webhook_endpoints")
    host = ("/bookings?view=past", "/contacts", "/analytics", f"/settings/webhooks/{endpoint_id}")
    admin = ("/admin/analytics", "/admin/agents", "/admin/approvals", "/admin/audit")
    for who, paths in ((seeded.user, host), (seeded.admin, admin)):
        client.cookies.clear()
        await client.post("/login", data={"email": who.email, "password": who.password})
        for path in paths:
            page = read_page(await client.get(path))
            entries = [each for each in page.addresses if each.startswith(f"{path.partition('?')[0]}/")]
            assert max(len(page.rows), len(entries)) > 5, path
