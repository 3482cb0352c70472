"""Hosts book someone in several weeks at once, see all dates, and cancel one or all."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.page import read_page

WISH = {
    "type": "30min",
    "start": "2026-03-16T10:00:00Z",
    "name": "Jonas Okafor",
    "email": "jonas@okafor.example",
    "timezone": "Africa/Lagos",
    "day": "2026-03-16",
}


@pytest.fixture(autouse=True)
async def _repeatable(runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("update event_types set recurring_weeks = 6 where owner_id = $1", user.id)


async def test_a_host_books_several_weeks_and_cancels_one_and_all(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    form = await member.get("/bookings/new?type=30min")
    assert '<option value="6">6 weeks</option>' in form.text
    booked = await member.post("/bookings", data={**WISH, "weeks": "4"})
    path = booked.headers["location"].partition("?")[0]
    page = await member.get(path)
    assert page.text.count('<a href="/bookings/01') == 3

    assert "All 4 dates that are still to come" in (await member.get(f"{path}/cancel")).text
    await member.post(f"{path}/cancel", data={"series": "", "reason": ""})
    cancelled = "select count(*) from bookings where status = 'CANCELLED'"
    assert await runtime.pool.fetchval(cancelled) == 1
    other = await runtime.pool.fetchval("select id from bookings where status = 'CONFIRMED' limit 1")
    done = await member.post(f"/bookings/{other}/cancel", data={"series": "all", "reason": "Moved away"})
    assert done.status_code == 303
    assert await runtime.pool.fetchval(cancelled) == 4
    assert (await member.get(path)).text.count("<del>") == 4


async def test_weeks_that_are_not_free_stand_at_the_field(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await member.post("/bookings", data={**WISH, "start": "2026-03-23T10:00:00Z"})
    refused = await member.post("/bookings", data={**WISH, "weeks": "3"})
    assert read_page(refused).faults["weeks"].startswith("Is not free on Mon 23 Mar")
    booked = await member.post("/bookings", data={**WISH, "weeks": "3", "on_conflict": "skip"})
    assert booked.status_code == 303
    assert await runtime.pool.fetchval("select count(*) from bookings") == 3
    for weeks in ("0", "7", "many"):
        wrong = await member.post("/bookings", data={**WISH, "weeks": weeks})
        assert "weeks" in read_page(wrong).faults, weeks


async def test_a_plain_event_type_is_booked_once(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await runtime.pool.execute("update event_types set recurring_weeks = null")
    assert "Repeat weekly" not in (await member.get("/bookings/new?type=30min")).text
    booked = await member.post("/bookings", data=WISH)
    assert "All dates" not in (await member.get(booked.headers["location"])).text
    path = booked.headers["location"].partition("?")[0]
    assert "Only this date" not in (await member.get(f"{path}/cancel")).text
    refused = await member.post(f"{path}/cancel", data={"series": "all"})
    assert refused.status_code == 400
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"
