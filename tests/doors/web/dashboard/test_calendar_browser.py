"""The calendar of bookings in a real browser: for axe, by hand, by key, and without scripts."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import pytest
from playwright.async_api import Browser, CDPSession, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import OutOfOffice
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.browsers import open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import TEN, TWELVE, Book
from tests.support.page_checks import CHECKED, PHONE, WIDE, check_pages

WEEK = "/bookings/week?date=2026-03-16"


async def visit(page: Page, chosen: object) -> AsyncIterator[str]:
    """Go through every view, with and without something in it."""
    for path in (
        WEEK,
        f"{WEEK}&booking={chosen}",
        "/bookings/week?date=2026-03-29",
        "/bookings/day?date=2026-03-16",
        "/bookings/month?date=2026-03-16",
        "/bookings/month?date=2026-01-01",
    ):
        await page.goto(path)
        yield path


async def test_every_view_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    chosen = await book(notes="Pricing for a team of 12", guests=("li@okafor.example",))
    await book(TWELVE, name="Hana Kim With-A-Very-Long-Name-That-Does-Not-Break", email="h@kim.example")
    for number in range(4):
        await book(TEN + timedelta(days=1, minutes=30 * number), name=f"Guest {number}")
    async with runtime.transaction(OPERATOR) as work:
        away = OutOfOffice(TEN + timedelta(days=2), TEN + timedelta(days=3), "School play")
        await schedules.add_out_of_office(work, user, away)
    await runtime.pool.execute(
        """insert into busy_spans (host_no, source, uid, during) select no, 'Work', 'a', tstzrange($2, $3)
        from users where id = $1""",
        user.id,
        TEN + timedelta(days=3, hours=2),
        TEN + timedelta(days=3, hours=4),
    )
    clock.now = TEN + timedelta(minutes=45)
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, chosen.id), "calendar of bookings")
    assert faults == []


async def grab(page: Page, name: str, to: str, on: str) -> None:
    """Drag a booking to the line of an hour on another day, and hold it there."""
    box = await page.locator(".cal-booking", has_text=name).bounding_box()
    day = await page.locator(f".cal-clock[data-on='{on}']").bounding_box()
    line = await page.locator(".cal-hours span", has_text=to).bounding_box()
    assert box is not None
    assert day is not None
    assert line is not None
    await page.mouse.move(box["x"] + 20, box["y"] + 4)
    await page.mouse.down()
    async with page.expect_response("**/reschedule?day=*"):
        await page.mouse.move(day["x"] + 20, line["y"] + 10, steps=4)
    await page.mouse.move(day["x"] + 20, line["y"] + 4, steps=2)


async def check_place(page: Page, on: str, hour: str, *, after: float = 0) -> None:
    """Fail if what a booking would become is drawn anywhere but in its day, below the line of its hour."""
    target = await page.locator(".cal-target").bounding_box()
    day = await page.locator(f".cal-clock[data-on='{on}']").bounding_box()
    lines = [await page.locator(".cal-hours span", has_text=each).bounding_box() for each in (hour, "15:00", "16:00")]
    assert target is not None
    assert day is not None
    begin, earlier, later = (line["y"] + line["height"] / 2 for line in lines if line is not None)
    assert target["y"] == pytest.approx(begin + after * (later - earlier), abs=3)
    assert day["x"] <= target["x"]
    assert day["width"] - 8 <= target["width"] <= day["width"]


async def count_seen_openings(page: Page) -> int:
    """Count the free times that are drawn where they are, each at a height of its own."""
    boxes = [await each.bounding_box() for each in await page.locator(".cal-opening").all()]
    return len({(box["x"], box["y"]) for box in boxes if box is not None and box["width"] > 20 and box["height"] >= 2})


async def find_start(runtime: Runtime) -> object:
    return await runtime.pool.fetchval("select starts_at from bookings where invitee_name = 'Jonas Okafor'")


async def test_a_booking_is_dragged_to_another_time(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await book()
    await book(TWELVE + timedelta(days=1), name="Hana Kim", email="hana@kim.example")
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.goto(WEEK)
    dialog = page.get_by_role("dialog", name="Move the booking")
    target = page.locator(".cal-target")
    # Escape leaves it where it was.
    await grab(page, "Jonas Okafor", "14:00", "2026-03-17")
    await expect(target).to_have_text("To 14:00")
    await check_place(page, "2026-03-17", "14:00")
    assert await count_seen_openings(page) > 20
    await expect(page.locator(".cal-booking.moving")).to_have_count(1)
    await page.keyboard.press("Escape")
    await page.mouse.up()
    await expect(target).to_have_count(0)
    await expect(dialog).to_be_hidden()
    # Another meeting is there: it says why, and nothing changes.
    await grab(page, "Jonas Okafor", "13:00", "2026-03-17")
    await expect(target).to_have_class("cal-target blue closed")
    await page.mouse.up()
    await expect(dialog).to_contain_text("This booking stays where it is")
    await expect(dialog.locator(".fault")).not_to_be_empty()
    await dialog.get_by_role("button", name="Close").click()
    await expect(target).to_have_count(0)
    # The question says who is told; Keep changes nothing.
    await grab(page, "Jonas Okafor", "14:00", "2026-03-17")
    await page.mouse.up()
    await expect(dialog).to_contain_text("Move Jonas Okafor to Tuesday 17 March, 14:00?")
    await expect(dialog).to_contain_text("No mail server is set up")
    await dialog.get_by_role("link", name="Keep").click()
    await expect(target).to_have_count(0)
    assert await find_start(runtime) == TEN
    await grab(page, "Jonas Okafor", "14:00", "2026-03-17")
    await page.mouse.up()
    await dialog.get_by_role("button", name="Move").click()
    await expect(page.get_by_role("status")).to_contain_text("The booking was rescheduled")
    moved = page.locator(".cal-clock[data-on='2026-03-17'] .cal-booking", has_text="Jonas Okafor")
    await expect(moved).to_contain_text("14:00 – 14:30")
    await work_off(runtime, clock)
    mailed = await runtime.pool.fetch("select recipient, kind from mail_messages where kind like '%resched%'")
    assert "jonas@okafor.example" in {row["recipient"] for row in mailed}
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []


async def test_keys_move_a_booking_and_lead_to_other_weeks(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await book()
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.goto(WEEK)
    await page.keyboard.press("ArrowRight")
    await page.wait_for_url("**/bookings/week?date=2026-03-23")
    await page.keyboard.press("t")
    await page.wait_for_url("**/bookings/week?date=2026-03-16")
    await page.locator(".cal-booking").focus()
    async with page.expect_response("**/reschedule?day=*"):
        await page.keyboard.press("m")
    await expect(page.locator(".cal-opening").first).to_be_attached()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowDown")
    await expect(page.locator(".cal-clock[data-on='2026-03-17'] .cal-target")).to_have_text("To 11:30")
    await check_place(page, "2026-03-17", "11:00", after=0.5)
    assert await count_seen_openings(page) == await page.locator(".cal-opening").count()
    await page.keyboard.press("Escape")
    await expect(page.locator(".cal-target")).to_have_count(0)
    async with page.expect_response("**/reschedule?day=*"):
        await page.keyboard.press("m")
    await expect(page.locator(".cal-opening").first).to_be_attached()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Move").click()
    await expect(page.get_by_role("status")).to_contain_text("The booking was rescheduled")
    assert await find_start(runtime) == TEN + timedelta(minutes=30)
    assert faults == []


async def test_the_chosen_booking_is_beside_the_week_where_there_is_room(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    page, faults = await open_as(browser, client, runtime, user, viewport=WIDE)
    await page.goto(WEEK)
    await page.locator(".cal-booking").click()
    panel = page.get_by_role("complementary", name="Chosen booking")
    await expect(panel).to_contain_text("Jonas Okafor")
    await expect(panel.get_by_role("link", name="Close")).to_be_focused()
    await page.wait_for_url(f"**{WEEK}&booking={booking.id}")
    await panel.get_by_role("link", name="Close").click()
    await expect(panel).to_be_hidden()
    await page.set_viewport_size(PHONE)
    await page.locator(".cal-booking").click()
    await page.wait_for_url(f"**/bookings/{booking.id}")
    assert faults == []


async def test_without_scripts_the_form_moves_it(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    page, _ = await open_as(browser, client, runtime, user, java_script_enabled=False)
    await page.goto(f"{WEEK}&booking={booking.id}")
    await page.get_by_role("link", name="Reschedule").click()
    await page.goto(f"/bookings/{booking.id}/reschedule?start=2026-03-17T14:00")
    await page.get_by_role("button", name="Move").click()
    await expect(page.get_by_role("status")).to_contain_text("The booking was rescheduled")
    assert await find_start(runtime) == TWELVE.replace(day=17, hour=13)


async def touch(page: Page, finger: CDPSession, *steps: tuple[str, float, float]) -> None:
    """Send what a finger does."""
    for kind, x, y in steps:
        points = [] if kind == "touchEnd" else [{"x": x, "y": y}]
        await finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        # As long as the press that begins to move it, with some room.
        await page.wait_for_timeout(900 if kind == "touchStart" else 50)


async def test_a_booking_is_moved_by_a_long_press_and_a_finger(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await book()
    page, faults = await open_as(browser, client, runtime, user, viewport=PHONE, has_touch=True)
    await page.goto("/bookings/day?date=2026-03-16")
    link = page.locator(".cal-booking", has_text="Jonas Okafor")
    await link.scroll_into_view_if_needed()
    box, line = await link.bounding_box(), await page.locator(".cal-hours span", has_text="13:00").bounding_box()
    assert box is not None
    assert line is not None
    x, y = box["x"] + 40, box["y"] + 4
    # The script that moves is loaded before the press is long.
    await link.hover()
    finger = await page.context.new_cdp_session(page)
    await touch(page, finger, ("touchStart", x, y), ("touchMove", x, y + 20), ("touchMove", x, line["y"] + 4))
    await expect(page.locator(".cal-target")).to_have_text("To 13:00")
    await check_place(page, "2026-03-16", "13:00")
    await touch(page, finger, ("touchEnd", 0, 0))
    dialog = page.get_by_role("dialog", name="Move the booking")
    await expect(dialog).to_contain_text("Move Jonas Okafor to today, 13:00?")
    await dialog.get_by_role("button", name="Move").click()
    await expect(page.get_by_role("status")).to_contain_text("The booking was rescheduled")
    assert faults == []
