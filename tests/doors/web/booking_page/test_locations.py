"""Choosing a location on the booking page, with and without scripts, and what it asks for."""

import json

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import filled
from tests.doors.web.booking_page.visiting import confirm, fill, in_zone, visit
from tests.support.browsers import BOTH_WAYS
from tests.support.hostile_text import CORPUS, check_pages
from tests.support.page import read_page

PAGE = "/mara/talk"
VIDEO = Location(LocationKind.VIDEO_LINK, "https://meet.example/secret")
CALL = Location(LocationKind.PHONE, asks=LocationAsks.PHONE)
ASK = Location(LocationKind.TEXT, asks=LocationAsks.PLACE)
ROOM = Location(LocationKind.IN_PERSON, "Room 2")
BOOKED = "select location from bookings"


@pytest.fixture
async def talk(runtime: Runtime, host: User) -> EventType:
    return await offer(runtime, host, "talk", location=VIDEO, locations=(VIDEO, CALL, ASK, ROOM))


async def booked(runtime: Runtime) -> dict[str, str]:
    found: dict[str, str] = json.loads(await runtime.pool.fetchval(BOOKED))
    return found


async def test_the_page_lists_them_and_tells_no_link(client: httpx2.AsyncClient, talk: EventType) -> None:
    page = await client.get(f"{PAGE}?start=2026-03-16T10:00:00Z&tz=UTC")
    fields, text = read_page(page).fields, read_page(page).text

    assert fields["location"].value == "video_link"
    assert fields["place.phone"].value == fields["place.place"].value == ""
    for words in ("Video call, link after booking", "Mara Lindqvist will call you", "You choose the place", "Room 2"):
        assert text.count(words) == 2, words
    assert "secret" not in page.text
    chosen = await client.get(f"{PAGE}?start=2026-03-16T10:00:00Z&location=in_person")
    assert read_page(chosen).fields["location"].value == "in_person"
    wrong = await client.get(f"{PAGE}?start=2026-03-16T10:00:00Z&location=moon")
    assert read_page(wrong).fields["location"].value == "video_link"


async def test_plain_event_types_have_nothing_to_choose_and_load_nothing_for_it(
    client: httpx2.AsyncClient, intro: EventType
) -> None:
    page = (await client.get("/mara/intro-call")).text
    assert 'name="location"' not in page
    assert "choices.css" not in page
    assert "data-plain" not in page


async def test_a_form_is_asked_again_for_what_is_missing_and_keeps_what_was_typed(
    client: httpx2.AsyncClient, runtime: Runtime, talk: EventType
) -> None:
    missing = await client.post(PAGE, data=filled(location="phone"))
    assert (missing.status_code, read_page(missing).faults) == (400, {"place-phone": "Is required"})
    wrong = await client.post(PAGE, data=filled(location="phone", **{"place.phone": "12", "place.place": "Café"}))
    assert read_page(wrong).faults.keys() == {"place-phone"}
    fields = read_page(wrong).fields
    assert (fields["location"].value, fields["place.phone"].value) == ("phone", "12")
    assert fields["place.place"].value == "Café"
    gone = await client.post(PAGE, data=filled(location="moon"))
    assert read_page(gone).faults == {"location": "Is not a location of this event type"}
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0

    answer = await client.post(PAGE, data=filled(location="phone", **{"place.phone": "+49 30 12345678"}))
    assert answer.status_code == 303
    assert await booked(runtime) == {"kind": "phone", "value": "+493012345678", "asks": "phone", "id": "phone"}
    managed = await client.get(answer.headers["location"])
    assert "Mara Lindqvist will call you at +493012345678" in read_page(managed).text


async def test_a_single_location_can_ask(client: httpx2.AsyncClient, runtime: Runtime, host: User) -> None:
    await offer(runtime, host, "call", location=CALL)
    page = await client.get("/mara/call?start=2026-03-16T10:00:00Z")
    assert "location" not in read_page(page).fields
    assert "Your phone number" in read_page(page).text
    assert (await client.post("/mara/call", data=filled(place="030"))).status_code == 400
    assert (await client.post("/mara/call", data=filled(place="+493012345678"))).status_code == 303
    assert (await booked(runtime))["value"] == "+493012345678"


@pytest.mark.parametrize("text", CORPUS)
async def test_what_an_invitee_names_stays_text(
    client: httpx2.AsyncClient, runtime: Runtime, talk: EventType, text: str
) -> None:
    answer = await client.post(PAGE, data=filled(location="place", **{"place.place": text[:500]}))
    pages = [answer]
    if answer.status_code == 303:
        pages = [await client.get(answer.headers["location"])]
        assert "Join</a>" not in pages[0].text
    pages.append(await client.post(PAGE, data=filled(location=text[:100])))
    check_pages(pages)


@pytest.mark.parametrize("address", ["javascript:alert(1)", "https://evil.example/x"])
async def test_what_an_invitee_names_is_never_a_link(client: httpx2.AsyncClient, talk: EventType, address: str) -> None:
    answer = await client.post(PAGE, data=filled(location="place", **{"place.place": address}))
    managed = await client.get(answer.headers["location"])
    assert address in read_page(managed).text
    assert f'href="{address}' not in managed.text


async def test_assistants_read_them(client: httpx2.AsyncClient, talk: EventType) -> None:
    text = (await client.get(f"{PAGE}.md")).text
    assert '"location": {"id": "video_link"}' in text
    assert "- `phone`: Mara Lindqvist will call you (`value` is their phone number" in text
    assert "secret" not in text
    ids = [each["id"] for each in (await client.get(f"{PAGE}.json")).json()["eventType"]["locations"]]
    assert ids == ["video_link", "phone", "place", "in_person"]


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_an_invitee_chooses_one_in_the_browser(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, talk: EventType, *, scripts: bool
) -> None:
    page = await visit(browser, client, f"{PAGE}?date=2026-03-17", java_script_enabled=scripts)
    if scripts:
        await in_zone(page, "Lagos")
    await page.locator(".starts button:visible").first.click()
    await fill(page)
    number = page.get_by_label("Your phone number")
    await expect(number).to_be_hidden()
    await page.get_by_label("Mara Lindqvist will call you").check()
    await expect(number).to_be_visible()
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.locator("#fault-place-phone")).to_have_text("Is required")
    await number.fill("+49 30 12345678")
    await confirm(page)
    await expect(page.get_by_text("will call you at +493012345678")).to_be_visible()
    assert (await booked(runtime))["id"] == "phone"
