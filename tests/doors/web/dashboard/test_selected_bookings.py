"""Several bookings of the list at once: cancelled with one reason, marked as no-shows, saved as a file."""

import csv
from collections.abc import Sequence
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.bookings import copy_booking
from tests.support.clocks import MovingClock
from tests.support.host import ELEVEN, TEN, TWELVE, Book, cancel, fail, listen
from tests.support.page import read_page

CANCEL, CONFIRM = "/bookings/selected/cancel", "/bookings/selected/cancel/confirm"
NO_SHOW, EXPORT = "/bookings/selected/no-show", "/bookings/selected/export.csv"
HALF_PAST_TEN = TEN + timedelta(minutes=30)
NOT_FOUND = "1 booking was not found."


async def book_three(book: Book) -> list[Booking]:
    return [
        await book(name="Jonas Okafor", guests=("li@okafor.example",)),
        await book(ELEVEN, name="Hana Kim", email="hana@kim.example"),
        await book(TWELVE, name="Ivo Horvat", email="ivo@horvat.example"),
    ]


def select(*selected: Booking | UUID | str) -> dict[str, list[str]]:
    return {"id": [str(each.id if isinstance(each, Booking) else each) for each in selected]}


async def send_cancel(
    member: httpx2.AsyncClient, selected: Sequence[Booking | UUID | str], reason: str = ""
) -> httpx2.Response:
    return await member.post(CONFIRM, data={"ids": ",".join(select(*selected)["id"]), "reason": reason})


async def read_statuses(runtime: Runtime) -> list[str]:
    rows = await runtime.pool.fetch("select status from bookings order by starts_at, host_id")
    return [row["status"] for row in rows]


async def test_every_row_of_the_list_can_be_selected(member: httpx2.AsyncClient, book: Book) -> None:
    booked = await book_three(book)
    page = read_page(await member.get("/bookings"))

    assert list(page.fields["id"].options) == [str(each.id) for each in booked]
    assert not page.fields["id"].checked
    assert "Select Hana Kim, 12:00 – 12:30" in page.text
    assert [each for each in page.buttons if each in {"Cancel…", "Download CSV"}] == ["Cancel…", "Download CSV"]


async def test_a_view_offers_what_can_be_done_there(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booked = await book_three(book)
    await cancel(runtime, booked[2])
    assert "Mark as no-show" not in read_page(await member.get("/bookings")).buttons
    clock.now = ELEVEN
    offered = {}
    for view in ("upcoming", "past", "cancelled"):
        buttons = read_page(await member.get(f"/bookings?view={view}")).buttons
        offered[view] = [each for each in buttons if each in {"Cancel…", "Mark as no-show", "Download CSV"}]

    assert offered["upcoming"] == ["Cancel…", "Mark as no-show", "Download CSV"]
    assert offered["past"] == ["Mark as no-show", "Download CSV"]
    assert offered["cancelled"] == ["Download CSV"]


async def test_cancelling_asks_first_and_says_who_is_told(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    jonas, hana, _ = await book_three(book)
    asked = await member.post(f"{CANCEL}?type=30min&page=2", data=select(jonas, hana, jonas))
    page = read_page(asked)

    assert asked.status_code == 200
    assert "Cancel 2 bookings?" in page.headings
    assert "jonas@okafor.example, li@okafor.example" in page.text
    assert "Hana Kim" in page.text
    assert "Ivo Horvat" not in page.text
    assert page.fields["ids"].value == f"{jonas.id},{hana.id}"
    assert page.links["Keep them"] == "/bookings?type=30min"
    assert await read_statuses(runtime) == ["CONFIRMED"] * 3


async def test_the_selected_are_cancelled_with_one_reason(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    jonas, hana, _ = await book_three(book)
    done = await send_cancel(member, [jonas, hana, jonas], " Ill today ")
    rows = await runtime.pool.fetch("select cancel_reason, cancelled_by from bookings where status = 'CANCELLED'")

    assert (done.status_code, done.headers["location"]) == (303, "/bookings?done=cancelled&count=2")
    assert [tuple(row) for row in rows] == [("Ill today", "host")] * 2
    assert await read_statuses(runtime) == ["CANCELLED", "CANCELLED", "CONFIRMED"]
    told = "2 bookings were cancelled. No mail server is set up, so nobody is notified."
    assert read_page(await member.get(done.headers["location"])).notices == [told]
    events = await runtime.pool.fetchval("select count(*) from events where type = 'booking.cancelled'")
    assert events == 2


async def test_what_can_not_be_cancelled_is_named_before_and_after(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, clock: MovingClock, book: Book
) -> None:
    over, gone, open_one = await book_three(book)
    foreign = await book(TWELVE, host=stranger, name="Priya Raman")
    selected = [over, gone, open_one, foreign]
    asked = await member.post(CANCEL, data=select(*selected))
    assert NOT_FOUND in read_page(asked).text
    assert "Priya" not in asked.text

    clock.now = HALF_PAST_TEN
    await cancel(runtime, gone, reason="Other plans")
    clock.pass_time(seconds=1)
    done = await send_cancel(member, selected, "Ill today")
    page = read_page(done)
    assert page.notices == ["1 booking was cancelled. No mail server is set up, so nobody is notified."]
    assert "Jonas Okafor 30 minute meeting · Monday 16 March, 11:00 – 11:30 This booking is in the past" in page.text
    assert "Hana Kim 30 minute meeting · Monday 16 March, 12:00 – 12:30 This booking is cancelled" in page.text
    assert NOT_FOUND in page.text
    assert "Ivo" not in page.text
    assert await read_statuses(runtime) == ["CONFIRMED", "CANCELLED", "CANCELLED", "CONFIRMED"]
    assert await runtime.pool.fetchval("select cancel_reason from bookings where id = $1", gone.id) == "Other plans"

    again = read_page(await member.post(CANCEL, data=select(*selected)))
    assert again.notices == ["No booking was cancelled."]
    assert "reason" not in again.fields


async def test_a_reason_that_is_too_long_keeps_the_selection(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booked = await book_three(book)
    answer = await send_cancel(member, booked, "x" * 501)

    assert answer.status_code == 400
    assert read_page(answer).faults == {"reason": "Must have at most 500 characters"}
    assert read_page(answer).fields["ids"].value == ",".join(str(each.id) for each in booked)
    assert await read_statuses(runtime) == ["CONFIRMED"] * 3


async def test_only_what_has_started_is_marked_and_the_rest_is_named(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    started, gone, later = await book_three(book)
    await cancel(runtime, gone)
    clock.now = HALF_PAST_TEN
    page = read_page(await member.post(NO_SHOW, data=select(started, gone, later)))

    assert page.notices == ["1 booking was marked as a no-show. Nobody is notified."]
    assert "12:00 – 12:30 This booking is cancelled" in page.text
    assert "13:00 – 13:30 This booking has not started yet" in page.text
    rows = await runtime.pool.fetch("select id from bookings where no_show")
    assert [row["id"] for row in rows] == [started.id]

    done = await member.post(f"{NO_SHOW}?view=past", data=select(started))
    assert done.headers["location"] == "/bookings?view=past&done=no-show&count=1"
    early = read_page(await member.post(NO_SHOW, data=select(later)))
    assert early.notices == ["No booking was marked as a no-show."]


async def test_a_no_show_is_struck_through_with_the_word_beside_it(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    await listen(runtime, user)
    missed, other, _ = await book_three(book)
    clock.now = ELEVEN
    await member.post(NO_SHOW, data=select(missed, other))
    past = await member.get("/bookings?view=past")
    assert '<s class="missed"><bdi>Jonas Okafor</bdi></s>' in past.text
    assert "No-show" in read_page(past).text
    await fail(runtime, clock)
    failed = [await member.get(f"/bookings?view={view}") for view in ("past", "upcoming")]
    (text,) = [each.text for each in failed if "1 step failed" in each.text]
    assert "<bdi>No-show</bdi>" in text


async def test_the_file_has_the_selected_in_the_columns_of_the_list(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, book: Book
) -> None:
    jonas, _, ivo = await book_three(book)
    foreign = await book(host=stranger, name="Priya Raman")
    await cancel(runtime, ivo, reason="Ill")
    answer = await member.post(EXPORT, data=select(ivo, jonas, foreign, "nonsense", jonas))
    whole = (await member.get("/bookings/export.csv")).text.splitlines()
    rows = list(csv.DictReader(StringIO(answer.text.removeprefix("\ufeff"))))

    assert answer.headers["content-disposition"] == "attachment; filename=bookings-selected-2026-03-16.csv"
    assert answer.text.splitlines()[:2] == whole[:2]
    assert [(row["Name"], row["Reason for cancelling"]) for row in rows] == [
        ("Jonas Okafor", ""),
        ("Ivo Horvat", "Ill"),
    ]


@pytest.mark.parametrize("path", [CANCEL, NO_SHOW, EXPORT])
async def test_a_wrong_selection_shows_the_list_again_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, clock: MovingClock, book: Book, path: str
) -> None:
    await book_three(book)
    foreign = await book(host=stranger, name="Priya Raman")
    clock.now = HALF_PAST_TEN
    refusals: tuple[tuple[list[Any], int, str], ...] = (
        ([], 400, "Select at least one booking"),
        (["", " "], 400, "Select at least one booking"),
        ([new_id() for _ in range(101)], 400, "Select at most 100 bookings"),
        ([foreign], 404, "Booking not found"),
        ([new_id()], 404, "Booking not found"),
        (["nonsense", f"{{{foreign.id}}}", "' or 1=1"], 404, "Booking not found"),
        (["\x00"], 400, "Has characters that are not allowed"),
    )
    for selected, status, fault in refusals:
        answer = await member.post(f"{path}?q=hana", data=select(*selected))

        assert (answer.status_code, read_page(answer).faults) == (status, {"id": fault}), selected
        assert "Hana Kim" in answer.text
        assert "Ivo Horvat" not in answer.text
    assert await read_statuses(runtime) == ["CONFIRMED"] * 4
    assert not await runtime.pool.fetchval("select bool_or(no_show) from bookings")


async def test_a_confirmation_with_wrong_ids_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, book: Book
) -> None:
    foreign = await book(host=stranger)
    for selected, status in (([foreign], 404), ([new_id()], 404), (["x,,y"], 404), ([], 400)):
        answer = await send_cancel(member, selected)

        assert answer.status_code == status, selected
    too_many = await send_cancel(member, [new_id() for _ in range(101)])
    assert too_many.status_code == 400
    assert "Select at most 100 bookings" in read_page(too_many).text
    assert await read_statuses(runtime) == ["CONFIRMED"]


async def test_a_hundred_are_changed_at_once(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    await copy_booking(runtime, str(booking.id), 99)
    await runtime.pool.execute("update bookings set starts_at = $1, ends_at = $2", TEN, HALF_PAST_TEN)
    clock.now = TEN
    ids = [row["id"] for row in await runtime.pool.fetch("select id from bookings")]
    done = await member.post(NO_SHOW, data=select(*ids, *ids))

    assert done.headers["location"] == "/bookings?done=no-show&count=100"
    assert await runtime.pool.fetchval("select bool_and(no_show) from bookings")
