"""Pictures of the pages for the documentation: `make screenshots`, then look at each of them."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from playwright.async_api import Browser, Page, ViewportSize

from openslot.accounts.models import UserWanted
from openslot.accounts.plans import Plan
from openslot.app import create_app
from openslot.core.actor import OPERATOR
from openslot.core.config import Settings, load_settings
from openslot.core.embedded import start_server, stop_server
from openslot.core.log import set_up_logging
from openslot.core.migrate import migrate
from openslot.demo.offers import make_offers
from openslot.people import operations as people
from openslot.runtime import open_runtime
from tests.browsing import open_browser
from tests.live import serving

IMAGES = Path(__file__).parents[1] / "docs/images"
WIDE, PHONE = ViewportSize(width=1120, height=620), ViewportSize(width=390, height=844)
PAGE = "/mara/intro-call"


def now() -> datetime:
    """Tell the same time for every picture, so that only a change of a page changes one."""
    return datetime(2027, 3, 8, 13, 32, tzinfo=UTC)


class Picture(Struct, frozen=True, kw_only=True):
    """One state of a page, and how it is looked at."""

    name: str
    path: str
    act: Callable[[Page], Awaitable[None]] | None = None
    on_phone: bool = False
    is_dark: bool = False
    locale: str = "en-GB"
    is_whole: bool = False
    """Whether all of a page that is higher than the window is shown."""


async def choose(page: Page) -> None:
    """Choose the 16th of March, and a time."""
    await page.click("button[value='2027-03-16']")
    await page.click(".day:not([hidden]) button >> nth=4")
    await page.fill("#name", "Jonas Okafor")


async def book(page: Page) -> None:
    """Book that time."""
    await choose(page)
    await page.fill("#email", "jonas@okafor.example")
    await page.click("[data-form] .button-main")
    await page.wait_for_selector(".mark.good")


PICTURES = (
    Picture(name="booking", path=f"{PAGE}?date=2027-03-16"),
    Picture(name="booking-phone", path=f"{PAGE}?date=2027-03-16", on_phone=True, is_dark=True),
    Picture(name="booking-arabic", path="/mara/group-workshop", on_phone=True, locale="ar"),
    Picture(name="booking-form", path=PAGE, act=choose, is_whole=True),
    Picture(name="host", path="/mara", on_phone=True, is_dark=True),
    Picture(name="booking-confirmed", path=PAGE, act=book, is_whole=True),
    Picture(name="booking-taken", path=f"{PAGE}?start=2027-03-16T09:00:00Z", on_phone=True),
)


async def take(browser: Browser, base_url: str, picture: Picture) -> None:
    """Take one picture."""
    context = await browser.new_context(
        base_url=base_url,
        viewport=PHONE if picture.on_phone else WIDE,
        color_scheme="dark" if picture.is_dark else "light",
        locale=picture.locale,
        timezone_id="Europe/Berlin",
    )
    page = await context.new_page()
    await page.goto(picture.path)
    if picture.act is not None:
        await picture.act(page)
    await page.wait_for_load_state("networkidle")
    await page.screenshot(path=IMAGES / f"{picture.name}.png", full_page=picture.is_whole)
    await context.close()


async def make_pictures(settings: Settings) -> None:
    """Serve the demo's first host, and take every picture."""
    async with open_runtime(settings, clock=now) as runtime, runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(
            email="mara@harbor.example",
            name="Mara Lindqvist",
            username="mara",
            plan=Plan.PRO,
            zone="Europe/Berlin",
        )
        await make_offers(work, await people.welcome(work, wanted))
    async with serving(create_app(settings, clock=now)) as base_url, open_browser() as browser:
        for picture in PICTURES:
            await take(browser, base_url, picture)


def main() -> None:
    """Start a PostgreSQL for the pictures."""
    folder = Path(tempfile.mkdtemp())
    server = start_server(folder, options={"fsync": "off", "synchronous_commit": "off"})
    try:
        asyncio.run(migrate(server.url))
        settings = load_settings({"database_url": server.url, "data_dir": folder, "log_level": "error"}, environ={})
        set_up_logging(settings)
        asyncio.run(make_pictures(settings))
    finally:
        stop_server(folder)


if __name__ == "__main__":
    main()
