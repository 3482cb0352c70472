"""Nothing that was typed is lost: the save bar, in the browser."""

import asyncio
import re

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.browsers import open_as
from tests.support.host import TWELVE, Book
from tests.support.page_checks import BROAD
from tests.support.page_templates import TEMPLATES

CHANGED = "Color of your pages, Color, Name at the top of emails (optional), Text on your page (optional)"
WIDTHS = ((390, 844), (1280, 800))


async def _is_on_top(page: Page) -> bool:
    """Return whether the bar is inside the window, and nothing lies over its button."""
    is_seen: bool = await page.evaluate(
        """() => { const button = document.querySelector("[data-save]"), box = button.getBoundingClientRect();
        const seen = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return box.bottom <= innerHeight && button.contains(seen); }"""
    )
    return is_seen


@pytest.mark.parametrize(("width", "height"), WIDTHS)
async def test_what_is_not_saved_is_said_and_asked_about(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, width: int, height: int
) -> None:
    page, faults = await open_as(browser, client, runtime, user, viewport={"width": width, "height": height})
    await page.goto("/settings/branding")
    bar = page.locator("[data-save-bar]")
    await expect(bar).to_be_hidden()
    await page.fill("#color", "#0f766e")
    await page.fill("#brand-name", "Studio")
    await page.fill("#welcome", "Hello")

    await expect(bar).to_contain_text("Not saved")
    await expect(bar.locator("[data-what]")).to_have_text(
        "Color of your pages, Color, Name at the top of emails (optional), Text on your page (optional)"
    )
    assert await _is_on_top(page)
    assert await page.locator("section.changed").count() == 2

    await page.locator("a[href='/availability']:visible").first.click()
    await page.get_by_role("button", name="Stay on this page").click()
    await expect(page.locator("#color")).to_have_value("#0f766e")
    await page.get_by_role("button", name="Discard…").click()
    await page.get_by_role("button", name="Keep editing").click()
    await bar.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/settings/branding?done=*")
    await expect(bar).to_be_hidden()
    await expect(page.locator("#color")).to_have_value("#0f766e")
    await expect(page.locator("#brand-name")).to_have_value("Studio")

    await page.fill("#welcome", "Hello, you")
    await page.fill("#welcome", "Hello")
    await expect(bar).to_be_hidden()
    await page.fill("#welcome", "Hello, you")
    await page.get_by_role("button", name="Discard…").click()
    await page.get_by_role("button", name="Discard", exact=True).click()
    await page.wait_for_url("**/settings/branding")
    await expect(page.locator("#welcome")).to_have_value("Hello")
    assert (await runtime.pool.fetchval("select color from brands")) == "#0f766e"
    assert faults == []


async def test_a_refused_form_stays_unsaved_and_keeps_the_others(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, _ = await open_as(browser, client, runtime, user)
    await page.goto("/settings/branding")
    await page.fill("#color", "teal")
    await page.fill("#welcome", "Hello")
    await page.keyboard.press("Control+s")

    await expect(page.locator("#fault-color")).to_be_visible()
    await expect(page.locator("#welcome")).to_have_value("Hello")
    await expect(page.locator("[data-save-bar]")).to_contain_text("Text on your page")
    async with page.expect_event("dialog") as asked:
        leaving = asyncio.create_task(page.reload())
    question = await asked.value
    await question.accept()
    await leaving
    assert question.type == "beforeunload"


async def test_hours_that_were_drawn_are_not_lost(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, _ = await open_as(browser, client, runtime, user)
    schedule = await runtime.pool.fetchval("select id from schedules")
    await page.goto(f"/availability/{schedule}")
    await page.locator("fieldset[data-day='6'] button[value^='add']").click()
    await page.locator("fieldset[data-day='6'] .range input").first.fill("10:00")
    await page.locator("fieldset[data-day='6'] .range input").nth(1).fill("12:00")

    await expect(page.locator("[data-what]")).to_have_text("Sunday")
    await page.locator("a[href='/bookings']:visible").first.click()
    await page.locator("#leave").get_by_role("button", name="Save").click()
    await page.wait_for_url("**/bookings")
    await page.goto(f"/availability/{schedule}")
    await expect(page.locator("fieldset[data-day='6'] .range input").first).to_have_value("10:00")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/contacts/new", "[name=notes]"),
        ("/bookings/new?type={slug}&day=2026-03-16", "[name=notes]"),
        ("/settings/reminders/all/new", "[name=text]"),
        ("/settings/notifications", "[name=topics]"),
        ("/account", "form[action='/account/keys'] [name=name]"),
        ("/event-types/{type}/wait-list", "main [name=minutes], main input[type=number]"),
        ("/settings/webhooks/new", "[name=url]"),
        ("/availability/away", "[name=reason]"),
    ],
)
async def test_no_page_is_left_with_what_was_typed(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, path: str, field: str
) -> None:
    page, faults = await open_as(browser, client, runtime, user)
    offered = await runtime.pool.fetchrow("select id, slug from event_types")
    assert offered is not None
    path = path.format(type=offered["id"], slug=offered["slug"])
    answer = await page.goto(path)
    assert answer is not None
    assert answer.status == 200
    typed = page.locator(field).first
    if await typed.get_attribute("type") == "checkbox":
        await typed.click()
    else:
        await typed.fill("7" if await typed.get_attribute("type") == "number" else "What I have typed")
    await page.locator("[data-save-bar][data-script]").wait_for(state="attached")
    await page.locator("a[href='/analytics']:visible").first.click()
    await page.locator("#leave").get_by_role("button", name="Stay on this page").click()

    assert page.url.endswith(path)
    assert await typed.is_checked() is False if "topics" in field else await typed.input_value() != ""
    assert faults == []


async def test_private_notes_are_saved_while_they_are_typed(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    await book(TWELVE, name="Hana Kim", email="hana@kim.example")
    page, faults = await open_as(browser, client, runtime, user, viewport=BROAD)
    notes = "select private_notes from bookings where id = $1"
    await page.goto(f"/bookings/{booking.id}")
    await page.get_by_role("textbox", name="Private notes").fill("Likes tea")
    await expect(page.locator("[data-told]")).to_have_text("Saved.")
    assert await runtime.pool.fetchval(notes, booking.id) == "Likes tea"

    await page.goto("/bookings")
    await page.locator(".booking-row", has_text="Jonas Okafor").click()
    async with page.expect_response("**/notes"):
        await page.get_by_role("textbox", name="Private notes").fill("Likes tea with milk")
        await page.locator(".booking-row", has_text="Hana Kim").click()
    await expect(page.locator("aside.beside")).to_contain_text("Hana Kim")
    assert await runtime.pool.fetchval(notes, booking.id) == "Likes tea with milk"

    await page.goto(f"/bookings/{booking.id}")
    await page.route("**/notes", lambda route: route.abort())
    await page.get_by_role("textbox", name="Private notes").fill("Likes coffee")
    await expect(page.locator("[data-told]")).to_have_text("Could not be saved. Check your connection, then try again.")
    assert [fault for fault in faults if "ERR_FAILED" not in fault] == []


def test_every_page_with_a_save_bar_names_what_it_goes_back_to() -> None:
    for path in TEMPLATES.rglob("*.html"):
        text = path.read_text()
        is_page = "{% block title %}" in text and re.search(r"<form [^>]*data-watch", text) is not None
        assert not is_page or "{% set saved_path = " in text, path
