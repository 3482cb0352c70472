"""The account menu: theme, hours, first weekday and language, which hosts' pages follow, with and without scripts."""

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.host import Book

PREFERENCES = "/settings/preferences"


async def test_a_theme_wins_over_the_system_until_it_is_the_systems_again(member: httpx2.AsyncClient) -> None:
    for theme, shown in (("dark", ' data-theme="dark"'), ("light", ' data-theme="light"'), ("system", "")):
        answer = await member.post(PREFERENCES, data={"theme": theme, "back": "/bookings?view=past"})

        assert answer.headers["location"] == "/bookings?view=past"
        assert f'dir="ltr"{shown}>' in (await member.get("/bookings")).text


async def test_times_have_as_many_hours_as_chosen(member: httpx2.AsyncClient, book: Book) -> None:
    await book()
    before = (await member.get("/bookings")).text
    await member.post(PREFERENCES, data={"hours": "12"})
    after = (await member.get("/bookings")).text

    assert (":00 – " in before, ":00 am – " in before) == (True, False)
    assert ":00 am – " in after


async def test_the_week_of_hours_begins_with_the_chosen_day(member: httpx2.AsyncClient) -> None:
    await member.post(PREFERENCES, data={"first_weekday": "6"})
    address = (await member.get("/availability")).text.partition('href="/availability/0')[2].partition('"')[0]
    page = (await member.get(f"/availability/0{address}")).text

    assert page.index('data-day="6"') < page.index('data-day="0"') < page.index('data-day="5"')


async def test_a_button_changes_nothing_else(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await member.post(PREFERENCES, data={"theme": "dark", "language": "de"})
    await member.post(PREFERENCES, data={"hours": "24", "language": "de"})
    await member.post(PREFERENCES, data={"first_weekday": "5", "language": "de"})
    row = await runtime.pool.fetchrow(
        "select theme, hour_format, first_weekday, locale from users where email like 'mara%'"
    )

    assert row is not None
    assert tuple(row.values()) == ("dark", 24, 5, "de")


@pytest.mark.parametrize("wrong", [{"theme": "pink"}, {"hours": "13"}, {"first_weekday": "7"}, {"language": "xx"}])
async def test_what_cannot_be_chosen_is_refused(
    member: httpx2.AsyncClient, runtime: Runtime, wrong: dict[str, str]
) -> None:
    assert (await member.post(PREFERENCES, data=wrong)).status_code == 400
    assert await runtime.pool.fetchval("select count(*) from users where theme is not null or locale <> 'en'") == 0


async def test_the_way_back_leads_to_no_other_site(member: httpx2.AsyncClient) -> None:
    for back in ("https://other.example/", "//other.example", ""):
        assert (await member.post(PREFERENCES, data={"theme": "dark", "back": back})).headers["location"] == "/"


@pytest.mark.parametrize("has_scripts", BOTH_WAYS)
async def test_the_menu_changes_theme_and_language_at_every_width(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, has_scripts: bool
) -> None:
    page, _ = await open_as(browser, client, runtime, user, java_script_enabled=has_scripts)
    for width in (390, 1000, 1920):
        await page.set_viewport_size({"width": width, "height": 900})
        await page.goto("/contacts")
        await expect(page.get_by_role("link", name="More", exact=True)).to_be_visible(visible=width == 390)
        await expect(page.get_by_role("navigation", name="Main", exact=True)).to_be_visible(visible=width != 390)
        await page.locator("#account > summary").click()
        await page.get_by_role("button", name="Dark").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await page.locator("#account > summary").click()
        await page.get_by_role("button", name="System").click()
    await page.locator("#account > summary").click()
    await page.get_by_label("Language").select_option("ar")
    if not has_scripts:
        await page.get_by_role("button", name="Change", exact=True).click()
    await expect(page.locator("html")).to_have_attribute("dir", "rtl")
