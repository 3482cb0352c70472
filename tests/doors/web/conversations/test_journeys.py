"""A conversation and a call in a real browser: on a phone and at a desk, with scripts and without."""

import io
import wave
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import ProviderName
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.domains.messaging.calls.support import tell, write_call
from tests.support.browsers import open_as
from tests.support.clocks import MovingClock
from tests.support.fake_gateway import FakeGateway, serving
from tests.support.messaging import NUMBER, PHONE, insert_number, message_form, notify, sid, status_form

SAID = "Agent: Harbor Studio, good morning.\nCaller: I would like to move my meeting <to Friday>."
NOT_ON_PHONES = pytest.mark.rest("the same journey at a desk, or without scripts")
EVERYWHERE: list[Any] = [
    pytest.param(
        {"viewport": {"width": width, "height": 844}, "java_script_enabled": scripts},
        id=f"{width} {scripts}",
        marks=() if scripts and width == 390 else NOT_ON_PHONES,
    )
    for width in (390, 1280)
    for scripts in (True, False)
]


def make_sound(seconds: int) -> bytes:
    """Make a recording without a sound."""
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(1)
        written.setframerate(8000)
        written.writeframes(b"\x80" * 8000 * seconds)
    return file.getvalue()


@pytest.fixture
async def provider() -> AsyncIterator[FakeGateway]:
    async with serving(lambda: datetime.now(UTC)) as running:
        running.files = {"rec/1": (make_sound(42), "audio/wav"), "text/1": (SAID.encode(), "text/plain")}
        yield running


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, outbound_allow=Networks((ip_network("127.0.0.0/8"),)))


@pytest.mark.parametrize("options", EVERYWHERE)
async def test_a_host_reads_answers_and_deletes_a_conversation(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    options: dict[str, Any],
) -> None:
    number = await insert_number(runtime, user_id=user.id)
    await notify(client, runtime, number, message_form(1, "Could we meet <later>?"))
    page, faults = await open_as(browser, client, runtime, user, **options)
    await page.goto("/conversations")
    await expect(page.locator("main .waiting")).to_have_text("1 unread")
    await page.get_by_role("link", name="Could we meet <later>?").click()
    await expect(page.get_by_text("Could we meet <later>?")).to_be_visible()
    await expect(page.locator(".side .waiting")).to_have_count(0)
    await page.get_by_label("Reply").fill("Of course")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("waiting to be sent")).to_be_visible()
    await page.get_by_label("Reply").fill("And then")

    clock.pass_time(seconds=10)
    await notify(client, runtime, number, message_form(2, "At five?"))
    await runtime.pool.execute("update messages set vendor_id = $1 where direction = 'outbound'", sid(7))
    await notify(client, runtime, number, status_form(7, "delivered"), about="status")
    if options["java_script_enabled"]:
        # Nobody reloads the page, and what is being written stays.
        await expect(page.get_by_text("At five?")).to_be_visible()
        await expect(page.get_by_label("Reply")).to_have_value("And then")
        await expect(page.get_by_text("3 messages")).to_be_visible()
    else:
        await page.reload()
    await expect(page.get_by_text("delivered")).to_be_visible()
    texts = await page.locator(".bubble > bdi").all_inner_texts()
    assert texts == ["Could we meet <later>?", "Of course", "At five?"]
    assert await runtime.pool.fetchval("select read_at = last_inbound_at from conversations")

    # What is typed would be asked about.
    await page.get_by_label("Reply").fill("")
    await page.get_by_role("link", name="Delete…").click()
    await expect(page.get_by_role("heading", name=f"Delete the conversation with {PHONE}?")).to_be_visible()
    await page.get_by_role("button", name="Delete this conversation").click()
    await expect(page.get_by_role("status")).to_contain_text("The conversation is deleted.")
    assert await runtime.pool.fetchval("select count(*) from messages") == 0
    assert faults == []


async def test_a_page_that_nobody_sees_asks_for_nothing(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    number = await insert_number(runtime, user_id=user.id)
    await notify(client, runtime, number, message_form(1, "Hello"))
    page, _ = await open_as(browser, client, runtime, user)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/messages") else None)
    await page.clock.install()
    await page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => window.isHidden ?? false })")
    await page.goto(f"/conversations/{await runtime.pool.fetchval('select id from conversations')}")
    await page.evaluate("window.isHidden = true")
    await page.clock.run_for(60_000)
    assert asked == []
    async with page.expect_response("**/messages") as answer:
        await page.evaluate("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    assert (await answer.value).status == 304


@pytest.mark.parametrize("options", EVERYWHERE)
async def test_a_host_hears_reads_and_deletes_a_call(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    provider: FakeGateway,
    options: dict[str, Any],
) -> None:
    number = await insert_number(
        runtime,
        user_id=user.id,
        channel=ConnectionChannel.VOICE,
        provider=ProviderName.GATEWAY,
        account=provider.url,
        token=provider.secret,
        number=NUMBER,
    )
    told = write_call(agentName="Front desk", recording="rec/1", transcript="text/1")
    assert (await tell(client, runtime, number, told, secret=provider.secret)).status_code == 200
    page, faults = await open_as(browser, client, runtime, user, **options)
    await page.goto("/calls")
    await page.get_by_role("link", name="Front desk · Recording").click()
    await expect(page.get_by_text("move my meeting <to Friday>")).to_be_visible()
    await expect(page.locator("audio")).to_be_visible()
    if options["java_script_enabled"]:
        played = "audio => new Promise(done => { audio.onplaying = () => done(audio.duration); audio.play(); })"
        assert await page.locator("audio").evaluate(played) == 42
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download the recording").click()
    file = await (await download.value).path()
    assert file.read_bytes() == provider.files["rec/1"][0]

    await page.get_by_role("link", name="Delete…").click()
    await page.get_by_role("button", name="Delete the call").click()
    await expect(page.get_by_role("status")).to_contain_text("The call is deleted.")
    await expect(page.get_by_text("There are no calls yet.")).to_be_visible()
    assert faults == []
