"""Repeating a booking weekly on the booking page, with and without scripts, and the page of one date of many."""

import re
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, RollingWindow
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import filled
from tests.doors.web.booking_page.visiting import confirm, fill, visit
from tests.support.browsers import BOTH_WAYS
from tests.support.page import read_page

PAGE = "/mara/lesson"
STARTS = "select array_agg(starts_at order by starts_at) from bookings where status = 'CONFIRMED'"
LINKS = re.compile(r'<a href="(/manage/[^"?]+)\?[^"]*"><bdi>')


@pytest.fixture
async def lesson(runtime: Runtime, host: User) -> EventType:
    """A lesson that can be booked for six weeks at once."""
    return await offer(runtime, host, "lesson", recurring_weeks=6, booking_window=RollingWindow(99))


async def count(runtime: Runtime, status: str = "CONFIRMED") -> int:
    found: int = await runtime.pool.fetchval("select count(*) from bookings where status = $1", status)
    return found


async def test_only_event_types_that_allow_it_ask_how_often(
    client: httpx2.AsyncClient, lesson: EventType, intro: EventType
) -> None:
    assert 'name="weeks"' not in (await client.get("/mara/intro-call")).text
    page = (await client.get(PAGE)).text
    assert re.findall(r'<option value="(\d)"[^>]*>([^<]*)', page) == [
        ("1", "Once"),
        *((str(weeks), f"{weeks} weeks") for weeks in range(2, 7)),
    ]


async def test_without_scripts_every_week_is_booked(
    client: httpx2.AsyncClient, runtime: Runtime, lesson: EventType
) -> None:
    answer = await client.post(PAGE, data=filled(weeks="3"))
    assert answer.status_code == 303
    # The host's clock in Berlin is turned on 29 March.
    assert [f"{each:%m-%d %H:%M}" for each in await runtime.pool.fetchval(STARTS)] == [
        "03-16 10:00",
        "03-23 10:00",
        "03-30 09:00",
    ]
    page = await client.get(answer.headers["location"])
    assert len(LINKS.findall(page.text)) == 2
    assert "Not free and not booked" not in page.text
    other = await client.get(LINKS.findall(page.text)[1])
    assert "30 March 2026" in read_page(other).text


async def test_once_is_a_plain_booking(client: httpx2.AsyncClient, runtime: Runtime, lesson: EventType) -> None:
    answer = await client.post(PAGE, data=filled(weeks="1", on_conflict="skip"))
    assert "All dates" not in (await client.get(answer.headers["location"])).text
    assert await runtime.pool.fetchval("select series_id from bookings") is None


async def test_weeks_that_are_not_free_are_named_and_can_be_left_out(
    client: httpx2.AsyncClient, runtime: Runtime, lesson: EventType
) -> None:
    await client.post(PAGE, data=filled(start="2026-03-23T10:00:00Z", email="ana@ruiz.example"))
    refused = await client.post(PAGE, data=filled(weeks="3"))
    shown = read_page(refused)
    assert refused.status_code == 409
    assert shown.faults["weeks"].startswith("Is not free on Mon 23 Mar")
    assert shown.fields["name"].value == filled()["name"]
    assert '<option value="3" selected>' in refused.text
    assert await count(runtime) == 1

    answer = await client.post(PAGE, data=filled(weeks="3", on_conflict="skip"))
    page = read_page(await client.get(answer.headers["location"])).text
    assert "Not free and not booked: Mon 23 Mar" in page
    assert await count(runtime) == 3


@pytest.mark.parametrize("weeks", ["0", "7", "53", "x", "-2", "2.5", "٣", "9999999999"])
async def test_what_is_no_number_of_weeks_is_refused_at_its_field(
    client: httpx2.AsyncClient, runtime: Runtime, lesson: EventType, weeks: str
) -> None:
    refused = await client.post(PAGE, data=filled(weeks=weeks))
    assert refused.status_code == 400
    assert read_page(refused).faults["weeks"].startswith("Must be from 2 to ")
    assert await count(runtime) == 0


async def test_a_form_that_was_opened_before_the_host_switched_it_off_says_so(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    refused = await client.post("/mara/intro-call", data=filled(weeks="3"))
    assert (refused.status_code, read_page(refused).faults) == (
        400,
        {"weeks": "Is not offered by this event type"},
    )


async def test_one_date_is_cancelled_or_all(client: httpx2.AsyncClient, runtime: Runtime, lesson: EventType) -> None:
    booked = await client.post(PAGE, data=filled(weeks="4"))
    path = booked.headers["location"].partition("?")[0]
    asked = await client.get(f"{path}/cancel")
    assert "All 4 dates that are still to come" in read_page(asked).text
    first = await client.post(f"{path}/cancel", data={"series": "", "reason": ""})
    assert (first.status_code, await count(runtime)) == (303, 3)

    page = await client.get(first.headers["location"])
    assert page.text.count("<del>") == 2
    other = LINKS.findall(page.text)[0]
    assert "All 3 dates that are still to come" in read_page(await client.get(f"{other}/cancel")).text
    done = await client.post(f"{other}/cancel", data={"series": "all", "reason": "Moved away"})
    assert (done.status_code, await count(runtime)) == (303, 0)
    assert await count(runtime, "CANCELLED") == 4


async def test_a_booking_alone_is_cancelled_whatever_is_sent(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    booked = await client.post("/mara/intro-call", data=filled())
    path = booked.headers["location"].partition("?")[0]
    assert "Only this date" not in (await client.get(f"{path}/cancel")).text
    assert (await client.post(f"{path}/cancel", data={"series": "all"})).status_code == 303
    assert await count(runtime, "CANCELLED") == 1


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_visitor_repeats_a_booking_and_cancels_all(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, lesson: EventType, scripts: bool
) -> None:
    options: dict[str, Any] = {} if scripts else {"java_script_enabled": False}
    page = await visit(browser, client, f"{PAGE}?date=2026-03-16&tz=UTC", **options)
    await page.get_by_role("button", name="10:00", exact=False).first.click()
    await fill(page)
    await page.get_by_label("Repeat weekly").select_option("4")
    await page.get_by_label("If a week is not free, book the other weeks").check()
    await confirm(page)
    dates = page.get_by_role("region", name="All dates")
    await expect(dates.get_by_role("listitem")).to_have_count(4)
    await dates.get_by_role("link").last.click()
    await page.get_by_role("link", name="Cancel…").click()
    await page.get_by_label("All 4 dates that are still to come").check()
    await page.get_by_role("button", name="Cancel the meeting").click()
    await expect(page.get_by_role("heading", name="Your meeting is cancelled")).to_be_visible()
    assert await count(runtime, "CANCELLED") == 4
