"""Choosing a duration on the booking page: before the days, with and without scripts, and what the address says."""

import re
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import filled, starts_in
from tests.doors.web.booking_page.visiting import confirm, fill, in_zone, visit
from tests.support.page import read_page

PAGE = "/mara/talk"
CHOICES = re.compile(r'<button name="duration" value="(\d+)" aria-pressed="(true|false)">([^<]*)<')
LAST = "2026-03-16T15:30:00Z"
BOOKED = "select ends_at - starts_at from bookings order by starts_at"


@pytest.fixture
async def talk(runtime: Runtime, host: User) -> EventType:
    """A talk of 15, 30 or 60 minutes; 30 is the default."""
    return await offer(runtime, host, "talk", durations=(15, 30, 60))


async def _offer_only(runtime: Runtime, talk: EventType, *durations: int) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(talk, durations=durations))


def _chosen(page: str) -> list[str]:
    return [minutes for minutes, is_chosen, _ in CHOICES.findall(page) if is_chosen == "true"]


async def test_the_page_offers_durations_before_the_days_and_shows_the_times_of_the_chosen_one(
    client: httpx2.AsyncClient, talk: EventType
) -> None:
    plain = (await client.get(f"{PAGE}?date=2026-03-16&tz=UTC")).text
    assert CHOICES.findall(plain) == [
        ("15", "false", "15 minutes"),
        ("30", "true", "30 minutes"),
        ("60", "false", "60 minutes"),
    ]
    assert plain.index('name="duration"') < plain.index('id="month"')
    assert "15 minutes, 30 minutes or 60 minutes" in plain
    assert LAST in starts_in(plain)

    long = (await client.get(f"{PAGE}?date=2026-03-16&tz=UTC&duration=60")).text
    assert _chosen(long) == ["60"]
    assert LAST not in starts_in(long)
    assert 'type="hidden" name="duration" value="60"' in long


async def test_plain_event_types_have_nothing_to_choose(client: httpx2.AsyncClient, intro: EventType) -> None:
    page = (await client.get("/mara/intro-call")).text
    assert 'name="duration"' not in page


async def test_without_scripts_the_chosen_duration_is_booked(
    client: httpx2.AsyncClient, runtime: Runtime, talk: EventType
) -> None:
    page = await client.get(f"{PAGE}?duration=60&start=2026-03-16T10:00:00Z&tz=UTC")
    assert "60 minutes" in read_page(page).text
    assert read_page(page).fields["duration"].value == "60"
    answer = await client.post(f"{PAGE}?duration=60", data=filled(duration="60"))

    assert answer.status_code == 303
    assert await runtime.pool.fetchval(BOOKED) == timedelta(hours=1)
    managed = await client.get(answer.headers["location"])
    assert "10:00" in managed.text


@pytest.mark.parametrize("asked", ["45", "0", "9999", "x", "-15"])
async def test_an_address_with_a_duration_that_is_not_offered_leads_to_the_default(
    client: httpx2.AsyncClient, talk: EventType, asked: str
) -> None:
    answer = await client.get(PAGE, params={"duration": asked, "tz": "UTC"})
    if answer.status_code == 303:
        assert answer.headers["location"] == f"{PAGE}?tz=UTC"
        answer = await client.get(answer.headers["location"])
    assert (answer.status_code, _chosen(answer.text)) == (200, ["30"])


async def test_a_form_whose_duration_was_removed_keeps_what_was_typed_and_asks_again(
    client: httpx2.AsyncClient, runtime: Runtime, talk: EventType
) -> None:
    await _offer_only(runtime, talk, 15, 30)
    answer = await client.post(PAGE, data=filled(duration="60", name="Ana Ruiz"))

    assert answer.status_code == 400
    assert "The host does not offer this duration any more" in read_page(answer).text
    assert _chosen(answer.text) == ["30"]
    assert read_page(answer).fields["name"].value == "Ana Ruiz"
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0


async def test_a_reschedule_page_shows_the_times_of_the_bookings_own_duration(
    client: httpx2.AsyncClient, runtime: Runtime, talk: EventType
) -> None:
    booked = await client.post(PAGE, data=filled(duration="60"))
    await _offer_only(runtime, talk, 15, 30)
    path = booked.headers["location"].partition("?")[0]
    page = (await client.get(f"{path}/reschedule?date=2026-03-16&tz=UTC")).text

    assert 'name="duration"' not in page.replace('type="hidden" name="duration"', "")
    assert starts_in(page)
    assert LAST not in starts_in(page)
    moved = await client.post(f"{path}/reschedule", data={"start": "2026-03-16T12:00:00Z"})
    assert moved.status_code == 303
    assert await runtime.pool.fetchval(BOOKED) == timedelta(hours=1)


async def test_assistants_read_the_times_of_a_duration(client: httpx2.AsyncClient, talk: EventType) -> None:
    offered = (await client.get(f"{PAGE}.json?duration=60&tz=UTC")).json()
    assert offered["eventType"]["durations"] == [15, 30, 60]
    first = offered["nextSlots"][0]
    assert (first["startTime"][11:16], first["endTime"][11:16]) == ("08:00", "09:00")
    assert "durationMinutes=60" in offered["slotsUrl"]
    text = (await client.get(f"{PAGE}.md?duration=60")).text
    assert "The times are for 60 minutes" in text
    assert '"durationMinutes": 60,' in text
    refused = await client.get(f"{PAGE}.json?duration=45")
    assert refused.status_code == 400
    assert refused.json()["details"] == {"durationMinutes": "must be one of 15, 30, 60"}
    assert "`durationMinutes` must be one of 15, 30, 60" in (await client.get(f"{PAGE}.md?duration=45")).text


async def test_a_duration_is_chosen_without_leaving_the_page(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, talk: EventType
) -> None:
    page = await visit(browser, client)
    await page.goto(PAGE)
    await in_zone(page, "Lagos")
    await page.evaluate("() => { window.same = true; }")
    await page.get_by_role("button", name="Tuesday 17 March, 16 times").click()
    await page.get_by_role("button", name="60 minutes").click()
    await expect(page.get_by_role("button", name="Tuesday 17 March, 15 times")).to_be_visible()
    await expect(page.get_by_role("button", name="60 minutes")).to_be_focused()
    assert await page.evaluate("() => window.same")
    assert "duration=60" in page.url
    async with page.expect_response("**/api/public/holds"):
        await page.get_by_role("button", name="13:00", exact=True).click()
    await expect(page.locator("[data-part=duration-words]")).to_have_text("60 minutes")
    held = await runtime.pool.fetchval("select ends_at - starts_at from claims where active and kind = 'hold'")
    assert held == timedelta(hours=1)
    await fill(page)
    await confirm(page)
    assert await runtime.pool.fetchval(BOOKED) == timedelta(hours=1)


async def test_without_scripts_the_buttons_lead_on(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, talk: EventType
) -> None:
    options: dict[str, Any] = {"java_script_enabled": False}
    page = await visit(browser, client, f"{PAGE}?tz=UTC&date=2026-03-17", **options)
    await page.get_by_role("button", name="15 minutes").click()
    await page.get_by_role("button", name="60 minutes").click()
    await expect(page.get_by_role("button", name="60 minutes")).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("button", name="12:00", exact=True).click()
    await fill(page)
    await confirm(page)
    assert await runtime.pool.fetchval(BOOKED) == timedelta(hours=1)
