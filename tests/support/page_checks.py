"""What every open page must hold: room on a phone in both directions, and no fault for axe in light and dark."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, ViewportSize

from tests.support.page_templates import list_walked_templates, recording_templates
from tests.support.parts import is_daily, shortened
from tests.support.pictures import take_pictures

Scheme = Literal["light", "dark"]

PHONE = ViewportSize(width=390, height=844)
WIDE = ViewportSize(width=1280, height=800)
BROAD = ViewportSize(width=1920, height=1080)
# A desk for axe: high enough for every navigation, as axe has to judge anew what sticks out of its background.
DESK = ViewportSize(width=1280, height=1200)
# How pages are opened to be checked: without motion, the colors are those of the other scheme at once.
CHECKED: dict[str, Any] = {"viewport": PHONE, "reduced_motion": "reduce"}
TOO_SMALL = """() => [...document.querySelectorAll('a, button, input, select, textarea, summary')]
  .filter(one => one.checkVisibility() && getComputedStyle(one).display !== 'inline' && !one.matches('.skip'))
  .filter(one => { const box = one.getBoundingClientRect(); return box.width < 24 || box.height < 24; })
  .map(one => one.outerHTML)"""
OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"
# What axe calls scrollable-region-focusable, with as many pixels to spare.
UNREACHABLE = """() => [...document.body.querySelectorAll('*')]
  .filter(one => one.scrollWidth > one.clientWidth + 13 && /auto|scroll/.test(getComputedStyle(one).overflowX))
  .filter(one => one.checkVisibility() && one.tabIndex < 0)
  .filter(one => ![...one.querySelectorAll('*')].some(each => each.tabIndex >= 0))
  .map(one => one.outerHTML)"""
MISFITS = f"""() => {{
  const root = document.documentElement, before = root.dir, misfits = [];
  for (const direction of ["ltr", "rtl"]) {{
    root.dir = direction;
    const overflow = ({OVERFLOW})();
    if (overflow > 0) misfits.push(`${{direction}}: ${{overflow}} px wider than the screen`);
    misfits.push(...({TOO_SMALL})().map((one) => `${{direction}}: too small for a finger: ${{one}}`));
    misfits.push(...({UNREACHABLE})().map((one) => `${{direction}}: can't be scrolled by keyboard: ${{one}}`));
  }}
  root.dir = before;
  return misfits;
}}"""
# What makes a state of a page another one: what is there only sometimes.
STATE_PARTS = """() => [...new Set([...document.querySelectorAll(
    '.fault, .notice, .empty, .nothing, [role=alert], [role=status], dialog[open]')]
  .filter((one) => one.checkVisibility()).map((one) => one.localName + one.className + one.id))].sort().join()"""
UNFOLD = "selector => document.querySelectorAll(selector).forEach((one) => { one.open = true; })"
LAY_DOWN = """position => document.querySelectorAll('.unsaved').forEach((bar) => {
  bar.style.position = position; })"""
AXE_SCRIPT = Axe().axe_script
RUN_AXE = "options => axe.run(options).then(found => found.violations)"
# Stylesheets and media are read again only for rules on what no page has: videos, and layouts for one orientation.
AXE: dict[str, Any] = {
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations"],
    "iframes": False,
    "preload": False,
}
AXE_ON_COLORS = {**AXE, "runOnly": ["color-contrast", "link-in-text-block"]}
# Tells which elements have passed, too.
AXE_ON_NEW_COLORS = {**AXE_ON_COLORS, "resultTypes": ["violations", "passes"], "elementRef": True}
# `make test` leaves what is too small for a finger to `TOO_SMALL`, which takes a tenth of the time.
AXE_ON_ALL_BUT_COLORS = {
    **AXE,
    "rules": {
        "target-size": {"enabled": not is_daily()},
        **{name: {"enabled": False} for name in AXE_ON_COLORS["runOnly"]},
    },
}
RUN_AXE_ON_COLORS = Path(__file__).with_name("colors.js").read_text()
LAYOUT = Path(__file__).with_name("layout.js").read_text()
# Beside a phone and a desk: half a screen, a tablet, where the rail becomes a sidebar, and a broad screen.
WIDTHS = (720, 900, 1153, BROAD["width"])
ON_A_PHONE = f"isNew => ({{ misfits: ({MISFITS})(), faults: isNew ? ({LAYOUT})() : [] }})"
ON_A_SCREEN = f"() => ({{ overflow: ({OVERFLOW})(), faults: ({LAYOUT})() }})"
# The looks of text in which axe has found no fault, and the places of what it can't judge, in this process.
FAULTLESS: dict[Scheme, list[str]] = {"light": [], "dark": []}


async def bring_axe(page: Page) -> None:
    """Let axe be in every document that the page opens from now on: the browser keeps it compiled."""
    # Half faded in, a text has too little contrast.
    assert await page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches"), "axe needs reduced motion"
    await page.add_init_script(AXE_SCRIPT)


async def run_axe(page: Page, options: dict[str, Any], name: str) -> None:
    """Fail with axe's report if it finds a fault in a page to which it was brought."""
    report(await page.evaluate(RUN_AXE, options), name)


async def unfold(page: Page, selector: str = "details") -> None:
    """Open all that can be opened, so that it is checked, too."""
    await page.evaluate(UNFOLD, selector)


@shortened
async def check_pages(page: Page, states: AsyncIterator[str], walk: str) -> None:
    """Check every state that a walk passes through, in a page opened as `CHECKED` says.

    The templates of the walk must all be among the states. axe checks each of them once, and, except in `make test`,
    once more in states with faults, notices or dialogs that it has not seen there; templates of other walks are checked
    there. `make test` looks at layouts on a phone and a desk, in light colors, `make test-all` also at the widths of
    `WIDTHS` and in dark colors.
    """
    await bring_axe(page)
    own, checked = list_walked_templates(walk), set[tuple[str, str]]()
    with recording_templates() as rendered:
        async for name in states:
            await page.wait_for_load_state()
            parts = "" if is_daily() else await page.evaluate(STATE_PARTS)
            state = rendered[urlsplit(page.url).path], parts
            is_new = state[0] in own and state not in checked
            await check_page(page, name, structure=is_new)
            if is_new:
                await take_pictures(page, f"{state[0]} {name}")
            checked.add(state)
    missing = own - {template for template, _ in checked}
    assert missing == set(), f"the walk “{walk}” must also visit pages of {sorted(missing)}"


async def check_page(page: Page, name: str, *, structure: bool = True) -> None:
    """Check an open page on a phone, on screens, in light and in dark colors, with one load; leave it as it was."""
    # Without its stylesheets a page that was just opened is another one.
    await page.wait_for_load_state()
    found = await page.evaluate(ON_A_PHONE, structure)
    told = [*found["misfits"], *(f"{PHONE['width']} px: {fault}" for fault in found["faults"])]
    assert told == [], "\n".join((name, *told))
    if is_daily() and not structure:
        return
    if structure and not is_daily():
        for width in WIDTHS:
            await check_screen(page, name, {"width": width, "height": 1000})
    if structure:
        await check_screen(page, name, DESK)
        # What floats above a button can be scrolled away.
        await page.evaluate(LAY_DOWN, "static")
        await run_axe(page, AXE_ON_ALL_BUT_COLORS, name)
        await page.evaluate(LAY_DOWN, "")
    else:
        await page.set_viewport_size(DESK)
    await check_colors(page, name, "light")
    if not is_daily():
        await page.emulate_media(color_scheme="dark")
        await check_colors(page, name, "dark")
        await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(PHONE)


async def check_screen(page: Page, name: str, size: ViewportSize) -> None:
    """Fail if something does not fit a screen of this size, or can't be read there."""
    await page.set_viewport_size(size)
    found = await page.evaluate(ON_A_SCREEN)
    told = [f"{size['width']} px: {fault}" for fault in found["faults"]]
    if found["overflow"] > 0:
        told.append(f"{found['overflow']} px wider than a screen of {size['width']} px")
    assert told == [], "\n".join((name, *told))


async def check_colors(page: Page, name: str, scheme: Scheme) -> None:
    """Fail with axe's report if it finds a fault in the colors of a page."""
    violations, fresh = await page.evaluate(RUN_AXE_ON_COLORS, [AXE_ON_NEW_COLORS, FAULTLESS[scheme]])
    report(violations, f"{name}, {scheme}")
    FAULTLESS[scheme] += fresh


def report(violations: list[Any], name: str) -> None:
    """Fail with what axe says of its findings."""
    told = [f"{rule['id']}: {one['html']}: {one['failureSummary']}" for rule in violations for one in rule["nodes"]]
    assert told == [], "\n".join((name, *told))
