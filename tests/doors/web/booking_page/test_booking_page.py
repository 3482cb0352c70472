"""The booking page over HTTP: what it shows while nothing is booked."""

import re
from datetime import date

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, RangeWindow, RollingWindow
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.booking_page.conftest import PAGE, TEN, starts_in
from tests.support.page import read_page

pytestmark = pytest.mark.reads_only

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


@pytest.fixture
async def private(runtime: Runtime, group: EventType) -> EventType:
    """A meeting for those alone who have its link."""
    async with runtime.transaction(OPERATOR) as work:
        return await event_types.make_event_type_private(work, group)


@pytest.fixture
async def may(runtime: Runtime, host: User) -> EventType:
    """A meeting that is offered from May to July."""
    return await offer(runtime, host, "may", booking_window=RangeWindow(_day(5, 4), _day(7, 10)))


@pytest.fixture
async def past(runtime: Runtime, host: User) -> EventType:
    """A meeting that was offered in January."""
    return await offer(runtime, host, "past", booking_window=RangeWindow(_day(1, 4), _day(1, 10)))


@pytest.fixture
async def short(runtime: Runtime, host: User) -> EventType:
    """A meeting that is offered for two weeks."""
    return await offer(runtime, host, "short", booking_window=RollingWindow(14))


async def test_a_hosts_page_lists_what_is_offered_to_everyone(
    client: httpx2.AsyncClient, intro: EventType, private: EventType
) -> None:
    page = await client.get("/mara")

    assert page.status_code == 200
    assert "/mara/intro-call" in read_page(page).addresses
    assert "Video call, link after booking" in read_page(page).text
    assert "meet.example" not in page.text
    assert "/mara/group" not in page.text


async def test_the_first_month_with_a_time_is_in_the_page(client: httpx2.AsyncClient, may: EventType) -> None:
    page = await client.get("/mara/may")

    assert "May 2026" in read_page(page).headings
    starts = starts_in(page.text)
    assert starts[0] == "2026-05-04T07:00:00Z"
    assert starts[-1] == "2026-05-29T14:30:00Z"
    assert len(starts) == 20 * 16
    assert all(INSTANT.match(start) for start in starts)


async def test_a_month_begins_and_ends_in_the_readers_zone(client: httpx2.AsyncClient, intro: EventType) -> None:
    starts = starts_in((await client.get(PAGE, params={"month": "2026-04", "tz": "Pacific/Auckland"})).text)
    page = await client.get(PAGE, params={"month": "2026-04", "tz": "Pacific/Auckland", "date": "2026-04-04"})

    # Midnight in Auckland is at noon in Berlin: the first of April begins in the working hours of 31 March.
    assert starts[0] == "2026-03-31T11:00:00Z"
    assert 'value="2026-03-31T11:00:00Z">00:00</button>' in page.text
    assert starts[-1] == "2026-04-30T11:30:00Z"


async def test_every_time_is_a_button_and_nothing_else_names_an_instant(
    client: httpx2.AsyncClient, intro: EventType
) -> None:
    page = (await client.get(PAGE)).text
    offered = starts_in(page)
    slots = await client.get(f"/api/public{PAGE}/slots", params={"timezone": "Europe/Berlin", "endDate": "2026-03-31"})

    assert offered == [slot["startTime"] for slot in slots.json()["data"]]
    assert len(INSTANT.findall(page)) == len(offered)
    assert "<script" not in re.sub(
        r'<script type="(module" src="[^"]+">|application/ld\+json">[^<]+)</script>', "", page
    )
    assert "<template" not in page
    assert " style=" not in page


async def test_a_day_says_how_many_times_it_has(client: httpx2.AsyncClient, intro: EventType) -> None:
    page = (await client.get(PAGE, params={"date": "2026-03-18"})).text

    assert 'aria-label="Wednesday 18 March, 16 times" aria-pressed="true"' in page
    assert 'aria-label="Saturday 21 March, no times"' in page
    assert '<div class="day" data-day="2026-03-18">' in page
    assert '<div class="day" data-day="2026-03-17" hidden>' in page


async def test_every_month_has_six_weeks_so_that_nothing_below_moves(
    client: httpx2.AsyncClient, intro: EventType
) -> None:
    for month in ("2026-03", "2026-04", "2027-02"):
        grid = (await client.get(PAGE, params={"month": month})).text.partition("<tbody")[2].partition("</tbody>")[0]
        assert grid.count("<tr>") == 6, month


async def test_a_day_without_times_leads_to_the_next_one(client: httpx2.AsyncClient, intro: EventType) -> None:
    page = (await client.get(PAGE, params={"date": "2026-03-21"})).text

    assert '<div class="day" data-day="2026-03-23">' in page


async def test_a_month_that_is_over_shows_the_current_one(client: httpx2.AsyncClient, intro: EventType) -> None:
    for month in ("2020-01", "1971-01", "2026-13", "x"):
        assert "March 2026" in read_page(await client.get(PAGE, params={"month": month})).headings, month


async def test_an_empty_month_says_so_and_leads_on(client: httpx2.AsyncClient, may: EventType) -> None:
    page = (await client.get("/mara/may", params={"month": "2026-04"})).text

    assert "No times in April 2026." in page
    assert '<button name="month" value="2026-05">Show May 2026</button>' in page


async def test_nothing_to_book_is_said(client: httpx2.AsyncClient, past: EventType) -> None:
    page = await client.get("/mara/past")

    assert page.status_code == 200
    assert "No times in March 2026." in read_page(page).text
    assert starts_in(page.text) == []
    assert 'data-part="later" disabled' in page.text


async def test_months_end_with_the_booking_window(
    client: httpx2.AsyncClient, short: EventType, intro: EventType
) -> None:
    march, april = await client.get("/mara/short"), await client.get(PAGE)

    assert 'data-part="later" disabled' in march.text
    assert 'data-part="earlier" disabled' in march.text
    assert 'value="2026-04" aria-label="Next month" data-part="later">' in april.text


async def test_clocks_have_12_or_24_hours(client: httpx2.AsyncClient, intro: EventType) -> None:
    asked = (await client.get(PAGE, params={"h": "12", "tz": "UTC"})).text
    usual = (await client.get(PAGE, params={"tz": "UTC"}, headers={"accept-language": "en-US"})).text

    assert re.search(r">1:00.p\.?m\.?<", asked)
    assert re.search(r">1:00.PM<", usual)
    assert ">13:00<" in (await client.get(PAGE, params={"tz": "UTC"})).text


async def test_a_language_is_read_from_the_browser_or_the_address(client: httpx2.AsyncClient, intro: EventType) -> None:
    german = (await client.get(PAGE, headers={"accept-language": "de-AT"})).text
    arabic = (await client.get(PAGE, params={"lang": "ar"})).text

    assert '<html lang="de" dir="ltr">' in german
    assert "März 2026" in german
    assert 'aria-label="Dienstag, 17. März, 16 Termine"' in german
    assert '<html lang="ar" dir="rtl">' in arabic
    assert "مارس 2026" in arabic


async def test_a_week_begins_as_the_place_begins_it(client: httpx2.AsyncClient, intro: EventType) -> None:
    british = (await client.get(PAGE)).text
    american = (await client.get(PAGE, headers={"accept-language": "en-US"})).text

    assert british.index('abbr="Monday"') < british.index('abbr="Sunday"')
    assert american.index('abbr="Sunday"') < american.index('abbr="Monday"')


async def test_a_page_inside_another_has_its_look(client: httpx2.AsyncClient, intro: EventType) -> None:
    look = {"embed": "1", "theme": "dark", "accent": "B45309", "embed_origin": "https://shop.example:8443"}
    page = (await client.get(PAGE, params=look)).text

    assert 'data-theme="dark" data-embed-origin="https://shop.example:8443"' in page
    assert '<body class="booking embedded">' in page
    assert "/static/accent/b45309.css" in page
    assert "<footer" not in page
    assert '<input type="hidden" name="embed_origin" value="https://shop.example:8443">' in page


NO_LOOKS: list[dict[str, str]] = [
    {"accent": "red"},
    {"accent": "b4530"},
    {"accent": "b45309;}"},
    {"embed_origin": "*"},
    {"embed_origin": "null"},
    {"embed_origin": "javascript:alert(1)"},
    {"embed_origin": "https://shop.example/path"},
    {"embed_origin": "https://a@shop.example"},
    {"theme": "blue"},
]


async def test_a_look_that_is_none_is_left_out(client: httpx2.AsyncClient, intro: EventType) -> None:
    for look in NO_LOOKS:
        page = (await client.get(PAGE, params={"embed": "1", **look})).text

        assert "data-embed-origin" not in page, look
        assert "data-theme" not in page, look
        assert "/static/accent/2563eb.css" in page, look


async def test_the_form_begins_with_what_the_address_says(client: httpx2.AsyncClient, asking: EventType) -> None:
    given = {
        "name": "Jonas <b>",
        "email": "jonas@okafor.example",
        "notes": "Hello",
        "topic": "Pricing",
        "team": "Up to 10",
        "agree": "true",
        "utm_source": "letter",
        "start": TEN,
    }
    page = (await client.get("/mara/asking", params=given)).text

    assert 'value="Jonas &lt;b&gt;"' in page
    assert 'value="jonas@okafor.example"' in page
    assert ">Pricing</textarea>" in page
    assert "<option selected>Up to 10</option>" in page
    assert 'name="checks.agree" checked' in page
    assert "utm_source=letter" in page


async def test_a_chosen_time_is_shown_in_the_zone_of_the_address(client: httpx2.AsyncClient, intro: EventType) -> None:
    page = await client.get(PAGE, params={"start": TEN, "tz": "Asia/Tokyo"})

    assert page.status_code == 200
    assert "<span data-chosen-day>Monday 16 March</span>, <span data-chosen-time>19:00</span>" in page.text
    assert "Tokyo time" in read_page(page).text
    assert starts_in(page.text) == [TEN]


async def test_zones_are_found_by_city_with_their_time(client: httpx2.AsyncClient, intro: EventType) -> None:
    page = (await client.get(PAGE, params={"view": "zones", "search": "lagos", "utm_source": "x"})).text

    assert page.count('name="tz"') == 1
    assert '<button name="tz" value="Africa/Lagos"><bdi>Lagos</bdi> <small><bdi>Nigeria</bdi></small>' in page
    assert "<span>08:00</span></button>" in page
    assert '<input type="hidden" name="utm_source" value="x">' in page
    nothing = await client.get(PAGE, params={"view": "zones", "search": "xyzzy"})
    assert "Nothing found. Try a big city nearby" in read_page(nothing).text
    former = (await client.get(PAGE, params={"view": "zones", "search": "saigon"})).text
    assert former.count('name="tz"') == former.count('value="Asia/Ho_Chi_Minh"') == 1


async def test_the_chosen_zone_and_the_hosts_stand_above_all_others(
    client: httpx2.AsyncClient, intro: EventType
) -> None:
    page = (await client.get(PAGE, params={"view": "zones", "tz": "Asia/Tokyo"})).text

    assert re.findall(r'name="tz" value="([^"]+)"', page)[:3] == ["Asia/Tokyo", "Europe/Berlin", "UTC"]
    assert page.count('value="Europe/Berlin"') == 2


async def test_an_unknown_name_is_a_kind_page(client: httpx2.AsyncClient, host: User) -> None:
    for path in ("/nobody", "/mara/nothing", "/manage/nothing", "/Nobody/at-all"):
        answer = await client.get(path)
        assert answer.status_code == 404, path
        assert "Page not found" in read_page(answer).headings
        advice = "Open the link in the newest email" if path.startswith("/manage/") else "Check the link"
        assert advice in read_page(answer).text, path


def _day(month: int, day: int) -> date:
    return date(2026, month, day)
