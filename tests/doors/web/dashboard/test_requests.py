"""Pages of requests: listed at home and beside bookings, answered there and by the link in the mail, nobody else's."""

import re
from email.message import EmailMessage

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking, Status
from openslot.domains.event_types.models import Location, LocationKind
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.support import book as ask
from tests.domains.mail.conftest import messages, part
from tests.support.browsers import BOTH_WAYS, open_as, open_page
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, TEN, TWELVE
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

SECRET = "https://meet.example/secret-room"
REQUEST = re.compile(r"https?://[^/\s]+(/bookings/requests/[0-9a-f-]+)")


async def test_a_host_confirms_one_request_and_declines_another(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    asked = await offer(runtime, user, "asked", requires_confirmation=True)
    first, second = await ask(runtime, asked, TEN, notes="Pricing for 12"), await ask(runtime, asked, TWELVE)

    home = read_page(await member.get("/")).text
    assert "2 requests wait for you" in home
    assert "Requests 2" in read_page(await member.get("/bookings")).text
    assert "Li" in read_page(await member.get("/bookings/requests")).text
    path = f"/bookings/requests/{first.id}"
    assert "Pricing for 12" in read_page(await member.get(path)).text
    assert await runtime.pool.fetchval("select count(*) from booking_requests where state <> 'waiting'") == 0

    confirmed = await member.post(f"{path}/confirm")
    assert confirmed.headers["location"] == f"/bookings/{first.id}?done=confirmed"
    assert "You confirmed this request" in read_page(await member.get(f"/bookings/{first.id}")).text
    assert (await member.get(path)).headers["location"] == f"/bookings/{first.id}"
    other = f"/bookings/requests/{second.id}"
    await member.post(f"{other}/decline", data={"reason": "I travel that day"})
    closed = read_page(await member.get(other)).text
    assert "You declined this request." in closed
    assert "I travel that day" in closed
    late = await member.post(f"{other}/confirm")
    assert late.status_code == 409
    assert "This request is no longer open" in read_page(late).text


async def test_a_request_of_somebody_else_is_not_found(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    theirs = await ask(runtime, await offer(runtime, stranger, "theirs", requires_confirmation=True), TEN)
    for path in ("", "/confirm", "/decline"):
        sent = member.post if path else member.get
        assert (await sent(f"/bookings/requests/{theirs.id}{path}")).status_code == 404
    assert "requests wait" not in read_page(await member.get("/")).text


async def follow_mail(page: Page, runtime: Runtime, user: User, asked: Booking) -> None:
    """Open the link of the mail that asks the host, and sign in on the way."""
    texts = [part(each, "text/plain") for each in await messages(runtime, user.email)]
    links = {found for text in texts for found in REQUEST.findall(text)}
    (link,) = (each for each in links if each.endswith(str(asked.id)))
    await page.goto(link)
    await page.get_by_label("Email address").fill(user.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.wait_for_url(f"**{link}")


async def answer(page: Page, reason: str | None = None) -> None:
    """Confirm the request that is shown, or decline it for a reason."""
    if reason is None:
        await page.get_by_role("button", name="Confirm").click()
        await expect(page.get_by_role("status")).to_contain_text("The request was confirmed")
        return
    await page.get_by_label("Reason for declining").fill(reason)
    await page.get_by_role("button", name="Decline").click()
    await expect(page.get_by_role("status")).to_contain_text("The request was declined")


async def read_answer(runtime: Runtime, asked: Booking) -> EmailMessage:
    """Read what the invitee is mailed after the mail that the request was sent."""
    sent, answered = await messages(runtime, asked.invitee_email)
    assert sent["subject"].startswith("Request sent: ")
    return answered


@pytest.mark.parametrize("has_scripts", BOTH_WAYS)
async def test_a_host_answers_in_the_list_and_by_the_link_in_the_mail(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, has_scripts: bool
) -> None:
    room = Location(LocationKind.VIDEO_LINK, SECRET)
    offered = await offer(runtime, user, "asked", requires_confirmation=True, location=room)
    listed = [await ask(runtime, offered, start) for start in (TEN, ELEVEN)]
    mailed = await ask(runtime, offered, TWELVE)
    await work_off(runtime, clock)
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=has_scripts)
    await page.goto("/")
    await page.get_by_role("link", name="3 requests wait for you").click()
    for reason in (None, "I travel that day"):
        await page.goto("/bookings/requests")
        await page.get_by_role("region", name="Requests").get_by_role("link").first.click()
        await answer(page, reason)
    elsewhere = await open_page(browser, client, java_script_enabled=has_scripts)
    await follow_mail(elsewhere, runtime, user, mailed)
    await answer(elsewhere, None if has_scripts else "Another time, please")
    await work_off(runtime, clock)

    for asked, reason in zip((*listed, mailed), (None, "I travel that day", "Another time, please"), strict=True):
        told = await read_answer(runtime, asked)
        is_confirmed = reason is None or (asked is mailed and has_scripts)
        text = part(told, "text/plain")
        assert told["subject"].startswith("Confirmed: " if is_confirmed else "Declined: ")
        assert (SECRET in text, "/cancel" in text) == (is_confirmed, is_confirmed)
        assert (reason is not None and reason in text) is not is_confirmed
        status = await runtime.pool.fetchval("select status from bookings where id = $1", asked.id)
        assert (status == Status.CONFIRMED) is is_confirmed
    assert faults == []
