"""A booking's page: the next step, a no-show and its undo, and notes that nobody else reads."""

from datetime import timedelta

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import TEN, Book, cancel, open_session
from tests.support.page import read_page

NOTE = "Asked for a quote in spring"


async def test_a_no_show_is_marked_and_undone_on_the_page(
    member: httpx2.AsyncClient, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    path = f"/bookings/{booking.id}"
    early = await member.post(f"{path}/no-show", data={"no_show": "yes"})
    assert "Mark as no-show" not in read_page(await member.get(path)).buttons
    assert early.status_code == 409
    assert read_page(early).faults["no_show"] == "This booking has not started yet"

    clock.now = TEN + timedelta(minutes=5)
    assert "Mark as no-show" in read_page(await member.get(path)).buttons
    marked = await member.post(f"{path}/no-show", data={"no_show": "yes"})
    shown = read_page(await member.get(marked.headers["location"]))
    assert shown.notices == ["Marked as a no-show. Nobody is notified."]
    assert "You marked a no-show" in shown.headings
    assert "Jonas Okafor No-show" in shown.headings
    assert "No-show" in read_page(await member.get("/bookings")).text

    undone = await member.post(f"{path}/no-show", data={"no_show": "no"})
    shown = read_page(await member.get(undone.headers["location"]))
    assert "You took the no-show back" in shown.headings
    assert "Mark as no-show" in shown.buttons
    assert (await member.post(f"{path}/no-show", data={"no_show": "perhaps"})).status_code in {400, 409}


async def test_a_cancelled_booking_offers_no_mark_and_refuses_it(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    await cancel(runtime, booking)
    clock.now = TEN + timedelta(minutes=5)
    answer = await member.post(f"/bookings/{booking.id}/no-show", data={"no_show": "yes"})

    assert "Mark as no-show" not in read_page(answer).buttons
    assert read_page(answer).faults["no_show"] == "This booking is cancelled"


async def test_the_mark_is_in_the_file_and_in_the_api(
    member: httpx2.AsyncClient, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    clock.now = TEN + timedelta(minutes=5)
    await member.post(f"/bookings/{booking.id}/no-show", data={"no_show": "yes"})
    clock.pass_time(days=1)

    assert "No-show" in (await member.get("/bookings/export.csv?view=past")).text.splitlines()[1]


async def test_private_notes_are_kept_for_the_host_alone(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    saved = await member.post(f"/bookings/{booking.id}/notes", data={"private_notes": NOTE})
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    shown = read_page(await member.get(saved.headers["location"]))

    assert shown.fields["private_notes"].value == NOTE
    assert NOTE not in (await member.get(f"/manage/{manage_token(runtime, booking.id)}")).text
    mails = await runtime.pool.fetch("select * from mail_messages")
    assert mails
    assert not [mail for mail in mails if NOTE in str(dict(mail))]
    member.headers.update(await open_session(runtime, stranger))
    refused = await member.post(f"/bookings/{booking.id}/notes", data={"private_notes": "x"})
    assert refused.status_code == 404
    assert await runtime.pool.fetchval("select private_notes from bookings") == NOTE


async def test_too_long_notes_change_nothing_and_stay_in_their_field(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book()
    answer = await member.post(f"/bookings/{booking.id}/notes", data={"private_notes": "a" * 5001})

    assert answer.status_code == 400
    assert "private_notes" in read_page(answer).faults
    assert len(read_page(answer).fields["private_notes"].value) == 5001


async def test_a_booking_leads_to_the_next_one_with_the_same_person(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book()
    again = read_page(await member.get(f"/bookings/{booking.id}")).links["Book again"]
    form = read_page(await member.get(again))

    assert (form.fields["name"].value, form.fields["email"].value) == ("Jonas Okafor", "jonas@okafor.example")
    assert form.fields["type"].value == "30min"
