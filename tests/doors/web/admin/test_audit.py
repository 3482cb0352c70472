"""The tool audit: filters, pages, the file, and the check of the chain."""

import csv
from io import StringIO

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent
from tests.support.page import read_page


def rows_of(page: str) -> int:
    return page.count('<tr role="row">') - 1


async def test_calls_are_listed_and_filtered(admin: httpx2.AsyncClient, support: TestAgent, user: User) -> None:
    await support.call("list_users")
    await support.call("get_user", userId=str(user.id))
    await support.call("list_flags")
    counts = {}
    for query in ("", "?agent=support", "?agent=seo", "?tool=get_user", "?status=denied_scope", "?agent=nobody"):
        counts[query] = rows_of((await admin.get(f"/admin/audit{query}")).text)

    assert counts == {
        "": 3,
        "?agent=support": 3,
        "?agent=seo": -1,
        "?tool=get_user": 1,
        "?status=denied_scope": 1,
        "?agent=nobody": 3,
    }
    assert "No call matches this filter" in read_page(await admin.get("/admin/audit?agent=seo")).text
    assert str(user.id) in read_page(await admin.get("/admin/audit?tool=get_user")).text


@pytest.mark.parametrize("query", ["from=x", "to=2026-13-01", "from=2026-03-02&to=2026-03-01", "from=%00"])
async def test_a_day_that_is_none_is_a_fault_of_its_field(admin: httpx2.AsyncClient, query: str) -> None:
    answer = await admin.get(f"/admin/audit?{query}")

    assert answer.status_code == 400
    assert 'class="fault"' in answer.text


async def test_the_next_page_follows_where_there_is_more(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent
) -> None:
    await support.call("list_users")
    await runtime.pool.execute(
        """insert into agent_calls select (jsonb_populate_record(c, jsonb_build_object(
            'id', gen_random_uuid(), 'no', c.no + n, 'at', c.at + n * interval '1 second'))).*
        from agent_calls c, generate_series(1, 60) n"""
    )
    first = (await admin.get("/admin/audit")).text
    second = (await admin.get("/admin/audit?page=2")).text

    assert (rows_of(first), rows_of(second)) == (50, 11)
    assert "page=2" in first
    assert "page=3" not in second


async def test_the_file_has_what_the_filter_asks_for_and_no_formula(
    admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent
) -> None:
    await support.call("list_users")
    await runtime.pool.execute("update agent_calls set target_id = '=1+1', target_type = 'user'")
    answer = await admin.get("/admin/audit/export.csv?agent=support")
    lines = list(csv.DictReader(StringIO(answer.content.decode("utf-8-sig"))))

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert [(line["agent"], line["tool"], line["status"], line["target_id"]) for line in lines] == [
        ("support", "list_users", "ok", "'=1+1")
    ]
    assert (await admin.get("/admin/audit/export.csv?agent=seo")).text.count("\n") == 1


async def test_the_chain_is_checked_on_demand(admin: httpx2.AsyncClient, runtime: Runtime, support: TestAgent) -> None:
    await support.call("list_users")
    await support.call("list_flags")
    intact = (await admin.post("/admin/audit/verify")).text
    await runtime.pool.execute("update agent_calls set tool = 'get_user' where no = 1")
    broken = (await admin.post("/admin/audit/verify")).text

    assert "2 records, none changed" in intact
    assert "was modified outside Openslot" in broken
