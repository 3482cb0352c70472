"""The widget on a foreign site: inline, popup and floating button, by mouse, by keyboard, and without scripts."""

import pytest
from playwright.async_api import Browser, expect

from tests.doors.web.widget.sites import (
    MODES,
    WHERE_FOCUS_IS,
    expect_focus,
    find_frame,
    open_site,
    page_with,
    press_escape,
    site,
    wait_for_event,
    widget,
)
from tests.support.page_checks import AXE, bring_axe, run_axe


def in_all_modes(service: str) -> dict[str, str]:
    """Write a page for each mode."""
    return {f"/{mode}": page_with(widget(service, mode), service=service) for mode in MODES}


@pytest.mark.daily
async def test_a_foreign_page_shows_the_booking_page_and_gets_its_events(browser: Browser, service: str) -> None:
    async with site(browser, in_all_modes(service), service=service) as address:
        page, faults = await open_site(browser, f"{address}/inline")
        for mode in MODES:
            await page.goto(f"{address}/{mode}")
            if mode != "inline":
                await page.get_by_role("button", name="Book a call").click()
            assert await wait_for_event(page, "ready") == {}, mode
            framed = await find_frame(page)
            told = {"bookingId": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1", "startTime": "2026-03-16T09:00:00Z"}
            for kind in ("slotSelected", "booked", "rescheduled", "cancelled"):
                await framed.evaluate("([kind, told]) => tell(kind, told)", [kind, told])
                assert await wait_for_event(page, kind) == told, mode
            await framed.evaluate("() => tell('error', { code: 'slot_taken' })")

            assert await wait_for_event(page, "error") == {"code": "slot_taken"}, mode
            assert f"embed_origin={address.replace(':', '%3A').replace('/', '%2F')}" in framed.url, mode
        assert await page.context.cookies() == []
        assert faults == []


async def test_the_frame_is_as_high_as_its_content(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with(widget(service), service=service)}, service=service) as address:
        page, _ = await open_site(browser, address)
        await wait_for_event(page, "ready")
        framed = await find_frame(page)
        inner, shown = page.locator("iframe"), "() => document.querySelector('#room').style.height = '{}px'"
        for room in (900, 120):
            await framed.evaluate(shown.replace("{}", str(room)))
            height = await framed.evaluate("() => document.documentElement.getBoundingClientRect().height")
            await expect(inner).to_have_css("height", f"{-(-height // 1):g}px")


async def test_attributes_choose_the_colors_and_the_label(browser: Browser, service: str) -> None:
    markup = widget(service, "popup", theme="dark", accent="#ffcc00", label="Meet us")
    async with site(browser, {"/": page_with(markup, service=service)}, service=service) as address:
        page, _ = await open_site(browser, address)
        button = page.get_by_role("button", name="Meet us")
        await expect(button).to_have_css("background-color", "rgb(255, 204, 0)")
        await expect(button).to_have_css("color", "rgb(0, 0, 0)")
        await button.click()
        await expect(page.get_by_role("dialog", name="Meet us")).to_have_css("color-scheme", "dark")
        framed = await find_frame(page)
        assert "theme=dark" in framed.url
        assert "accent=ffcc00" in framed.url
        await press_escape(page)
        await page.evaluate("() => document.querySelector('openslot-booking').setAttribute('accent', '#123456')")
        await expect(page.get_by_role("button", name="Meet us")).to_have_css("color", "rgb(255, 255, 255)")


async def test_without_a_theme_the_dialog_follows_the_visitors_system(browser: Browser, service: str) -> None:
    themes = ("auto", "unknown")
    pages = {f"/{theme}": page_with(widget(service, "popup", theme=theme), service=service) for theme in themes}
    async with site(browser, pages, service=service) as address:
        for scheme, ink in (("light", "rgb(0, 0, 0)"), ("dark", "rgb(255, 255, 255)")):
            page, _ = await open_site(browser, f"{address}/auto", color_scheme=scheme)
            for theme in themes:
                await page.goto(f"{address}/{theme}")
                await page.get_by_role("button", name="Book a call").click()
                await expect(page.get_by_role("dialog"), theme).to_have_css("color", ink)


async def test_the_popup_traps_the_focus_and_returns_it(browser: Browser, service: str) -> None:
    async with site(browser, in_all_modes(service), service=service) as address:
        page, _ = await open_site(browser, f"{address}/popup")
        for mode in ("popup", "floating"):
            await page.goto(f"{address}/{mode}")
            dialog = page.get_by_role("dialog", name="Book a call")
            await page.get_by_role("button", name="Book a call").focus()
            await page.keyboard.press("Enter")
            await expect(dialog, mode).to_be_visible()
            await wait_for_event(page, "ready")
            await expect_focus(page, "close")
            reached: set[str] = set()
            presses = 0
            # The focus moves to another site's frame, and so to another process, which may take some presses.
            while presses < 12 or (presses < 600 and not {"frame", "close"} <= reached):
                presses += 1
                await page.keyboard.press("Tab")
                await page.wait_for_timeout(50)
                reached.add(await page.evaluate(WHERE_FOCUS_IS))
            assert {"frame", "close"} <= reached <= {"frame", "close", "body"}, mode
            await press_escape(page)
            await expect(dialog, mode).to_be_hidden()
            await expect_focus(page, "button")
            await expect(page.locator("iframe"), mode).to_have_count(0)


async def test_the_popup_closes_by_escape_inside_the_frame_by_its_button_and_by_the_backdrop(
    browser: Browser, service: str
) -> None:
    async with site(browser, {"/": page_with(widget(service, "popup"), service=service)}, service=service) as address:
        page, _ = await open_site(browser, address)
        dialog, button = page.get_by_role("dialog"), page.get_by_role("button", name="Book a call")
        await button.click()
        await wait_for_event(page, "ready")
        await page.frame_locator("iframe").get_by_role("button", name="Last").focus()
        await press_escape(page)
        await expect(dialog, "Escape inside the frame").to_be_hidden()
        await expect_focus(page, "button")
        await button.click()
        await page.get_by_role("button", name="Close").click()
        await expect(dialog, "the button").to_be_hidden()
        await button.click()
        await page.mouse.click(2, 2)
        await expect(dialog, "the backdrop").to_be_hidden()
        await page.evaluate("() => document.querySelector('openslot-booking').open()")
        await expect(dialog, "the site's own call").to_be_visible()


async def test_axe_finds_no_fault(browser: Browser, service: str) -> None:
    async with site(browser, in_all_modes(service), service=service) as address:
        # axe runs inside the page, which a strict policy forbids.
        page, _ = await open_site(browser, f"{address}/inline", bypass_csp=True, reduced_motion="reduce")
        await bring_axe(page)
        for mode in MODES:
            await page.goto(f"{address}/{mode}")
            if mode != "inline":
                await page.wait_for_selector("openslot-booking button")
                await run_axe(page, AXE, mode)
                await page.get_by_role("button", name="Book a call").click()
            await wait_for_event(page, "ready")
            await run_axe(page, AXE, f"{mode}, open")


async def test_nothing_moves_for_those_who_asked_for_it(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with(widget(service, "popup"), service=service)}, service=service) as address:
        for motion, name in (("reduce", "none"), ("no-preference", "a")):
            page, _ = await open_site(browser, address, reduced_motion=motion)
            await page.get_by_role("button", name="Book a call").click()
            await expect(page.get_by_role("dialog")).to_have_css("animation-name", name)


async def test_without_scripts_there_is_a_plain_link(browser: Browser, service: str) -> None:
    async with site(browser, in_all_modes(service), service=service) as address:
        page, _ = await open_site(browser, f"{address}/inline", java_script_enabled=False)
        for mode in MODES:
            await page.goto(f"{address}/{mode}")
            await page.get_by_role("link", name="Book a call").click()
            await expect(page, mode).to_have_url(f"{service}/framed")


async def test_words_follow_the_sites_language(browser: Browser, service: str) -> None:
    markup = f'<div lang="de-AT"><openslot-booking mode="popup" url="{service}/framed"></openslot-booking></div>'
    async with site(browser, {"/": page_with(markup, service=service)}, service=service) as address:
        page, _ = await open_site(browser, address)
        await page.get_by_role("button", name="Termin buchen").click()
        await expect(page.get_by_role("button", name="Schließen")).to_be_visible()
