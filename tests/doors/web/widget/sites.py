"""Sites that embed the widget, each at an origin of its own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from playwright.async_api import Browser, Frame, Page

from tests.support.live import serving

# What a careful site allows: the widget's script and its frame, and no inline styles.
POLICY = (
    "default-src 'none'; script-src {service} 'nonce-site'; frame-src {service} 'self'; "
    "style-src 'self'; img-src 'self'"
)
WHERE_FOCUS_IS = (
    "() => document.activeElement.shadowRoot?.activeElement?.part.value ?? document.activeElement.localName"
)
# Collects every event of the widget and every message, as the site sees them.
COLLECT = """<script nonce="site">
const seen = [], messages = [];
for (const type of ["ready", "slotSelected", "booked", "rescheduled", "cancelled", "error"])
  document.addEventListener(type, (event) => seen.push([type, event.detail]), true);
addEventListener("message", (event) => messages.push(event.data));
</script>"""
MODES = ["inline", "popup", "floating"]


def page_with(markup: str, *, service: str) -> str:
    """Write a page that loads the widget and contains this markup."""
    return f"""<!doctype html><html lang="en"><head><title>A site</title>{COLLECT}
<script src="{service}/widget.js" async></script></head>
<body><main><h1>A site</h1><a href="#before">Before</a>{markup}<a href="#after">After</a></main></body></html>"""


@asynccontextmanager
async def site(
    browser: Browser, pages: Mapping[str, str], *, service: str, name: str = "localhost"
) -> AsyncIterator[str]:
    """Serve pages under another name than the service's, so that both the origin and the site differ."""
    policy = POLICY.format(service=service).encode()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        body = "" if scope["path"] == "/favicon.ico" else pages.get(scope["path"])
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-security-policy", policy)]
        await send({"type": "http.response.start", "status": 404 if body is None else 200, "headers": headers})
        await send({"type": "http.response.body", "body": (body or "").encode()})

    async with serving(app) as address:
        try:
            yield address.replace("127.0.0.1", name)
        finally:
            # The server stops when the browser has closed its connections.
            for context in list(browser.contexts):
                await context.close()


async def wait_for_event(page: Page, kind: str) -> dict[str, str]:
    """Wait until the site has seen an event of this kind, and return its newest detail."""
    await page.wait_for_function("kind => seen.some(([each]) => each === kind)", arg=kind)
    detail: dict[str, str] = await page.evaluate("kind => seen.findLast(([each]) => each === kind)[1]", kind)
    return detail


async def find_frame(page: Page, selector: str = "openslot-booking iframe") -> Frame:
    """Wait until the page for frames is in a frame, and return that frame."""
    frame = await (await page.wait_for_selector(selector)).content_frame()  # type: ignore[union-attr]
    assert frame is not None
    await frame.wait_for_url(lambda url: "/framed" in url)
    return frame


async def expect_focus(page: Page, place: str) -> None:
    """Wait until the focus is at a part of the widget, or at an element of this name."""
    await page.wait_for_function(f"place => ({WHERE_FOCUS_IS})() === place", arg=place)


async def press_escape(page: Page) -> None:
    """Press the key; if it takes its own frame away, the browser may never say that it has arrived."""
    with suppress(TimeoutError):
        await asyncio.wait_for(page.keyboard.press("Escape"), 10)


async def open_site(browser: Browser, address: str, **options: Any) -> tuple[Page, list[str]]:
    """Open a page, and collect what the browser complains about."""
    page = await (await browser.new_context(**options)).new_page()
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    await page.goto(address)
    return page, faults


def widget(service: str, mode: str = "inline", **attributes: str) -> str:
    """Write the element as a site does, with a plain link inside."""
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<openslot-booking mode="{mode}"{more}><a href="{service}/framed">Book a call</a></openslot-booking>'
