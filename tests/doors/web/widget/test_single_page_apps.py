"""The widget in a single-page app: mounted, unmounted, moved and mounted again, with nothing left behind."""

import pytest
from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from tests.doors.web.widget.sites import find_frame, open_site, page_with, site, wait_for_event

# Counts the listeners for messages; the browser's driver has listeners of other kinds.
COUNT = """<script nonce="site">
let listeners = 0;
for (const target of [window, document]) {
  const add = target.addEventListener.bind(target), drop = target.removeEventListener.bind(target);
  const count = (type, change) => { if (type === "message") listeners += change; };
  target.addEventListener = (type, run, options) => {
    count(type, 1);
    options?.signal?.addEventListener("abort", () => count(type, -1));
    add(type, run, options);
  };
  target.removeEventListener = (type, ...given) => { count(type, -1); drop(type, ...given); };
}
</script>"""
MOUNT = """([service, mode]) => { const made = document.createElement("openslot-booking");
  made.setAttribute("mode", mode); made.setAttribute("url", `${service}/framed`); made.setAttribute("label", "Book");
  document.querySelector("main").append(made); }"""
# Some browsers refuse storage to the frames of other sites altogether; the widget works all the same.
REFUSE_STORAGE = """for (const name of parent === window ? [] : ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, { get() { throw new DOMException("Access is denied", "SecurityError"); } });"""
UNMOUNT = "() => document.querySelector('openslot-booking').remove()"


async def test_mount_unmount_and_mount_again(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with("", service=service) + COUNT}, service=service) as address:
        page, faults = await open_site(browser, address)
        await page.wait_for_function("() => customElements.get('openslot-booking')")
        for mode in ("inline", "popup", "floating", "inline"):
            await page.evaluate("() => { seen.length = 0 }")
            await page.evaluate(MOUNT, [service, mode])
            if mode != "inline":
                await page.get_by_role("button", name="Book").click()
            await wait_for_event(page, "ready")
            assert await page.evaluate("() => listeners") == 1
            await page.evaluate(UNMOUNT)
            assert await page.evaluate("() => listeners") == 0
            assert len(page.frames) == 1
        assert faults == []


async def test_the_same_element_can_be_mounted_again(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with("", service=service) + COUNT}, service=service) as address:
        page, _ = await open_site(browser, address)
        await page.wait_for_function("() => customElements.get('openslot-booking')")
        await page.evaluate(MOUNT, [service, "inline"])
        await wait_for_event(page, "ready")
        await page.evaluate("() => { window.kept = document.querySelector('openslot-booking'); kept.remove() }")
        await page.evaluate("() => { seen.length = 0; document.body.append(kept); document.body.prepend(kept) }")
        await wait_for_event(page, "ready")
        assert await page.evaluate("() => listeners") == 1
        await (await find_frame(page)).evaluate("() => tell('slotSelected', { startTime: '2026-03-16T09:00:00Z' })")
        await wait_for_event(page, "slotSelected")
        assert len([frame for frame in page.frames if "/framed" in frame.url]) == 1
        assert await page.evaluate("() => seen.map(([kind]) => kind)") == ["ready", "slotSelected"]


async def test_the_script_may_be_loaded_twice(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with("", service=service)}, service=service) as address:
        page, faults = await open_site(browser, address)
        await page.wait_for_function("() => customElements.get('openslot-booking')")
        await page.evaluate(
            """src => new Promise((done) => { const script = document.createElement('script');
            script.src = src; script.onload = done; document.head.append(script); })""",
            f"{service}/widget.js?again",
        )
        assert faults == []


async def test_no_storage_is_touched(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with("", service=service)}, service=service) as address:
        page, faults = await open_site(browser, address)
        await page.add_init_script(REFUSE_STORAGE)
        await page.goto(address)
        await page.evaluate(MOUNT, [service, "inline"])
        await wait_for_event(page, "ready")
        assert await page.evaluate("() => localStorage.length + sessionStorage.length") == 0
        assert await page.context.cookies() == []
        framed = await find_frame(page)
        with pytest.raises(PlaywrightError, match="Access is denied"):
            await framed.evaluate("() => localStorage.length")
        assert faults == []
