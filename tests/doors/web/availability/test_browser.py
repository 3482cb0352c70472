"""Availability and the first steps in a real browser: by mouse, by keyboard, without scripts, on a phone, for axe."""

import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.schedules import operations as changes
from openslot.domains.schedules.models import HolidayCalendar, Schedule, TimeRange
from openslot.domains.schedules.rules import version_of
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.availability.conftest import read_schedule
from tests.doors.web.availability.support import fill
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.host import Book
from tests.support.page_checks import CHECKED, PHONE, WIDE, check_pages, unfold

STATUS = "week-grid [role=status]"


@pytest.fixture
async def filled(runtime: Runtime, user: User, book: Book) -> tuple[Schedule, str]:
    """Give the host something of everything."""
    await book()
    schedule, away = await fill(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        version = version_of(schedule.holidays)
        await changes.change_schedule_holidays(work, user, schedule.id, HolidayCalendar("DE", "BE"), version=version)
        week = (schedule.weekly_hours[0], *schedule.weekly_hours[1:5], (TimeRange(1320, 1740),), ())
        await changes.change_schedule_hours(work, user, schedule.id, week, version=version_of(schedule.weekly_hours))
    return schedule, away


async def visit(page: Page, filled: tuple[Schedule, str]) -> AsyncIterator[str]:
    """Go through every page and every state of it that looks different."""
    schedule, away = filled
    path = f"/availability/{schedule.id}"
    for address in (
        "/availability",
        f"{path}?done=days&from=2026-03-16&to=2026-03-16",
        f"{path}/delete",
        f"{path}/holidays",
        f"{path}/days/new?day=2026-04-03",
        f"{path}/days/2026-03-20",
        "/availability/away",
        f"/availability/away/{away}/remove",
        "/availability/why?day=2026-03-16&time=11:10",
        "/availability/why?day=x&time=x",
        "/welcome/zone",
        "/welcome/hours",
        "/welcome/calendar",
        "/welcome/link",
        "/welcome/try",
        "/",
    ):
        await page.goto(address)
        await unfold(page)
        yield address
    await page.goto(path)
    await page.get_by_role("textbox", name="Monday, From").fill("nine")
    await page.get_by_role("button", name="Save hours").click()
    await expect(page.locator(".fault")).to_have_count(1)
    yield "wrong hours"
    await page.goto("/availability/away")
    await page.get_by_role("textbox", name="From").fill("x")
    await page.get_by_label("First day").fill("2026-03-20")
    await page.get_by_role("button", name="Add time off").click()
    await expect(page.locator(".fault")).to_have_count(1)
    yield "wrong time away"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, filled: tuple[Schedule, str]
) -> None:
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, filled), "availability")
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []


async def test_hours_are_drawn_moved_and_resized_by_mouse(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.goto(f"/availability/{schedule.id}")

    async def drag(begin: tuple[float, float], end: tuple[float, float]) -> None:
        await page.mouse.move(*begin)
        await page.mouse.down()
        await page.mouse.move(*end, steps=5)
        await page.mouse.up()

    async def at(day: int, minute: int) -> tuple[float, float]:
        box = await page.locator(f"[role=gridcell][data-day='{day}'][data-minute='{minute}']").bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"]

    cells = [await at(5, 600), await at(5, 750), await at(6, 660), await at(6, 720)]
    await drag((cells[0][0], cells[0][1] + 3), cells[1])
    await expect(page.locator(STATUS)).to_have_text("Saturday 10:00–12:30: Open")
    await drag((cells[0][0], cells[0][1] + 24), (cells[2][0], cells[2][1] + 24))
    await expect(page.locator(STATUS)).to_have_text("Sunday 11:00–13:30: Open")
    end = await at(6, 810)
    await drag((end[0], end[1] - 3), (end[0], end[1] + 9))
    await expect(page.locator(STATUS)).to_have_text("Sunday 11:00–13:45: Open")
    await page.get_by_role("button", name="Save hours").click()
    await expect(page.get_by_role("status").first).to_contain_text("The hours were saved")

    stored = (await read_schedule(runtime, user)).weekly_hours
    assert stored == (*schedule.weekly_hours[:5], (), (TimeRange(660, 825),))
    assert faults == []


async def test_hours_are_changed_by_keyboard_and_told(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.goto(f"/availability/{schedule.id}")
    first = page.get_by_role("gridcell", name="Monday 09:00, Open")
    await expect(first).to_have_attribute("aria-selected", "true")
    assert await page.locator("week-grid [tabindex='0']").count() == 1
    await first.focus()
    for keys, told in (
        (["Space"], "Monday 09:00–09:30: Closed"),
        (["End", "Space"], "Sunday 09:00–09:30: Open"),
        (["Shift+ArrowDown", "Shift+ArrowDown"], "Sunday 09:30–10:30: Open"),
        (["Alt+ArrowDown"], "Sunday 09:15–10:45: Open"),
        (["Alt+Shift+ArrowUp"], "Sunday 09:15–10:30: Open"),
        (["ArrowLeft", "Control+End", "ArrowLeft", "Space"], "Saturday 23:30–24:00: Open"),
        (["Alt+Shift+ArrowDown", "Alt+Shift+ArrowDown"], "Saturday 23:30–00:30: Open"),
        (["Control+Home", "ArrowRight", "PageDown", "PageDown", "PageDown", "Delete"], "Tuesday 09:00–17:00: Closed"),
    ):
        for key in keys:
            await page.keyboard.press(key)
        await expect(page.locator(STATUS)).to_have_text(told)
    await expect(page.get_by_role("gridcell", name="Sunday 00:00, Open")).to_have_attribute("aria-selected", "true")
    await page.get_by_role("button", name="Save hours").click()
    await expect(page.get_by_role("status").first).to_contain_text("The hours were saved")

    stored = (await read_schedule(runtime, user)).weekly_hours
    nine_to_five = schedule.weekly_hours[2]
    assert stored == (
        (TimeRange(570, 1020),),
        (),
        nine_to_five,
        nine_to_five,
        nine_to_five,
        (TimeRange(1410, 1470),),
        (TimeRange(555, 630),),
    )
    assert faults == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_sets_hours_dates_and_time_away_and_asks_why(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule, *, scripts: bool
) -> None:
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await page.goto("/")
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Availability").click()
    await page.get_by_role("link", name="Change Working hours").click()
    await expect(page.get_by_role("grid")).to_have_count(1 if scripts else 0)
    await page.get_by_role("button", name="Add hours Saturday").click()
    await page.get_by_role("textbox", name="Saturday, From").fill("10")
    await page.get_by_role("textbox", name="Saturday, To").fill("14:00")
    await page.get_by_role("button", name="Remove Friday 09:00").click()
    await page.get_by_label("Copy a day", exact=True).and_(page.locator("select")).select_option("Saturday")
    await page.get_by_role("checkbox", name="Sunday").check()
    await page.get_by_role("button", name="Copy hours").click()
    await expect(page.get_by_role("textbox", name="Sunday, To")).to_have_value("14:00")
    await page.get_by_role("button", name="Save hours").click()
    await expect(page.get_by_role("status").first).to_contain_text("The hours were saved")
    ten = (TimeRange(600, 840),)
    assert (await read_schedule(runtime, user)).weekly_hours == (*schedule.weekly_hours[:4], (), ten, ten)

    await page.get_by_role("link", name="Add dates").click()
    await page.get_by_label("First day").fill("2026-03-18")
    await page.get_by_label("Closed").check()
    await page.get_by_role("button", name="Save").first.click()
    await expect(page.get_by_text("Wednesday 18 March").first).to_be_visible()
    await page.get_by_role("main").get_by_role("link", name="Out of office").click()
    await page.get_by_label("First day").fill("2026-03-19")
    await page.get_by_label("Reason (optional)").fill("Dentist")
    await page.get_by_role("button", name="Add time off").click()
    await expect(page.get_by_text("Thursday 19 March").first).to_be_visible()
    await page.get_by_role("main").get_by_role("link", name="Why is a time not offered?").click()
    await page.get_by_label("Day", exact=True).fill("2026-03-19")
    await page.get_by_role("textbox", name="Time (optional)").fill("9:00")
    await page.get_by_role("button", name="Explain").click()
    await expect(page.get_by_text("Out of office (Dentist)").first).to_be_visible()
    await page.get_by_role("link", name="Change the time off").first.click()
    await page.get_by_role("link", name="Remove…").click()
    await page.get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("status")).to_contain_text("was removed")
    assert faults == []


async def test_hours_are_added_by_the_server_if_the_script_that_changes_rows_does_not_come(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    page, _ = await open_as(browser, client, runtime, user)
    await page.route("**/availability-week-edit.js*", lambda route: route.abort())
    await page.goto(f"/availability/{schedule.id}")
    await expect(page.get_by_role("grid")).to_have_count(1)
    await page.get_by_role("button", name="Add hours Saturday").click()
    await expect(page).to_have_url(re.compile("/hours#hours$"))
    await expect(page.get_by_role("textbox", name="Saturday, From")).to_have_count(1)


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_new_user_takes_the_first_steps(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, *, scripts: bool
) -> None:
    page, faults = await open_as(
        browser, client, runtime, user, java_script_enabled=scripts, timezone_id="Asia/Tokyo", viewport=PHONE
    )
    await page.goto("/")
    await page.get_by_role("region", name="First steps").get_by_role("link", name="Time zone").click()
    zone = page.get_by_label("Time zone", exact=True)
    # What was chosen before stays; the browser proposes its own zone only where none was.
    await expect(zone).to_have_value("Berlin (Germany)")
    await zone.fill("Osaka")
    if scripts:
        # The list covers the button until a zone is chosen.
        await page.get_by_role("option", name="Osaka").click()
        await expect(zone).to_have_value("Osaka (Japan)")
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("checkbox", name="Friday").uncheck()
    await page.get_by_label("Monday, From").fill("8")
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Continue without a calendar").click()
    await expect(page.get_by_role("link", name="http://127.0.0.1:8000/mara/30min")).to_be_visible()
    await page.get_by_role("link", name="Continue", exact=True).click()
    await page.get_by_role("button", name="Finish").click()
    await expect(page.get_by_role("heading", name="Your page")).to_be_visible()
    await expect(page.get_by_role("region", name="First steps")).to_have_count(0)

    schedule = await read_schedule(runtime, user)
    assert (schedule.zone, schedule.weekly_hours[0], schedule.weekly_hours[4]) == (
        "Asia/Tokyo",
        (TimeRange(480, 1020),),
        (),
    )
    assert faults == []
