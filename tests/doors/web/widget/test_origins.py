"""Who hears what: messages of other origins and other frames are ignored, and the frame tells one origin alone."""

from playwright.async_api import Browser, expect

from tests.doors.web.widget.sites import find_frame, open_site, page_with, site, wait_for_event, widget

BOOKED = {"source": "openslot", "type": "booked", "bookingId": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1"}
INSTANT = "2026-03-16T09:00:00Z"
NO_PAGES = ("javascript:alert(1)", "data:text/html,x")
# Shows one frame at a time.
FRAME = """url => new Promise((done) => { const frame = document.createElement('iframe');
  document.querySelectorAll('iframe').forEach((each) => each.remove());
  frame.src = url; frame.onload = done; document.body.append(frame); })"""
# Ends when everything that was sent before it has been received: messages keep their order.
SETTLE = """() => new Promise((done) => { addEventListener("message", (event) => event.data === "last" && done());
  window.postMessage("last", location.origin); })"""


async def test_messages_that_are_not_from_the_frame_are_ignored(browser: Browser, service: str) -> None:
    intruder = f'<script nonce="site">parent.postMessage({BOOKED}, "*")</script>'.replace("'", '"')
    async with site(browser, {"/": intruder}, service=service, name="127.0.0.1") as foreign:
        markup = f'{widget(service)}<iframe src="{service}/framed?embed_origin=x" title="Another" id="other"></iframe>'
        pages = {"/": page_with(markup, service=service), "/intruder": intruder}
        async with site(browser, pages, service=service) as address:
            page, _ = await open_site(browser, address, bypass_csp=True)
            await wait_for_event(page, "ready")
            await page.evaluate("([told]) => window.postMessage(told, '*')", [BOOKED])
            for url in (f"{address}/intruder", foreign):
                await page.evaluate(
                    """url => new Promise((done) => { const frame = document.createElement('iframe');
                    frame.src = url; frame.onload = done; document.body.append(frame); })""",
                    url,
                )
            # The right origin, but not the widget's own frame.
            other = await find_frame(page, "#other")
            await other.evaluate("([told, to]) => parent.postMessage(told, to)", [BOOKED, address])
            await page.wait_for_function("() => messages.filter((each) => each.type === 'booked').length === 4")
            await page.evaluate(SETTLE)
            assert "booked" not in await page.evaluate("() => seen.map(([kind]) => kind)")


async def test_messages_of_another_page_in_the_frame_are_ignored(browser: Browser, service: str) -> None:
    intruder = f'<script nonce="site">parent.postMessage({BOOKED}, "*")</script>'.replace("'", '"')
    pages = {"/": page_with(widget(service), service=service)}
    async with (
        site(browser, {"/": intruder}, service=service, name="127.0.0.1") as foreign,
        site(browser, pages, service=service) as address,
    ):
        page, _ = await open_site(browser, address, bypass_csp=True)
        await wait_for_event(page, "ready")
        framed = await find_frame(page)
        await framed.goto(foreign)
        await page.wait_for_function("() => messages.some((each) => each.type === 'booked')")
        await page.evaluate(SETTLE)
        assert "booked" not in await page.evaluate("() => seen.map(([kind]) => kind)")


async def test_messages_without_the_mark_or_with_an_unknown_type_are_ignored(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with(widget(service), service=service)}, service=service) as address:
        page, faults = await open_site(browser, address)
        await wait_for_event(page, "ready")
        # The frame tells its height when it is painted first, which may be later.
        await page.wait_for_function("() => messages.some((each) => each.type === 'height')")
        height = await page.evaluate("() => document.querySelector('openslot-booking').offsetHeight")
        framed = await find_frame(page)
        await page.evaluate("() => document.addEventListener('click', () => seen.push(['click']))")
        for wrong in (
            None,
            "booked",
            {"type": "booked"},
            {"source": "other", "type": "booked"},
            {"source": "openslot", "type": "click"},
            {"source": "openslot", "type": "height", "height": "tall"},
            {"source": "openslot", "type": "height", "height": -5},
            {"source": "openslot", "type": "height", "height": 0},
        ):
            await framed.evaluate("([told, to]) => parent.postMessage(told, to)", [wrong, address])
        await framed.evaluate("to => parent.postMessage('last', to)", address)
        await page.wait_for_function("() => messages.includes('last')")
        assert await page.evaluate("() => seen.map(([kind]) => kind)") == ["ready"]
        assert await page.evaluate("() => document.querySelector('openslot-booking').offsetHeight") == height
        assert faults == []


async def test_only_ids_times_and_codes_leave_the_frame(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with(widget(service), service=service)}, service=service) as address:
        page, _ = await open_site(browser, address)
        await wait_for_event(page, "ready")
        framed = await find_frame(page)
        told = {
            "bookingId": "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1",
            "startTime": "2026-03-16T09:00:00Z",
            "endTime": "2026-03-16T09:30:00.000+01:00",
            "code": "slot_taken",
            "name": "Jonas Okafor",
            "email": "jonas@okafor.example",
            "word": "jonas",
            "manageUrl": f"{service}/manage/AZl8Lm",
            "source": "evil",
            "nested": {"email": "jonas@okafor.example"},
        }
        await framed.evaluate("told => tell('booked', told)", told)
        safe = {name: told[name] for name in ("bookingId", "startTime", "endTime", "code")}
        assert await wait_for_event(page, "booked") == safe
        sent = await page.evaluate("() => messages.filter((each) => each.type === 'booked')")
        assert sent == [{"source": "openslot", "type": "booked", **safe}]


async def test_the_frame_tells_nobody_but_the_origin_it_was_given(browser: Browser, service: str) -> None:
    async with site(browser, {"/": page_with("", service=service)}, service=service) as address:
        page, _ = await open_site(browser, address)
        bare = address.partition("//")[2]
        for wrong in (
            "*",
            "",
            "/",
            "null",
            "http://elsewhere.example",
            f"{address}/",
            f"{address}/path",
            bare,
            *NO_PAGES,
        ):
            await page.evaluate(FRAME, f"{service}/framed?embed_origin={wrong}")
            framed = await find_frame(page, "iframe")
            await framed.evaluate("told => tell('booked', { startTime: told })", INSTANT)
            await page.evaluate(SETTLE)
            assert await page.evaluate("() => messages.filter((each) => each.source === 'openslot')") == [], wrong


async def test_an_address_that_is_no_page_shows_the_link_and_says_so(browser: Browser, service: str) -> None:
    wrong = (*NO_PAGES, "http://", "ftp://x.example/")
    pages = {f"/{number}": page_with(widget(service, url=each), service=service) for number, each in enumerate(wrong)}
    async with site(browser, pages, service=service) as address:
        page, _ = await open_site(browser, f"{address}/0")
        for number, each in enumerate(wrong):
            await page.goto(f"{address}/{number}")
            assert await wait_for_event(page, "error") == {"code": "invalid_url"}, each
            await page.get_by_role("link", name="Book a call").click()
            await page.wait_for_url(f"{service}/framed")


async def test_a_page_that_does_not_load_shows_the_link_until_it_does(browser: Browser, service: str) -> None:
    async with site(
        browser, {"/": page_with(widget(service, url=f"{service}/login"), service=service)}, service=service
    ) as at:
        page = await (await browser.new_context()).new_page()
        await page.clock.install()
        await page.goto(at)
        await page.wait_for_selector("openslot-booking iframe")
        await page.clock.fast_forward(21_000)
        assert await wait_for_event(page, "error") == {"code": "not_loaded"}
        await expect(page.get_by_role("link", name="Book a call")).to_be_visible()
        await page.evaluate(f"() => document.querySelector('openslot-booking').setAttribute('url', '{service}/framed')")
        await wait_for_event(page, "ready")
        await expect(page.get_by_role("link", name="Book a call")).to_be_hidden()
