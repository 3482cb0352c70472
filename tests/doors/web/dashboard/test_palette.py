"""The palette: a list that the browser keeps, and a search by name that finds only what is the host's own."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.bookings import copy_booking
from tests.support.clocks import MovingClock
from tests.support.host import ELEVEN, TEN, TWELVE, Book, cancel, open_session
from tests.support.hostile_text import CORPUS, Markup
from tests.support.page import read_page

PATHS = ("/search", "/search/options")


def palette_of(page: httpx2.Response) -> str:
    return page.text.partition('data-palette="')[2].partition('"')[0]


async def test_a_page_names_the_palette_and_a_browser_keeps_it(member: httpx2.AsyncClient) -> None:
    page = await member.get("/bookings")
    palette = await member.get(palette_of(page))

    assert "Archived event types" not in page.text
    assert "Archived event types" in palette.text
    assert palette.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert (await member.get("/help/palette?v=old")).headers["cache-control"] == "no-store"


async def test_another_language_and_other_rights_have_another_palette(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    before = palette_of(await member.get("/"))
    await runtime.pool.execute("update users set is_admin = true where id = $1", user.id)
    as_administrator = palette_of(await member.get("/"))
    await runtime.pool.execute("update users set locale = 'de' where id = $1", user.id)
    in_german = palette_of(await member.get("/"))

    assert len({before, as_administrator, in_german}) == 3
    assert "/admin/users" in (await member.get(as_administrator)).text
    # The address says only which one the page meant: what is sent follows the session.
    await runtime.pool.execute("update users set is_admin = false, locale = 'en' where id = $1", user.id)
    assert "/admin/users" not in (await member.get(in_german)).text


async def test_nobody_gets_the_palette_or_a_search_without_a_session(client: httpx2.AsyncClient) -> None:
    for path in ("/help/palette", *PATHS):
        assert (await client.get(path)).headers["location"].startswith("/login"), path


@pytest.mark.parametrize("path", PATHS)
async def test_people_bookings_and_event_types_are_found_by_name(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book, path: str
) -> None:
    booking = await book(name="Ørsted Okafor")
    await book(ELEVEN, name="Hana Kim", email="hana@kim.example")
    await offer(runtime, user, "okafor-review")
    event_type = await runtime.pool.fetchval("select id from event_types where slug = 'okafor-review'")
    await runtime.pool.execute("update event_types set name = 'Okafor review' where id = $1", event_type)
    for search in ("okafor", "OKAFOR", "ok"):
        found = read_page(await member.get(path, params={"q": search}))

        assert {f"/contacts/{booking.contact_id}", f"/bookings/{booking.id}"} <= found.addresses, search
        assert f"/event-types/{event_type}" in found.addresses, search
        assert "Hana Kim" not in found.text
    assert f"/bookings/{booking.id}" in read_page(await member.get(path, params={"q": "ØRSTED"})).addresses


@pytest.mark.parametrize("path", PATHS)
async def test_a_search_finds_nothing_of_another_host(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, book: Book, path: str
) -> None:
    theirs = await book(host=stranger)
    await runtime.pool.execute("update event_types set name = 'Okafor review' where owner_id = $1", stranger.id)
    for search in ("jonas", "okafor", "jo"):
        page = await member.get(path, params={"q": search})
        assert str(theirs.id) not in page.text
        assert str(theirs.contact_id) not in page.text
        assert "Okafor" not in read_page(page).text, search

    member.headers.update(await open_session(runtime, stranger))
    assert str(theirs.id) in (await member.get(path, params={"q": "jonas"})).text


async def test_upcoming_bookings_come_first_and_few_of_each_kind_are_sent(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    past = await book()
    await copy_booking(runtime, str(past.id), 50, apart="-1 hour")
    clock.pass_time(days=1)
    later = await book(TWELVE + timedelta(days=2))
    await cancel(runtime, await book(TEN + timedelta(days=2)))
    coming = await book(ELEVEN + timedelta(days=1))
    html = (await member.get("/search/options?q=jonas")).text

    assert html.count('href="/bookings/') == 4
    assert 0 < html.index(str(coming.id)) < html.index(str(later.id))
    assert (await member.get("/search?q=jonas")).text.count('href="/bookings/') <= 20 + 5


@pytest.mark.parametrize("path", PATHS)
async def test_hostile_and_huge_searches_are_harmless(member: httpx2.AsyncClient, book: Book, path: str) -> None:
    await book()
    for search in (*CORPUS, "%", "__", "\\\\", "'; drop table bookings; --", "a" * 5000, " \t ", "é" * 1000, "j"):
        answer = await member.get(path, params={"q": search})
        markup = Markup()
        markup.feed(answer.text)

        assert answer.status_code in {200, 400}, search
        assert "Jonas Okafor" not in read_page(answer).text, search
        assert "xss-probe" not in markup.tags
    refused = await member.get("/search", params={"q": "a\x00b"})
    assert refused.status_code == 400
    assert read_page(refused).faults["q"] == "Has characters that are not allowed"


async def test_names_are_shown_as_text(member: httpx2.AsyncClient, book: Book) -> None:
    for n, name in enumerate(CORPUS):
        await book(TEN + timedelta(hours=n), name=name.replace("\u202e", "").replace("\u2066", "")[:100])
    for path in PATHS:
        markup = Markup()
        markup.feed((await member.get(path, params={"q": "xss"})).text)

        assert "xss-probe" not in markup.tags
        assert "onload" not in markup.attributes
