"""Pictures of the pages for the documentation: `make screenshots`, then look at each of them."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from playwright.async_api import Browser, Page, ViewportSize

from openslot.app import create_app
from openslot.demo.seed import seed
from openslot.domains.access import operations as access
from openslot.domains.accounts import operations as accounts
from openslot.doors.web.shared.cookies import SESSION_COOKIE
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.environment import load_settings
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.migrate import migrate
from openslot.runtime import open_runtime
from tests.support.browsers import open_browser
from tests.support.live import serving

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
    by: str = ""
    """The username of who is signed in; empty: nobody."""


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


async def open_schedule(page: Page) -> None:
    """Open the first schedule."""
    await page.locator("main section a[href^='/availability/']").first.click()
    await page.wait_for_selector("week-grid")


PICTURES = (
    Picture(name="booking", path=f"{PAGE}?date=2027-03-16"),
    Picture(name="booking-phone", path=f"{PAGE}?date=2027-03-16", on_phone=True, is_dark=True),
    Picture(name="booking-arabic", path="/mara/group-workshop", on_phone=True, locale="ar"),
    Picture(name="booking-form", path=PAGE, act=choose, is_whole=True),
    Picture(name="host", path="/mara", on_phone=True, is_dark=True),
    Picture(name="booking-confirmed", path=PAGE, act=book, is_whole=True),
    Picture(name="booking-taken", path=f"{PAGE}?start=2027-03-16T09:00:00Z", on_phone=True),
    Picture(name="home", path="/", by="mara"),
    Picture(name="home-dark", path="/", by="mara", is_dark=True),
    Picture(name="home-phone", path="/", by="mara", on_phone=True),
    Picture(name="bookings", path="/bookings", by="mara"),
    Picture(name="event-types", path="/event-types", by="mara"),
    Picture(name="availability", path="/availability", by="mara", act=open_schedule, is_whole=True),
    Picture(name="webhooks", path="/settings/webhooks/new", by="mara"),
    Picture(name="agents", path="/admin/agents", by="ada"),
    Picture(name="analytics", path="/analytics", by="mara"),
    Picture(name="members", path="/organization/members", by="ada"),
)


async def take(browser: Browser, base_url: str, picture: Picture, *, session: str | None) -> None:
    """Take one picture."""
    context = await browser.new_context(
        base_url=base_url,
        viewport=PHONE if picture.on_phone else WIDE,
        color_scheme="dark" if picture.is_dark else "light",
        locale=picture.locale,
        timezone_id="Europe/Berlin",
    )
    if session is not None:
        await context.add_cookies([{"name": SESSION_COOKIE, "value": session, "url": base_url}])
    page = await context.new_page()
    await page.goto(picture.path)
    if picture.act is not None:
        await picture.act(page)
    await page.wait_for_load_state("networkidle")
    await page.screenshot(path=IMAGES / f"{picture.name}.png", full_page=picture.is_whole)
    await context.close()


async def make_pictures(settings: Settings) -> None:
    """Serve the demo, and take every picture."""
    async with open_runtime(settings, clock=now) as runtime, runtime.transaction(OPERATOR) as work:
        seeded = await seed(work)
        sessions = {
            name: await access.begin_session(
                work, await accounts.get_user_by_email(work, sign_in.email), user_agent="pictures"
            )
            for name, sign_in in (("mara", seeded.user), ("ada", seeded.admin))
        }
    async with serving(create_app(settings, clock=now)) as base_url, open_browser() as browser:
        for picture in PICTURES:
            await take(browser, base_url, picture, session=sessions.get(picture.by))


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
