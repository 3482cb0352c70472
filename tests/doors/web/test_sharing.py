"""Sharing a page: the preview of its link, and its QR code on the screen and on paper."""

import io
import re
from html import unescape

import httpx2
import segno
from msgspec.structs import replace
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.doors.web.shared.qr import draw_qr
from openslot.doors.web.shared.static_files import assets
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.page_checks import OVERFLOW, PHONE
from tests.support.private_tokens import get_private_token

META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">')


def metas(html: str) -> dict[str, str]:
    """Read the meta elements of a page."""
    return {name: unescape(content) for name, content in META.findall(html)}


async def make_private(runtime: Runtime, user: User) -> str:
    """Make the host's only event type private, and tell its token."""
    async with runtime.transaction(OPERATOR) as work:
        (event_type,), _ = await event_types.list_event_types(work, user)
        return await get_private_token(work, await event_types.make_event_type_private(work, event_type))


async def describe(runtime: Runtime, user: User, description: str) -> None:
    """Describe the host's only event type."""
    async with runtime.transaction(OPERATOR) as work:
        (event_type,), _ = await event_types.list_event_types(work, user)
        await event_types.change_event_type(work, replace(event_type, description=description))


async def test_a_shared_link_shows_what_it_leads_to(
    client: httpx2.AsyncClient, user: User, runtime: Runtime, settings: Settings
) -> None:
    await describe(runtime, user, 'Half an hour\nto see "whether" we fit.')
    html = (await client.get("/mara/30min?name=Jonas&utm_source=mail")).text
    shown = metas(html)

    assert shown["og:title"] == "30 minute meeting with Mara Lindqvist"
    assert shown["og:description"] == shown["description"] == 'Half an hour to see "whether" we fit.'
    assert shown["og:url"] == f"{settings.public_url}/mara/30min"
    assert f'<link rel="canonical" href="{settings.public_url}/mara/30min">' in html
    assert '<link rel="alternate" type="text/markdown" href="/mara/30min.md">' in html
    assert shown["twitter:card"] == "summary_large_image"
    assert "robots" not in shown


async def test_the_preview_has_an_image_of_the_size_it_names(client: httpx2.AsyncClient, user: User) -> None:
    shown = metas((await client.get("/mara")).text)
    image = await client.get(shown["og:image"].partition("8000")[2])
    size = image.content[16:24]

    assert image.headers["content-type"] == "image/png"
    assert int.from_bytes(size[:4]) == int(shown["og:image:width"])
    assert int.from_bytes(size[4:]) == int(shown["og:image:height"])
    assert len(assets()["share.png"].body) < 50_000


async def test_without_a_description_the_preview_says_what_to_do(client: httpx2.AsyncClient, user: User) -> None:
    for path, language, description in (
        ("/mara", "en", "Choose a time to meet with Mara Lindqvist."),
        ("/mara/30min", "en", "Choose a time to meet with Mara Lindqvist."),
        ("/mara", "de", "Wählen Sie eine Zeit für ein Treffen mit Mara Lindqvist."),
    ):
        html = (await client.get(path, headers={"accept-language": language})).text
        assert metas(html)["og:description"] == description


async def test_a_long_description_is_shortened(client: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    await describe(runtime, user, "word " * 100)
    description = metas((await client.get("/mara/30min")).text)["description"]

    assert len(description) <= 200
    assert description.endswith("word…")


async def test_a_private_page_is_not_listed_and_keeps_its_secret(
    client: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    token = await make_private(runtime, user)
    html = (await client.get(f"/mara/30min?token={token}")).text
    head = html.partition("</head>")[0]

    assert metas(html)["robots"] == "noindex"
    assert token not in head
    assert "canonical" not in head


async def test_the_code_contains_the_link(
    client: httpx2.AsyncClient, user: User, runtime: Runtime, settings: Settings
) -> None:
    image = await client.get("/mara/30min/qr.svg")

    assert image.headers["content-type"] == "image/svg+xml"
    assert image.content == draw_qr(f"{settings.public_url}/mara/30min?utm_source=qr")
    token = await make_private(runtime, user)
    private = await client.get(f"/mara/30min/qr.svg?token={token}")
    assert private.content == draw_qr(f"{settings.public_url}/mara/30min?token={token}&utm_source=qr")


def test_the_code_is_black_on_white_with_the_margin_that_scanners_need() -> None:
    link = "https://book.example/mara/30min?utm_source=qr"
    drawn = draw_qr(link).decode()
    plain = io.BytesIO()
    segno.make(link, error="m", micro=False).save(plain, kind="svg", border=4, omitsize=True)
    path = re.search(r' d="(M4[^"]+)"', drawn)

    assert "<script" not in drawn
    assert "style=" not in drawn
    assert 'fill="#fff"' in drawn
    assert path is not None
    assert path[1] in plain.getvalue().decode()


async def test_what_can_not_be_booked_has_no_code(client: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    await make_private(runtime, user)
    for path in ("/mara/nothing", "/nobody/30min", "/mara/30min", "/mara/30min"):
        for end in ("qr", "qr.svg", "qr?token=wrong"):
            assert (await client.get(f"{path}/{end}")).status_code == 404


async def test_the_page_prints_the_code_and_nothing_else_to_press(
    browser: Browser, client: httpx2.AsyncClient, user: User
) -> None:
    context = await browser.new_context(base_url=str(client.base_url), viewport=PHONE, reduced_motion="reduce")
    page = await context.new_page()
    await page.add_init_script("window.print = () => { window.printed = true }")
    await page.goto("/mara/30min/qr")
    code = page.get_by_role("img", name="QR code that opens the page to book")
    await expect(code).to_be_visible()
    assert await code.evaluate("image => image.naturalWidth") > 0
    assert await page.evaluate(OVERFLOW) <= 0
    await page.get_by_role("button", name="Print").click()
    assert await page.evaluate("() => window.printed")
    await page.emulate_media(media="print")
    await expect(code).to_be_visible()
    await expect(page.get_by_role("button", name="Print")).to_be_hidden()
    await expect(page.get_by_role("link", name="Download the image")).to_be_hidden()
    await expect(page.locator("header")).to_be_hidden()
    plain = await (await browser.new_context(base_url=str(client.base_url), java_script_enabled=False)).new_page()
    await plain.goto("/mara/30min/qr")
    await expect(plain.get_by_role("button", name="Print")).to_be_hidden()
