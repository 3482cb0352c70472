"""The page of an event type's links: created, copied again, used, revoked."""

import re
from datetime import UTC, datetime
from html import unescape

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType, HostLink
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import offer, read_faults
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MONDAY

URL = re.compile(r'id="link-\d+" dir="ltr">([^<]+)<')


async def only_link(runtime: Runtime, user: User, event_type: EventType) -> HostLink:
    _, (found,), _ = await links.list_booking_links(runtime.work(OPERATOR), user, event_type.id, limit=10)
    return found


@pytest.fixture
async def hidden(runtime: Runtime, user: User) -> EventType:
    """An event type that only links open."""
    return await offer(runtime, user, "hidden", is_private=True)


def path_of(event_type: EventType) -> str:
    return f"/event-types/{event_type.id}/links"


async def test_a_host_creates_a_link_and_can_copy_it_until_it_is_used_up(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, hidden: EventType
) -> None:
    empty = (await member.get(path_of(hidden))).text
    assert "There are no links yet." in empty
    sent = {"uses": "1", "ends": "2026-03-31T18:00", "note": "For Jonas"}
    answer = await member.post(path_of(hidden), data=sent)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path_of(hidden)}?done=created")
    found = await only_link(runtime, user, hidden)
    # In Berlin, summer time has begun by then.
    assert found.link.ends_at == datetime(2026, 3, 31, 16, tzinfo=UTC)

    page = (await member.get(f"{path_of(hidden)}?done=created")).text
    for text in (
        "The link was created.",
        "For Jonas",
        "Can be used",
        "Uses left: 1 of 1",
        "until Tuesday 31 March, 18:00",
    ):
        assert text in unescape(page), text
    (url,) = map(unescape, URL.findall(page))
    assert url.endswith(f"/mara/hidden?token={found.token}")

    booking_path = url.removeprefix(runtime.settings.public_url)
    wish = {"name": "Jonas Okafor", "email": "jonas@okafor.example", "tz": "UTC", "start": "2026-03-16T10:00:00Z"}
    booked = await member.post(booking_path, data=wish)
    assert booked.status_code == 303, booked.text
    after = (await member.get(path_of(hidden))).text
    booking_id = await runtime.pool.fetchval("select id from bookings")
    assert URL.findall(after) == []
    assert "Used up" in after
    assert f'href="/bookings/{booking_id}"' in after
    shown = (await member.get(f"/bookings/{booking_id}")).text
    assert "<dt><bdi>Booked through</bdi></dt><dd><bdi>For Jonas</bdi></dd>" in shown


@pytest.mark.parametrize(
    ("sent", "faults"),
    [
        ({"uses": ""}, {"uses": "Enter for how many bookings the link is"}),
        ({"uses": "0"}, {"uses": "Must be at least 1"}),
        ({"uses": "1001"}, {"uses": "Must be at most 1000"}),
        ({"uses": "1", "ends": "2026-03-16T07:00"}, {"ends": "Must be in the future"}),
        ({"uses": "1", "ends": "soon"}, {"ends": "Must be a date and a time, such as 2026-03-31 18:00"}),
        ({"uses": "1", "note": "x" * 201}, {"note": "Must have at most 200 characters"}),
    ],
)
async def test_a_wrong_form_is_shown_again(
    member: httpx2.AsyncClient, runtime: Runtime, hidden: EventType, sent: dict[str, str], faults: dict[str, str]
) -> None:
    answer = await member.post(path_of(hidden), data=sent)
    assert (answer.status_code, read_faults(answer.text)) == (400, faults)
    assert await runtime.pool.fetchval("select count(*) from booking_links") == 0


async def test_a_host_is_asked_before_a_link_is_revoked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, hidden: EventType
) -> None:
    await member.post(path_of(hidden), data={"uses": "2"})
    link = await only_link(runtime, user, hidden)
    revoke = f"{path_of(hidden)}/{link.link.id}/revoke"
    assert "Uses left: 2 of 2" in (await member.get(revoke)).text
    assert (await only_link(runtime, user, hidden)).link.revoked_at is None
    answer = await member.post(revoke)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path_of(hidden)}?done=revoked")
    assert (await only_link(runtime, user, hidden)).link.revoked_at == runtime.clock()
    assert "Was revoked" in (await member.get(path_of(hidden))).text
    assert (await member.get(f"/mara/hidden?token={link.token}")).status_code == 410


async def test_many_links_have_pages(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for number in range(21):
            await links.create_booking_link(work, user, intro.id, note=f"Note {number:02}")
    first, second = [(await member.get(f"{path_of(intro)}?page={page}")).text for page in (1, 2)]
    assert re.findall(r"<bdi>(Note \d\d)</bdi>", first)[:2] == ["Note 20", "Note 19"]
    assert re.findall(r"<bdi>(Note \d\d)</bdi>", second) == ["Note 00"]
    # Everyone can book it without a link, too.
    assert "make it private" in first


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_link_in_a_browser_from_its_creation_to_its_end(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    hidden: EventType,
    scripts: bool,
) -> None:
    page, _ = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await page.goto(f"/event-types/{hidden.id}")
    await page.get_by_role("link", name="Links").click()
    await page.get_by_label("Note").fill("For Li")
    await page.get_by_role("button", name="Create a link").click()
    await expect(page.get_by_role("status")).to_contain_text("The link was created")
    copy = page.get_by_role("button", name="Copy link")
    await (expect(copy).to_be_visible() if scripts else expect(copy).to_be_hidden())
    url = await page.locator("#link-1").inner_text()

    path = url.removeprefix(runtime.settings.public_url)
    await page.goto(f"{path}&tz=UTC")
    # Another day and month keep the link.
    await page.goto(f"{path}&tz=UTC&start={MONDAY.replace(hour=14).isoformat().replace('+00:00', 'Z')}")
    await page.get_by_label("Your name").fill("Li Wei")
    await page.get_by_label("Email address", exact=True).fill("li@wei.example")
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible()
    assert (await only_link(runtime, user, hidden)).link.used == 1

    closed = await page.goto(path)
    assert closed is not None
    assert closed.status == 410
    await expect(page.locator("h1")).to_have_text("This link was already used")


async def test_a_request_names_its_link(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    asked = await offer(runtime, user, "asked", requires_confirmation=True)
    await member.post(path_of(asked), data={"uses": "1", "note": "After the fair"})
    link = await only_link(runtime, user, asked)
    wish = {"name": "Jonas Okafor", "email": "jonas@okafor.example", "tz": "UTC", "start": "2026-03-17T10:00:00Z"}
    sent = await member.post(f"/mara/asked?token={link.token}", data=wish)
    assert sent.status_code == 303, sent.text
    booking_id = await runtime.pool.fetchval("select id from bookings")
    page = (await member.get(path_of(asked))).text
    assert f'href="/bookings/requests/{booking_id}"' in page
    assert "Waiting" in page
    assert "After the fair" in (await member.get(f"/bookings/requests/{booking_id}")).text


async def test_a_form_that_comes_too_late_says_why_nothing_was_booked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, hidden: EventType
) -> None:
    await member.post(path_of(hidden), data={"uses": "1"})
    page = f"/mara/hidden?token={(await only_link(runtime, user, hidden)).token}"
    wish = {"name": "Jonas Okafor", "email": "jonas@okafor.example", "tz": "UTC"}
    sent = [await member.post(page, data={**wish, "start": f"2026-03-17T{hour}:00:00Z"}) for hour in (10, 11)]
    assert [each.status_code for each in sent] == [303, 410]
    assert sent[1].headers["x-error-code"] == "link_used_up"
    assert "This link was already used" in sent[1].text
    assert "all of them are made" in sent[1].text
    # It can be shown in the widget.
    assert "frame-ancestors 'none'" not in sent[1].headers["content-security-policy"]
    german = await member.get(f"{page}&lang=de&embed=1")
    assert "Dieser Link wurde bereits verwendet" in german.text
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1
