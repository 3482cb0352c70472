"""Webhooks, profile and notifications in a real browser: for axe, on a phone, right to left, and by hand."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.crm import operations as crms
from openslot.domains.crm.models import CrmWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.webhooks.conftest import Happen
from tests.doors.web.profile.conftest import draw
from tests.doors.web.webhooks.conftest import HERE, Create, last_delivery
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.messaging import insert_number
from tests.support.page_checks import CHECKED, check_pages, unfold
from tests.support.receiver import Receiver

TEXT = """# About me
Plain, **bold** and [a link](https://a-rather-long-name-of-a-site.example/x).

- One
- [Write](mailto:mara@a.example)

## العربية
نص **عريض** مع [رابط](https://a.example)."""
LONG = "A rather long description of the program that listens there, withoutanyspacessothatithastobreaksomewhere"


@pytest.fixture
async def places(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    create: Create,
    receiver: Receiver,
    happen: Happen,
) -> list[str]:
    """Give the pages something to show, and list every state of them that looks different."""
    quiet, _ = await create(description=LONG)
    await member.post(f"{quiet}/pause")
    path, _ = await create(f"{receiver.url}/{'a-long-path/' * 12}")
    await happen()
    await work_off(runtime, clock)
    receiver.answer(500, body=b"<h1>" + b"x" * 300 + b"</h1>")
    await happen()
    await member.post(f"{path}/test")
    await work_off(runtime, clock)
    await member.post("/settings/profile/photo", files={"photo": ("me.jpg", draw(), "image/jpeg")})
    await member.post("/settings/branding/logo", files={"logo": ("logo.jpg", draw(), "image/jpeg")})
    await member.post("/settings/branding/cover", files={"cover": ("c.jpg", draw(size=(900, 300)), "image/jpeg")})
    await member.post("/settings/branding/page", data={"welcome": TEXT, "footer": "on"})
    number = await insert_number(runtime, user_id=user.id)
    await runtime.pool.execute("update messaging_connections set last_error = 'messaging.unreachable'")
    wanted = CrmWanted(vendor="webhook", account="https://crm.example/openslot")
    crm = (await crms.connect(runtime.work(OPERATOR), user, wanted)).connection
    answered = 'crm.answered {"status":"500"}'
    await runtime.pool.execute("update crm_connections set last_error = $1, failing_since = now()", answered)
    return [
        HERE,
        f"{HERE}/new",
        quiet,
        path,
        f"{path}?result=failed&from=x",
        f"{path}?event=booking.created",
        f"{path}/edit",
        f"{path}/rotate",
        f"{path}/delete",
        f"{path}/replay",
        f"{path}/replay?from=2026-03-01&to=2026-03-31&which=all",
        f"{path}/replay?from=2026-03-02&to=2026-03-01",
        f"{path}/deliveries/{await last_delivery(runtime)}",
        "/settings/profile",
        "/settings/profile/photo/remove",
        "/settings/branding",
        "/settings/branding/logo/remove",
        "/settings/branding/cover/remove",
        "/settings/notifications",
        "/settings/reminders/all/before-1440-email",
        "/settings/reminders/all/new-after",
        "/settings/messages",
        f"/settings/messages/{number.id}",
        f"/settings/messages/{number.id}/disconnect",
        "/settings/crm",
        "/settings/crm/connect/hubspot",
        f"/settings/crm/{crm.id}/disconnect",
        "/mara",
        "/mara/30min",
        "/mara/30min?embed=1",
    ]


async def visit(page: Page, places: list[str]) -> AsyncIterator[str]:
    """Go through every page, with all that can be opened open."""
    for path in places:
        await page.goto(path)
        await unfold(page, "main details")
        yield path
    await page.goto("/settings/reminders/all/new-after")
    await page.get_by_label("Text").fill("Thanks, {name}")
    await page.get_by_role("button", name="Preview").click()
    await expect(page.locator(".fault").first).to_be_visible()
    yield "a wrong placeholder"
    await page.get_by_label("Text").fill("Thanks, {invitee_name}: {manage_link}")
    await page.get_by_role("button", name="Preview").click()
    await expect(page.get_by_role("article").first).to_contain_text("Thanks, Alex Morgan")
    await unfold(page, "main details")
    yield "a preview"
    await page.goto(f"{HERE}/new")
    await page.get_by_label("Address").fill("https://10.0.0.1/")
    await page.get_by_label("Only these events").check()
    await page.get_by_role("button", name="Add the endpoint").click()
    await expect(page.locator(".fault").first).to_be_visible()
    yield "a wrong endpoint"
    await page.goto(next(each for each in places if each.endswith("/rotate")))
    await page.get_by_role("button", name="Rotate the secret").click()
    await expect(page.get_by_label("The signing secret", exact=True)).to_be_visible()
    yield "a secret"
    await page.goto("/settings/crm/connect/webhook")
    await page.get_by_label("Address").fill("https://10.0.0.1/")
    await page.get_by_role("button", name="Connect").click()
    await expect(page.locator(".fault").first).to_be_visible()
    yield "a wrong address of a CRM"
    await page.get_by_label("Address").fill("https://crm.example/other")
    await page.get_by_role("button", name="Connect").click()
    await expect(page.get_by_label("The signing secret", exact=True)).to_be_visible()
    yield "the secret of a CRM"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, places: list[str]
) -> None:
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, places), "webhooks")
    # The browser reports the pages that show a fault, as it should.
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_writes_a_follow_up_tries_it_and_saves_it(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, *, scripts: bool
) -> None:
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await page.goto("/settings/notifications")
    await page.get_by_role("link", name="Add a follow-up").click()
    await page.get_by_label("To", exact=True).select_option("The invitee and you")
    await page.get_by_label("Subject").fill("Thanks, {invitee_name}")
    await page.get_by_label("Text").fill("It was about {event_name}.")
    await page.locator("#language").select_option("ja")
    await page.get_by_role("button", name="Preview").click()
    shown = page.get_by_role("article")
    await expect(shown).to_have_count(2)
    await expect(shown.first).to_contain_text("Thanks, Alex Morgan")
    await expect(shown.first).to_contain_text("日時")
    await page.get_by_role("button", name="Send a test to me").click()
    await expect(page.get_by_role("status").first).to_contain_text("test email is in the mailbox")
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await expect(page.get_by_role("status")).to_contain_text("Saved.")
    await page.get_by_role("link", name="2 hours after").click()
    await expect(page.get_by_label("Text")).to_have_value("It was about {event_name}.")
    await page.get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("link", name="2 hours after")).to_have_count(0)
    assert faults == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_host_gives_the_page_a_face(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, tmp_path: Path, *, scripts: bool
) -> None:
    picture = tmp_path / "me.png"
    picture.write_bytes(draw("PNG"))
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await page.goto("/settings/profile")
    await page.get_by_label("Choose a picture").set_input_files(picture)
    await page.get_by_role("button", name="Upload").click()
    await expect(page.get_by_role("status")).to_contain_text("Your photo was saved.")
    await page.goto("/settings/branding")
    for region, name in (("Logo", "logo"), ("Cover image", "cover image")):
        picture.write_bytes(draw("PNG", size=(900, 300)))
        part = page.get_by_role("region", name=region)
        await part.get_by_label("Choose a picture").set_input_files(picture)
        await part.get_by_role("button", name="Upload").click()
        await expect(page.get_by_role("status")).to_contain_text(f"Your {name} was saved.")
    await page.get_by_label("Text on your page (optional)").fill("Hello!\nI am in on **weekdays**.")
    about = page.get_by_role("region", name="Your page")
    await about.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("status")).to_contain_text("Your page was saved.")
    await page.get_by_label("One color for all of them").check()
    await page.get_by_label("Choose the color", exact=True).fill("#ffcc00")
    if scripts:
        await expect(page.get_by_label("Color", exact=True)).to_have_value("#ffcc00")
        await expect(page.locator("[data-swatch=light] [data-fill=accent]")).not_to_have_attribute("fill", "#3155d9")
    await page.get_by_role("button", name="Save appearance").click()
    await expect(page.get_by_role("status")).to_contain_text("was saved")
    await page.get_by_role("link", name="Show my page").click()
    await expect(page.get_by_text("I am in on weekdays.")).to_be_visible()
    await expect(page.locator("strong")).to_have_text("weekdays")
    for name, sizes in (("logo", [192, 64]), ("cover", [1024, 192])):
        image = page.locator(f"img.{name}")
        await image.evaluate("image => image.decode()")
        assert await image.evaluate("image => [image.width, image.height]") == sizes
    assert "/static/accent/ffcc00.css" in await page.content()
    face = page.locator("img.face")
    assert await face.evaluate("image => image.decode().then(() => image.naturalWidth)") == 512
    assert await face.evaluate("image => [image.offsetWidth, image.offsetHeight]") == [56, 56]
    await page.goto("/settings/notifications")
    await page.get_by_label("New booking").uncheck()
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await expect(page.get_by_label("New booking")).not_to_be_checked()
    assert faults == []
