"""The slot picker inside a chat: a page under the protocol's own policy, and a text for chats that show none."""

import json
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, Frame, Page, expect

from openslot.domains.event_types.models import EventType
from openslot.doors.public_tools.picker import PICKER_URI, read_picker
from openslot.platform.i18n.languages import LANGUAGES
from tests.doors.public_tools.conftest import TestAssistant
from tests.support.clocks import MONDAY

# What hosts must enforce where a resource names no domains.
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
HOST = """
async ({html, url, asked, context, canCall}) => {
  window.seen = [];
  window.calls = 0;
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  const ask = async (params) => (await (await fetch(url, {method: "POST", headers: {"Content-Type": "application/json"},
    body: JSON.stringify({jsonrpc: "2.0", id: 1, method: "tools/call", params})})).json()).result;
  const tell = (message) => frame.contentWindow.postMessage({jsonrpc: "2.0", ...message}, "*");
  addEventListener("message", async ({source, data}) => {
    if (source !== frame.contentWindow) return;
    window.seen.push(data);
    if (data.method === "ui/initialize") tell({id: data.id, result: {protocolVersion: "2026-01-26",
      hostInfo: {name: "test", version: "1"}, hostCapabilities: canCall ? {serverTools: {}} : {},
      hostContext: context}});
    if (data.method === "ui/notifications/initialized") {
      tell({method: "ui/notifications/tool-input", params: {arguments: asked}});
      tell({method: "ui/notifications/tool-result", params: await ask({name: "list_free_times", arguments: asked})});
    }
    if (data.method === "tools/call") { window.calls++; tell({id: data.id, result: await ask(data.params)}); }
    if (data.method === "ui/message") tell({id: data.id, result: {}});
  });
  frame.srcdoc = html;
  frame.style = "width: 700px; height: 600px";
  document.body.append(frame);
}"""


async def show(
    browser: Browser, assistant: TestAssistant, event_type: EventType, *, can_call: bool = True, **context: Any
) -> tuple[Page, Frame]:
    """Show the picker as a chat does."""
    page = await (await browser.new_context()).new_page()
    page.on("console", lambda message: pytest.fail(message.text) if message.type == "error" else None)
    await page.clock.set_fixed_time(MONDAY)
    (content,) = (await assistant.ask("resources/read", {"uri": PICKER_URI}))["result"]["contents"]
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    await page.evaluate(
        HOST,
        {
            "html": content["text"].replace("<head>", f"<head>{policy}", 1),
            "url": f"{str(assistant.client.base_url).rstrip('/')}{assistant.path}",
            "asked": {"eventTypeId": str(event_type.id), "timezone": "America/New_York"},
            "context": context,
            "canCall": can_call,
        },
    )
    frame = page.frames[-1]
    await expect(frame.locator("#times button").first).to_be_visible()
    return page, frame


async def messages(page: Page, method: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await page.evaluate("window.seen")
    return [each for each in found if each.get("method") == method]


async def test_a_chosen_time_is_told_to_the_chat(
    browser: Browser, assistant: TestAssistant, meeting: EventType
) -> None:
    page, frame = await show(browser, assistant, meeting, locale="de-DE", theme="dark")

    await expect(frame.locator("h1")).to_have_text("Wählen Sie eine Zeit")
    await expect(frame.locator("#month")).to_have_text("März 2026")
    await expect(frame.locator("#zone")).to_have_text("America/New_York")
    await frame.get_by_role("button", name="Dienstag, 17. März 2026").click()
    await frame.get_by_role("button", name="06:00", exact=True).click()
    await expect(frame.locator("#times [aria-pressed=true]")).to_have_text("06:00")
    (told,) = await messages(page, "ui/message")
    assert told["params"] == {
        "role": "user",
        "content": [
            {
                "type": "text",
                "text": "Dienstag, 17. März 2026, 06:00 (America/New_York), startTime 2026-03-17T10:00:00Z",
            }
        ],
    }
    assert await messages(page, "ui/notifications/size-changed")


async def test_other_months_are_asked_for_by_the_same_tool(
    browser: Browser, assistant: TestAssistant, meeting: EventType
) -> None:
    page, frame = await show(browser, assistant, meeting, locale="en-US")

    # The model has asked for a week; the month is completed.
    await expect(frame.get_by_role("button", name="Tuesday, March 31, 2026")).to_be_enabled()
    await expect(frame.locator("#before")).to_be_disabled()
    await frame.get_by_role("button", name="Next month").click()
    await expect(frame.locator("#month")).to_have_text("April 2026")
    await frame.get_by_role("button", name="Wednesday, April 1, 2026").click()
    listed = await assistant.client.get(
        "/api/public/mara/meeting/slots",
        params={"timezone": "America/New_York", "startDate": "2026-04-01", "endDate": "2026-04-01"},
    )
    await expect(frame.locator("#times button")).to_have_count(len(listed.json()["data"]))
    called = await messages(page, "tools/call")
    assert {each["params"]["name"] for each in called} == {"list_free_times"}
    assert len(called) <= 12


async def test_a_chat_that_calls_no_tools_shows_what_was_found(
    browser: Browser, assistant: TestAssistant, meeting: EventType
) -> None:
    page, frame = await show(browser, assistant, meeting, can_call=False, locale="ar")

    assert await frame.evaluate("document.documentElement.dir") == "rtl"
    await expect(frame.locator("#after")).to_be_disabled()
    assert await page.evaluate("window.calls") == 0


async def test_the_picker_is_small_loads_nothing_and_is_found_by_its_tools(
    client: httpx2.AsyncClient, assistant: TestAssistant
) -> None:
    (listed,) = (await assistant.ask("resources/list"))["result"]["resources"]
    (content,) = (await assistant.ask("resources/read", {"uri": listed["uri"]}))["result"]["contents"]
    tools = (await assistant.ask("tools/list"))["result"]["tools"]
    unknown = await assistant.ask("resources/read", {"uri": "ui://openslot/other"})

    assert (listed["uri"], listed["mimeType"]) == (PICKER_URI, "text/html;profile=mcp-app")
    assert content["text"] == read_picker()
    assert len(content["text"].encode()) <= 30_000
    assert not any(each in content["text"] for each in ("http://", "https://", "innerHTML", "fetch(", "src="))
    assert all(f'"{each.tag}":["' in content["text"] for each in LANGUAGES.values())
    assert content["_meta"]["ui"]["csp"] == {}
    with_page = {each["name"]: each["_meta"] for each in tools if "_meta" in each}
    assert set(with_page) == {"list_free_times", "list_new_times"}
    assert [each["ui"] for each in with_page.values()] == [{"resourceUri": PICKER_URI}] * 2
    assert unknown["error"]["code"] == -32002
    assert (await assistant.ask("resources/templates/list"))["result"] == {"resourceTemplates": []}
    assert (await assistant.ask("resources/subscribe", {"uri": PICKER_URI}))["error"]["code"] == -32601


async def test_without_a_page_the_same_times_are_a_text(assistant: TestAssistant, meeting: EventType) -> None:
    found = await assistant.call("list_free_times", eventTypeId=str(meeting.id), timezone="UTC")

    assert json.loads(found["result"]["content"][0]["text"]) == found["result"]["structuredContent"]
