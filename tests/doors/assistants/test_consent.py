"""The consent page in a real browser: with and without scripts, sent back to the program, and never inside a frame."""

from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.async_api import Browser

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.doors.assistants.support import REDIRECT, ask, register
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.peers import serve

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"


@pytest.mark.parametrize("scripts", BOTH_WAYS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_the_browser_comes_back_to_the_program_with_a_code(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, scripts: bool, host: str
) -> None:
    client_id = await register(client, f"http://{host}/callback")
    async with serve(PAGE % (4, b"done")) as program:
        back = f"http://{host}:{program.port}/callback"
        page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
        await page.goto(ask(client_id, redirect_uri=back))
        await page.uncheck("[value='contacts:write']")
        await page.click("button[value=allow]")
        await page.wait_for_url(f"{back}?**")

    found = parse_qs(urlsplit(page.url).query)
    assert found.keys() == {"code", "state", "iss"}
    assert found["state"] == ["the state & more"]
    assert faults == []
    scopes = await runtime.pool.fetchval("select scopes from assistant_codes")
    assert "contacts:read" in scopes
    assert "contacts:write" not in scopes


INSTALLED = (
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "vscode://openslot.helper/cb?x=1",
    "com.example.app:/callback",
)


@pytest.mark.parametrize("uri", INSTALLED)
async def test_a_program_that_is_installed_is_opened_by_its_own_scheme(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, uri: str
) -> None:
    client_id = await register(client, uri)
    page, faults = await open_as(browser, client, runtime, user)
    sent: list[str] = []
    page.on("response", lambda answer: sent.append(answer.headers.get("location", "")))
    await page.goto(ask(client_id, redirect_uri=uri))
    assert "This opens a program on your computer. Another program can pretend to be it." in await page.inner_text(
        "main"
    )
    assert await page.inner_text("dd strong") == f"{uri.partition(':')[0]}:"
    async with page.expect_response("**/oauth/authorize"):
        await page.click("button[value=allow]")
    await page.wait_for_timeout(300)

    assert sent[-1].startswith(f"{uri}{'&' if '?' in uri else '?'}code=")
    assert faults == []
    assert urlsplit(page.url).path == "/oauth/authorize"


async def test_the_page_is_never_shown_in_a_frame(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    address = f"{str(client.base_url).rstrip('/')}{ask(await register(client))}"
    frame = f'<iframe src="{address.replace("&", "&amp;")}"></iframe>'.encode()
    async with serve(PAGE % (len(frame), frame)) as trap:
        page, _ = await open_as(browser, client, runtime, user)
        refused: list[str] = []
        page.on("console", lambda message: refused.append(message.text))
        await page.goto(f"http://127.0.0.1:{trap.port}/")
        await page.wait_for_timeout(500)

        for shown in page.frames:
            assert "Connect “" not in await shown.content()
    assert any("frame-ancestors 'none'" in text for text in refused)


async def test_a_page_that_opens_it_in_a_window_of_its_own_is_left_alone_and_the_way_back_works(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    client_id = await register(client, "http://127.0.0.1/callback")
    async with serve(PAGE % (4, b"done")) as program:
        site = f"http://127.0.0.1:{program.port}"
        address = f"{str(client.base_url).rstrip('/')}{ask(client_id, redirect_uri=f'{site}/callback')}"
        page, _ = await open_as(browser, client, runtime, user)
        await page.goto(f"{site}/")
        async with page.expect_popup() as opened:
            await page.evaluate("address => { window.popup = window.open(address) }", address)
        window = await opened.value
        await window.wait_for_selector("button[value=allow]")
        # Neither can reach the other: a page that has opened ours can't send it elsewhere while the host reads it.
        assert await window.evaluate("window.opener") is None
        assert await page.evaluate("window.popup.closed") is True
        await window.click("button[value=allow]")
        await window.wait_for_url(f"{site}/callback?**")

    assert "code" in parse_qs(urlsplit(window.url).query)
    assert page.url == f"{site}/"


async def test_a_refused_request_has_a_way_back_that_is_clicked_and_not_taken(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    page, _ = await open_as(browser, client, runtime, user)
    await page.goto(ask(await register(client), code_challenge_method="plain"))
    link = page.locator(f"a[href^='{REDIRECT}?error=invalid_request']")

    assert urlsplit(page.url).path == "/oauth/authorize"
    assert await link.inner_text() == "Go back to assistant.example"
