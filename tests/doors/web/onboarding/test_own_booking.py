"""The last of the first steps over HTTP: hosts book themselves on their own page, and see what came of it."""

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, TWELVE, Book, open_session
from tests.support.page import read_page
from tests.support.radicale import PASSWORD, USER, Radicale

OWN = {"name": "Mara Lindqvist", "email": "mara@lindqvist.example"}
BACK = '<a class="button button-main" href="/welcome/try">See what came of it</a>'


async def test_the_page_is_opened_with_the_own_name_and_address(member: httpx2.AsyncClient) -> None:
    step = await member.get("/welcome/try")
    path = "/mara/30min?name=Mara+Lindqvist&amp;email=mara%40lindqvist.example"

    assert f'href="{path}"' in step.text
    assert "Book yourself once" in read_page(step).text


async def test_what_came_of_it_is_told_in_true_words(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    other = await book()
    assert f"/bookings/{other.id}" not in (await member.get("/welcome/try")).text
    own = await book(ELEVEN, **OWN)
    before = read_page(await member.get("/welcome/try")).text
    await work_off(runtime, clock)
    after = await member.get("/welcome/try")
    text = read_page(after).text

    assert "in progress" in before
    assert "Show how far it is now" in before
    assert f'href="/bookings/{own.id}"' in after.text
    assert "Confirmation to mara@lindqvist.example" in text
    assert "in the mailbox, not sent" in text
    assert "nobody gets them" in text
    assert "Not written: no calendar is connected." in text
    assert "Show how far it is now" not in text


async def test_the_calendar_entry_is_shown(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book, radicale: Radicale
) -> None:
    await radicale.add_calendar("Work")
    sent = {"server": "other", "address": radicale.url, "username": USER, "password": PASSWORD}
    await member.post("/welcome/calendar", data=sent)
    await book(ELEVEN, **OWN)
    await work_off(runtime, clock)
    text = read_page(await member.get("/welcome/try")).text

    assert "Calendar “Work”" in text
    assert "Not written" not in text


async def test_it_is_cancelled_with_one_click(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book, stranger: User
) -> None:
    own = await book(ELEVEN, **OWN)
    path = f"/welcome/try/{own.id}/cancel"
    refused = await member.post(path, headers=await open_session(runtime, stranger))
    assert refused.status_code == 404
    answer = await member.post(path)
    step = read_page(await member.get(answer.headers["location"]))

    assert await runtime.pool.fetchval("select status from bookings where id = $1", own.id) == "CANCELLED"
    assert "The booking was cancelled" in step.notices[0]
    assert "Book yourself once" in step.text


async def test_only_hosts_who_have_booked_themselves_are_led_back(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book, stranger: User
) -> None:
    own, other = await book(ELEVEN, **OWN), await book(TWELVE)
    paths = [f"/manage/{manage_token(runtime, booking.id)}" for booking in (own, other)]
    shown = [BACK in (await member.get(path)).text for path in paths]
    theirs = await member.get(paths[0], headers=await open_session(runtime, stranger))

    assert shown == [True, False]
    assert (theirs.status_code, BACK in theirs.text) == (200, False)
