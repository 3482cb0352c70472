"""The list of bookings: views, filters in the address, search, pages, and the file."""

import csv
from datetime import timedelta
from io import StringIO

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.text import make_safe
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.bookings import copy_booking
from tests.support.clocks import MovingClock
from tests.support.host import ELEVEN, TEN, TWELVE, Book, cancel, fail, listen, move
from tests.support.page import read_page

WEEK = timedelta(days=7)


async def test_upcoming_past_and_cancelled_are_apart(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await book(name="Priya Raman")
    await cancel(runtime, await book(TWELVE, name="Ivo Horvat"), reason="Ill today")
    clock.pass_time(days=1)
    await book(TEN + timedelta(days=2), name="Hana Kim")
    upcoming, past, cancelled = [
        (await member.get(f"/bookings?view={view}")).text for view in ("upcoming", "past", "cancelled")
    ]

    assert ["Hana Kim" in upcoming, "Priya Raman" in upcoming, "Ivo Horvat" in upcoming] == [True, False, False]
    assert ["Hana Kim" in past, "Priya Raman" in past, "Ivo Horvat" in past] == [False, True, False]
    assert ["Hana Kim" in cancelled, "Priya Raman" in cancelled, "Ivo Horvat" in cancelled] == [False, False, True]
    assert "cancelled by Ivo Horvat" in cancelled
    assert "Ill today" in cancelled
    assert 'Upcoming <span class="count">1</span>' in past


async def test_a_meeting_that_is_under_way_is_upcoming(
    member: httpx2.AsyncClient, clock: MovingClock, book: Book
) -> None:
    await book()
    clock.now = TEN + timedelta(minutes=29)
    assert "Jonas Okafor" in read_page(await member.get("/bookings")).text

    clock.now = TEN + timedelta(minutes=30)
    assert "Jonas Okafor" not in (await member.get("/bookings")).text
    assert "Jonas Okafor" in read_page(await member.get("/bookings?view=past")).text


SEARCHES: list[str] = [
    "okafor",
    "OKAFOR",
    "jonas@",
    "Jonas O",
    "ØRSTED",
    "ørsted",
    "\uff2f\uff2b\uff21\uff26\uff2f\uff32",
]


async def test_a_search_finds_names_and_addresses_in_any_case(member: httpx2.AsyncClient, book: Book) -> None:
    await book(name="Ørsted, Jonas Okafor")
    await book(ELEVEN, name="Hana Kim", email="hana@kim.example")
    for search in SEARCHES:
        text = (await member.get("/bookings", params={"q": search})).text

        assert ("Jonas Okafor" in text, "Hana Kim" in text) == (True, False), search


async def test_a_search_takes_every_character_as_it_is(member: httpx2.AsyncClient, book: Book) -> None:
    await book()
    for search in ("%", "_", "nobody", "\\", "'", '"><script>'):
        answer = await member.get("/bookings", params={"q": search})

        assert answer.status_code == 200, search
        assert "No booking matches this filter." in read_page(answer).text, search
        assert "<script>" not in answer.text.replace('<script type="module"', ""), search


async def test_filters_narrow_by_event_type_and_days(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await offer(runtime, user, "workshop")
    await book(name="Priya Raman")
    await book(TEN + WEEK, name="Hana Kim")
    by_type = (await member.get("/bookings?type=workshop")).text
    by_day = (await member.get("/bookings?from=2026-03-17&to=2026-03-23")).text
    other_type = (await member.get("/bookings?type=30min&to=2026-03-16")).text

    assert "No booking matches this filter." in by_type
    assert ("Priya Raman" in by_day, "Hana Kim" in by_day) == (False, True)
    assert ("Priya Raman" in other_type, "Hana Kim" in other_type) == (True, False)


async def test_a_day_begins_at_midnight_of_the_host(member: httpx2.AsyncClient, runtime: Runtime, book: Book) -> None:
    booking = await book()
    late = TEN.replace(hour=23, minute=15)
    await runtime.pool.execute(
        "update bookings set starts_at = $2, ends_at = $2::timestamptz + interval '30 minutes' where id = $1",
        booking.id,
        late,
    )

    assert "Tuesday 17 March" not in (await member.get("/bookings?to=2026-03-16")).text
    assert "Tomorrow, 17 March" in read_page(await member.get("/bookings?from=2026-03-17")).headings


async def test_what_is_wrong_with_a_filter_stands_at_its_field(member: httpx2.AsyncClient, book: Book) -> None:
    await book()
    wrong = await member.get("/bookings?from=yesterday&to=2026-13-01")
    swapped = await member.get("/bookings?from=2026-03-20&to=2026-03-01")
    control = await member.get("/bookings?q=%00&type=%00")

    assert wrong.status_code == swapped.status_code == control.status_code == 400
    assert wrong.text.count("Must be a date, such as 2026-03-16") == 2
    assert read_page(swapped).faults == {"to": "Must not be before the first day"}
    assert read_page(control).faults == {"q": "Has characters that are not allowed"}
    assert "Jonas Okafor" in read_page(wrong).text


STRANGE: list[str] = ["view=nonsense", "page=0", "page=-1", "page=x", "page=" + "9" * 50, "type=nothing"]


async def test_a_strange_address_is_no_error(member: httpx2.AsyncClient) -> None:
    for query in STRANGE:
        assert (await member.get(f"/bookings?{query}")).status_code == 200, query


async def test_long_lists_have_pages_that_keep_the_filter(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    await copy_booking(runtime, str(booking.id), 53)
    first = (await member.get("/bookings?q=jonas")).text
    last = (await member.get("/bookings?q=jonas&page=3")).text
    beyond = await member.get("/bookings?page=9")

    assert first.count('class="booking-row"') == 18
    assert last.count('class="booking-row"') == 18
    assert "Page 1 of 3" in first
    assert 'href="/bookings?q=jonas&amp;page=2"' in first
    assert 'href="/bookings?q=jonas&amp;page=2"' in last
    assert "Next page" not in last
    assert beyond.status_code == 200


async def test_a_booking_with_a_failed_step_is_marked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    await book()
    await book(TWELVE, name="Hana Kim")
    await fail(runtime, clock)
    text = (await member.get("/bookings")).text

    assert text.count("1 step failed") == 1
    assert text.count("Confirmed") == 1


async def test_a_moved_booking_says_when_it_was(member: httpx2.AsyncClient, runtime: Runtime, book: Book) -> None:
    await move(runtime, await book(), ELEVEN)
    await move(runtime, await book(TWELVE, name="Hana Kim"), TEN + WEEK)
    text = (await member.get("/bookings")).text

    assert "rescheduled from 11:00" in text
    assert "rescheduled from Monday 16 March" in text


async def test_every_view_says_what_to_do_when_it_is_empty(member: httpx2.AsyncClient) -> None:
    upcoming, past = (await member.get("/bookings")).text, (await member.get("/bookings?view=past")).text

    assert "Nothing is booked. Share your link, or book on someone&#39;s behalf." in upcoming
    assert 'href="/bookings/new"' in upcoming
    assert "No meeting has taken place yet." in past


async def test_another_hosts_bookings_are_in_no_list_and_no_file(
    member: httpx2.AsyncClient, stranger: User, book: Book
) -> None:
    await book(host=stranger, name="Priya Raman")
    for path in ("/bookings", "/bookings?q=priya", "/bookings?type=30min", "/bookings/export.csv"):
        answer = await member.get(path)

        assert answer.status_code == 200, path
        assert "Priya" not in answer.text.replace('value="priya"', "")


async def test_the_file_has_what_the_filter_finds(member: httpx2.AsyncClient, runtime: Runtime, book: Book) -> None:
    await book(name="Priya Raman", notes="Line one\nline two", guests=("li@okafor.example",))
    await book(ELEVEN, name="Hana Kim", email="hana@kim.example")
    await cancel(runtime, await book(TWELVE, name="Ivo Horvat"), reason="Ill", actor=PUBLIC)
    answer = await member.get("/bookings/export.csv?q=priya")
    rows = list(csv.DictReader(StringIO(answer.text.removeprefix("\ufeff"))))
    cancelled = (await member.get("/bookings/export.csv?view=cancelled")).text

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == "attachment; filename=bookings-upcoming-2026-03-16.csv"
    assert answer.headers["cache-control"] == "no-store"
    assert [row["Name"] for row in rows] == ["Priya Raman"]
    assert (rows[0]["Start"], rows[0]["End"], rows[0]["Time zone"]) == (
        "2026-03-16 11:00",
        "2026-03-16 11:30",
        "Europe/Berlin",
    )
    assert rows[0]["Notes"] == "Line one\nline two"
    assert "Ill" in cancelled


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "+49 30 1", "-2", "@SUM(A1)", "\tx", "\rx", "\nx", " =1", "\u00a0=1", "\uff1d1", "=cmd|' /C calc'!A0"],
)
def test_no_cell_is_taken_for_a_formula(cell: str) -> None:
    assert make_safe(cell) == f"'{cell}"


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("Eve;=cmd|' /C calc'!A0", "Eve;'=cmd|' /C calc'!A0"),
        ("Eve; \u00a0@x", "Eve;' \u00a0@x"),
        ("one\n-two\r\n+three", "one\n'-two\r\n'+three"),
        ("one\t\uff1dtwo", "one\t'\uff1dtwo"),
        ("=1;=2", "'=1;'=2"),
        ("\n=1", "'\n'=1"),
        ('Eve;"=1+1;', "Eve;'\"=1+1;"),
        ('Eve\n""-2', 'Eve\n\'""-2'),
    ],
)
def test_no_part_of_a_cell_is_a_formula_for_a_spreadsheet_that_separates_by_semicolons(cell: str, safe: str) -> None:
    assert make_safe(cell) == safe


@pytest.mark.parametrize("cell", ["a; b", "one\ntwo", "a;b=c", "", "Jonas", "a=b", "1", "'=1", "2026-03-16 11:00"])
def test_other_cells_stay_as_they_are(cell: str) -> None:
    assert make_safe(cell) == cell


async def test_formulas_of_invitees_are_harmless_in_the_file(member: httpx2.AsyncClient, book: Book) -> None:
    await book(name="=HYPERLINK(1)", notes="@SUM(A1)")
    (row,) = csv.DictReader(StringIO((await member.get("/bookings/export.csv")).text.removeprefix("\ufeff")))

    assert (row["Name"], row["Notes"]) == ("'=HYPERLINK(1)", "'@SUM(A1)")


async def test_the_command_does_the_same_by_the_api(member: httpx2.AsyncClient) -> None:
    text = (await member.get("/bookings?view=cancelled")).text

    assert "curl &#39;http://127.0.0.1:8000/api/v1/bookings?status=CANCELLED&amp;page=1&amp;limit=18&#39;" in text
    assert "Authorization: Bearer $OPENSLOT_KEY" in text
