"""The check of open pages finds what it is there for, also in text that looks like text that has passed."""

import re
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page

from tests.support.page_checks import CHECKED, FAULTLESS, PHONE, bring_axe, check_page
from tests.support.page_templates import WALKS, list_page_templates, list_walked_templates

PAGE = """<!doctype html><html lang="en"><head><title>A page</title><style>
:root { color-scheme: light dark; } a { color: light-dark(#0000ee, #9999ff); } button { min-height: 44px; }
body { color: light-dark(#000000, #ffffff); background: light-dark(#ffffff, #000000); }
.tiny { display: inline-block; width: 9px; height: 9px; }
.plain { color: light-dark(#0055ff, #8888ff); text-decoration: none; }
.pale { color: light-dark(#555555, #bbbbbb); } .card { background: light-dark(#eeeeee, #222222); padding: 8px; }
</style></head><body><main><h1>A page</h1><p>Text with <a href="/">a link</a> in it</p><p class="pale">Pale</p>
<p><a class="plain" href="/">A link alone</a></p>
<div class="card"><p class="pale">Pale on a card</p></div>FAULT</main></body></html>"""
SHADOW = """<div id="host"></div><script>document.getElementById("host").attachShadow({ mode: "open" }).innerHTML =
  "<p style='color: #aaaaaa'>In the shadow</p>"</script>"""
# axe does not judge a single letter; text that looks the same must not count as passed.
LETTER, WORDS = (f"<p style='color: #bbbbbb'>{text}</p>" for text in ("x", "Two words"))
LIKE_ITS_TEXT = """<p style="color: light-dark(#000000, #9999ff)">Text with
  <a href="/" class="plain">a link</a> in it</p>"""
BEYOND = """<div style="background: light-dark(#888888, #777777)"><div class="card" style="width: 9px; height: 40px">
  <p class="pale" style="margin: 0 0 0 40px; width: 90px">Two words</p></div></div>"""
FAULTS = {
    "a button without a name": ("<button style='width: 44px'></button>", "button-name"),
    "a picture without a text": ("<img src='data:,' width=40 height=40>", "image-alt"),
    "targets side by side": ("<b role=button tabindex=0 class=tiny></b>" * 3, "target-size"),
    "pale text": ("<p style='color: light-dark(#999999, #ffffff)'>Two words</p>", "light.*color-contrast"),
    "dim in the dark alone": ("<p style='color: light-dark(#000000, #444444)'>Two words</p>", "dark.*color-contrast"),
    "a contrast that large text alone may have": (
        "<p style='color: light-dark(#808080, #ffffff)'>Two words</p>",
        "light.*color-contrast",
    ),
    "a color that lets its ground shine through": (
        "<p style='color: light-dark(rgb(0 0 0 / 0.5), #ffffff)'>Two words</p>",
        "light.*color-contrast",
    ),
    "a ground that darkens the one below": (
        "<div style='background: light-dark(rgb(0 0 0 / 0.6), #000000)'><p>Two words</p></div>",
        "light.*color-contrast",
    ),
    "a known color on another ground": (
        "<div style='background: light-dark(#888888, #777777)'><p class='pale'>Two words</p></div>",
        "light.*color-contrast",
    ),
    "a known color beyond its ground": (BEYOND, "light.*color-contrast"),
    "a known color shining through": ("<p class='pale' style='opacity: 0.4'>Two words</p>", "color-contrast"),
    "a known color on a known ground shining through": (
        "<div style='opacity: 0.4'><div class='card'><p class='pale'>Two words</p></div></div>",
        "color-contrast",
    ),
    "a link like its text in the dark alone": (LIKE_ITS_TEXT, "dark.*link-in-text-block"),
    "pale text in a shadow tree": (SHADOW, "light.*color-contrast"),
    "a page wider than the phone": ("<div style='width: 400px'>Wide</div>", "ltr: 1?[0-9] px wider"),
    "a page wider than the phone when mirrored": ("<p style='margin-left: -60px'>Left</p>", "rtl: [0-9]+ px wider"),
    "a small button": ("<button style='min-height: 0; height: 20px; padding: 0'>OK</button>", "too small for a finger"),
    "a region that no key scrolls": (
        "<div style='overflow-x: auto'><div style='width: 900px'>Wide</div></div>",
        "can't be scrolled by keyboard",
    ),
}


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """Give a page to which axe was brought, and forget the looks of these pages in the end."""
    known = {scheme: list(looks) for scheme, looks in FAULTLESS.items()}
    opened = await (await browser.new_context(**CHECKED)).new_page()
    await bring_axe(opened)
    await opened.goto("about:blank")
    yield opened
    FAULTLESS.update(known)


async def test_a_page_without_a_fault_passes_and_stays_as_it_was(page: Page) -> None:
    for _ in range(2):
        await page.set_content(PAGE.replace("FAULT", ""))
        await check_page(page, "a page")

        assert page.viewport_size == PHONE
        assert await page.evaluate("() => document.documentElement.dir") == ""
        assert await page.evaluate("() => matchMedia('(prefers-color-scheme: light)').matches")


async def test_every_fault_is_found_after_pages_without_one(page: Page) -> None:
    await page.set_content(PAGE.replace("FAULT", ""))
    await check_page(page, "a page")
    missed = {}
    for name, (markup, told) in FAULTS.items():
        await page.set_content(PAGE.replace("FAULT", markup))
        found = await find_fault(page)
        if not re.search(told, found, re.DOTALL):
            missed[name] = found
    assert missed == {}


async def find_fault(page: Page) -> str:
    """Check a page, and tell what is found, if anything."""
    try:
        await check_page(page, "a page")
    except AssertionError as fault:
        await page.emulate_media(color_scheme="light")
        await page.set_viewport_size(PHONE)
        return str(fault)
    return ""


async def test_what_could_not_be_judged_is_judged_where_it_can_be(page: Page) -> None:
    await page.set_content(PAGE.replace("FAULT", LETTER))
    await check_page(page, "a letter")
    for markup in (WORDS, LETTER + WORDS):
        await page.set_content(PAGE.replace("FAULT", markup))
        assert "color-contrast" in await find_fault(page), markup


def test_axe_checks_every_page_template_in_one_walk() -> None:
    walked = Counter(template for walk in WALKS for template in list_walked_templates(walk))

    assert walked == Counter(list_page_templates())
    assert {"login.html", "confirm.html", "booking/book.html", "organization/members.html"} <= walked.keys()
