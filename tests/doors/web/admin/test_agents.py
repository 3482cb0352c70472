"""Pages of agents: today's calls and spend, level, scopes and keys."""

import re

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.doors.agents import budget
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent
from tests.support.live import connect
from tests.support.page import read_page

AGENT = "/admin/agents/support"


def shown_key(page: str) -> str:
    found = re.search(r"svc_agent_support_[0-9a-f]{64}", page)
    assert found is not None
    return found[0]


async def test_the_list_tells_calls_and_spend_of_today(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent
) -> None:
    await support.call("list_users")
    await support.call("list_flags")
    await budget.report(runtime, "support", 170_000)
    page = (await admin.get("/admin/agents")).text

    row = page[page.index(">Support<") :]
    assert 'href="/admin/audit?agent=support">2</a>' in row
    assert "1 refused or failed" in row
    assert "0.17 of 0.20 USD" in row
    assert "Almost used up" in row
    assert "0.17 of 50.00 USD" in page


async def test_a_level_is_changed_from_the_next_call_on(admin: httpx2.AsyncClient, support: TestAgent) -> None:
    answer = await admin.post(f"{AGENT}/level", data={"level": "L0"})

    assert answer.headers["location"] == f"{AGENT}?done=level"
    assert "L0: reads only" in read_page(await admin.get("/admin/agents")).text
    assert (await admin.post(f"{AGENT}/level", data={"level": "L7"})).status_code == 400


async def test_scopes_are_those_that_are_ticked(admin: httpx2.AsyncClient, support: TestAgent) -> None:
    answer = await admin.post(f"{AGENT}/scopes", data={"scopes": ["flags:read", "budget:read"]})

    assert answer.status_code == 303
    page = (await admin.get(AGENT)).text
    assert set(re.findall(r'value="([a-z]+:[a-z]+)" checked', page)) == {"flags:read", "budget:read"}
    assert (await admin.post(f"{AGENT}/scopes", data={"scopes": ["root:all"]})).status_code == 400


async def test_a_key_is_shown_once_and_works(admin: httpx2.AsyncClient) -> None:
    made = await admin.post(f"{AGENT}/keys", data={"name": "Runner", "expires": "30"})
    key = shown_key(made.text)
    async with connect(str(admin.base_url)) as other:
        users = await TestAgent(other, key).result("list_users")

    assert users["data"]
    assert key not in (await admin.get(AGENT)).text
    faults = await admin.post(f"{AGENT}/keys", data={"name": "", "expires": "31"})
    assert faults.status_code == 400
    assert "Give the key a name" in read_page(faults).faults["name"]


@pytest.mark.parametrize(("hours", "works"), [("0", False), ("24", True)])
async def test_a_rotated_key_gives_way_to_the_new_one(admin: httpx2.AsyncClient, hours: str, *, works: bool) -> None:
    old = shown_key((await admin.post(f"{AGENT}/keys", data={"name": "Runner", "expires": "never"})).text)
    page = (await admin.get(AGENT)).text
    link = re.search(rf'href="({AGENT}/keys/[^"]+/rotate)"', page)
    assert link is not None
    assert "stays valid" in read_page(await admin.get(link[1])).text

    new = shown_key((await admin.post(link[1], data={"hours": hours})).text)

    assert new != old
    for key, is_good in ((old, works), (new, True)):
        headers = {"authorization": f"Bearer {key}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        async with connect(str(admin.base_url)) as other:
            answer = await other.post("/api/admin/agent-mcp", json=body, headers=headers)
        assert (answer.status_code == 200) == is_good


async def test_a_deactivated_key_is_refused_and_cannot_be_changed_again(admin: httpx2.AsyncClient) -> None:
    key = shown_key((await admin.post(f"{AGENT}/keys", data={"name": "<b>x", "expires": "never"})).text)
    link = re.search(rf'href="({AGENT}/keys/[^"]+)/deactivate"', (await admin.get(AGENT)).text)
    assert link is not None
    assert "&lt;b&gt;x" in (await admin.get(f"{link[1]}/deactivate")).text
    assert (await admin.post(f"{link[1]}/deactivate")).status_code == 303

    async with connect(str(admin.base_url)) as other:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        answer = await other.post("/api/admin/agent-mcp", json=body, headers={"authorization": f"Bearer {key}"})
    assert answer.status_code == 401
    for act in ("rotate", "deactivate"):
        assert (await admin.get(f"{link[1]}/{act}")).status_code == 404


@pytest.mark.parametrize("path", ["/admin/agents/nobody", "/admin/agents/%00", "/admin/agents/support%20"])
async def test_an_unknown_agent_is_not_found(admin: httpx2.AsyncClient, path: str) -> None:
    assert (await admin.get(path)).status_code == 404


async def test_the_list_draws_what_all_agents_did_and_each_of_them(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent
) -> None:
    await support.call("list_users")
    await support.call("list_flags")
    await budget.report(runtime, "support", 170_000)
    page = read_page(await admin.get("/admin/agents"))

    assert page.headings[2:] == ["Tool calls", "Approvals", "Spending in USD"]
    assert "Done 1 Waits for approval 0 Refused or failed 1" in page.text
    assert "USD 0.17" in page.text
    assert "Approved 0 Waiting 0 Rejected or expired 0" in page.text
    # The newest day is the first row of the table behind a chart.
    days = [row for row in page.rows if row[0].startswith("Monday 16 March")]
    assert [row[1:] for row in days] == [["1", "0", "1"], ["0", "0", "0"], ["0.17"]]
    assert len([row for row in page.rows if row[0].startswith("Sunday 1 March")]) == 3
    assert [row[-1] for row in page.rows if row[0] == "Support"] == ["2 calls · 1 refused or failed · 0.17 USD"]
    assert [row[-1] for row in page.rows if row[0] == "SEO"] == ["0 calls"]


async def test_an_agents_page_shows_its_days_reasons_calls_and_mails(
    admin: httpx2.AsyncClient, admin_user: User, support: TestAgent
) -> None:
    letter = {"to": admin_user.email, "subject": "A <b>report</b>", "text": "All is well.", "confirm": True}
    await support.result("send_email", category="internal", **letter)
    for _ in range(2):
        await support.call("list_flags")
    await support.call("send_email", category="internal", **(letter | {"confirm": "true"}))
    response = await admin.get(AGENT)
    page = read_page(response)

    assert "Done 1 Waits for approval 0 Refused or failed 3" in page.text
    assert ["Scope missing", "2"] in page.rows
    assert page.rows.index(["Scope missing", "2"]) + 1 == page.rows.index(["Not confirmed", "1"])
    assert page.links["Scope missing"] == "/admin/audit?agent=support&status=denied_scope"
    tools = [row[1] for row in page.rows if len(row) == 5 and row[1] in {"send_email", "list_flags"}]
    assert tools == ["send_email", "list_flags", "list_flags", "send_email"]
    assert "A &lt;b&gt;report&lt;/b&gt;" in response.text
    assert f"{admin_user.email} · internal" in page.text
    other = read_page(await admin.get("/admin/agents/seo")).text
    assert "No call was refused or failed." in other
    assert "This agent has not called a tool yet." in other
    assert "This agent has not sent an email." in other
