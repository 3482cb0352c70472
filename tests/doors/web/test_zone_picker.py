"""A time zone's field: its list is fetched when it is needed, and without scripts it reads what people type."""

import re

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.schedules.rules import version_of
from openslot.doors.web.shared.zone_search import list_offered
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES
from tests.support.browsers import open_as
from tests.support.host import clock, member, settings, user
from tests.support.page import read_page

__all__ = ["clock", "member", "settings", "user"]

LIST = "/help/zones"
OFFERED = re.compile(r'data-zone="([^"]+)"')
ABOUT = {"name": "Mara Lindqvist", "welcome": "", "locale": "en"}
ZONE = "select zone from users where email like 'mara%'"


async def test_all_zones_are_one_answer_that_a_browser_keeps(
    client: httpx2.AsyncClient, member: httpx2.AsyncClient
) -> None:
    page = (await member.get("/settings/profile")).text
    match = re.search(r'data-zones="([^"]+)"', page)
    assert match is not None
    kept = await client.get(match[1].replace("&amp;", "&"), headers={"accept-encoding": "gzip"})

    assert set(OFFERED.findall(kept.text)) == set(list_offered(LANGUAGES["en"]))
    assert "immutable" in kept.headers["cache-control"]
    assert kept.headers["content-encoding"] == "gzip"
    assert int(kept.headers["content-length"]) < 12_000
    assert OFFERED.findall(page) == []
    plain = await client.get(LIST, params={"lang": "de"})
    assert "no-cache" in plain.headers["cache-control"]
    assert 'data-label="Wien (Österreich)"' in plain.text


@pytest.mark.parametrize(
    ("search", "zones"),
    [("mumbai", ["Asia/Kolkata"]), ("+5:30", ["Asia/Kolkata", "Asia/Colombo"]), ("<script>", []), ("\x00" * 9, [])],
    ids=["city", "offset", "markup", "controls"],
)
async def test_the_server_searches(client: httpx2.AsyncClient, search: str, zones: list[str]) -> None:
    answer = await client.get(LIST, params={"search": search})

    assert (answer.status_code, OFFERED.findall(answer.text)) == (200, zones)
    assert ("Nothing found." in answer.text) == (not zones)
    assert "<script>" not in answer.text


async def test_what_is_typed_is_read_if_it_names_one_zone(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for typed, zone in (("mumbai", "Asia/Kolkata"), ("Berlin (Deutschland)", "Europe/Berlin"), ("utc", "UTC")):
        answer = await member.post("/settings/profile", data={**ABOUT, "timezone": typed})

        assert answer.status_code == 303, typed
        assert await runtime.pool.fetchval(ZONE) == zone


async def test_what_names_several_zones_becomes_a_choice(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    before = await runtime.pool.fetchval(ZONE)
    answer = await member.post("/settings/profile", data={**ABOUT, "timezone": "Germany"})

    assert answer.status_code == 400
    assert "Choose one of these time zones" in read_page(answer).text
    assert re.findall(r'<option value="(Europe/[^"]+)">', answer.text)[:2] == ["Europe/Berlin", "Europe/Busingen"]
    assert await runtime.pool.fetchval(ZONE) == before


@pytest.mark.parametrize("zone", ["CET", "UTC", "EST5EDT", "Japan"])
async def test_a_saved_zone_without_a_city_survives_a_save(
    member: httpx2.AsyncClient, runtime: Runtime, zone: str
) -> None:
    await runtime.pool.execute("update users set zone = $1", zone)
    await runtime.pool.execute("update schedules set zone = $1", zone)
    schedule = await runtime.pool.fetchval("select id from schedules")
    name = await runtime.pool.fetchval("select name from schedules")
    hours = {"name": name, "version": version_of((name, zone))}
    for shown, action, form in (
        ("/settings/profile", "/settings/profile", ABOUT),
        (f"/availability/{schedule}", f"/availability/{schedule}/details", hours),
    ):
        typed = read_page(await member.get(shown)).fields["timezone"].value
        saved = await member.post(action, data={**form, "timezone": typed})

        assert saved.status_code == 303, action
    assert await runtime.pool.fetchval(ZONE) == zone
    assert await runtime.pool.fetchval("select zone from schedules") == zone


async def test_a_zone_is_found_and_chosen_with_the_keyboard(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, faults = await open_as(browser, client, runtime, user, timezone_id="Asia/Tokyo")
    await page.goto("/settings/profile")
    field = page.get_by_role("combobox", name="Time zone")
    await field.click()
    options = page.locator(".zone-list").get_by_role("option")
    await expect(options.nth(0)).to_have_text("Berlin Germany")
    await expect(options.nth(1)).to_have_text("Tokyo Japan")
    await field.fill("xyzzy")
    await expect(page.get_by_text("Nothing found. Try a big city nearby")).to_be_visible()
    await field.fill("beij")
    await expect(options).to_have_text(["Beijing China"])
    await field.press("ArrowDown")
    await expect(options).to_have_attribute("aria-selected", "true")
    await field.press("Enter")
    await expect(field).to_have_value("Beijing (China)")
    await expect(page.get_by_role("listbox")).to_have_count(0)
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await expect(page.get_by_text("Your profile was saved.")).to_be_visible()
    await expect(field).to_have_value("Shanghai (China)")
    assert await runtime.pool.fetchval(ZONE) == "Asia/Shanghai"
    assert faults == []
