"""No-shows: when they can be marked, that twice changes nothing, and what a change of the booking does to them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.errors import BookingAlreadyCancelled, BookingNotFound, BookingNotStarted
from openslot.domains.bookings.models import Booking, BookingRef, Status
from openslot.domains.contacts import operations as contacts
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime, Work
from tests.support.clocks import MovingClock
from tests.support.host import ELEVEN, TEN, Book, book, clock, settings, stranger, user

__all__ = ["book", "clock", "settings", "stranger", "user"]

HALF = timedelta(minutes=15)
Change = Callable[[Work, BookingRef], Awaitable[object]]


async def mark(work: Work, ref: BookingRef) -> object:
    return await bookings.mark_no_show(work, ref)


async def undo(work: Work, ref: BookingRef) -> object:
    return await bookings.mark_no_show(work, ref, no_show=False)


async def cancel(work: Work, ref: BookingRef) -> object:
    return await bookings.cancel_booking(work, ref)


async def reschedule(work: Work, ref: BookingRef) -> object:
    return await bookings.reschedule_booking(work, ref, ELEVEN)


async def change(runtime: Runtime, user: User, booking: Booking, act: Change) -> str:
    """Let the host change a booking, and return the code of a refusal."""
    try:
        async with runtime.transaction(Actor(kind=ActorKind.SESSION, user_id=user.id)) as work:
            await act(work, BookingRef(booking.id, user.id))
    except Refusal as refusal:
        return refusal.code
    return ""


async def read(runtime: Runtime, user: User, booking: Booking) -> Booking:
    async with runtime.transaction(Actor(kind=ActorKind.SESSION, user_id=user.id)) as work:
        return (await bookings.get_booking(work, BookingRef(booking.id, user.id))).booking


async def list_types(runtime: Runtime, booking: Booking) -> list[str]:
    rows = await runtime.pool.fetch("select type, actor from events where subject_id = $1 order by no", booking.id)
    return [row["type"].removeprefix("booking.") for row in rows]


async def test_a_no_show_is_marked_from_the_start_on_and_undone(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    clock.now = TEN - timedelta(seconds=1)
    assert await change(runtime, user, booking, mark) == BookingNotStarted.code
    assert await change(runtime, user, booking, undo) == BookingNotStarted.code

    clock.now = TEN
    assert await change(runtime, user, booking, mark) == ""
    assert (await read(runtime, user, booking)).no_show is True

    clock.now = TEN + timedelta(days=30)
    assert await change(runtime, user, booking, undo) == ""
    assert (await read(runtime, user, booking)).no_show is False
    assert await list_types(runtime, booking) == ["created", "no_show_marked", "no_show_removed"]


async def test_the_same_mark_again_changes_nothing(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    clock.now = TEN + HALF
    for _ in range(3):
        assert await change(runtime, user, booking, mark) == ""
    marked = await read(runtime, user, booking)
    clock.pass_time(hours=1)
    await change(runtime, user, booking, mark)

    assert await read(runtime, user, booking) == marked
    assert await list_types(runtime, booking) == ["created", "no_show_marked"]
    # It is neither mailed nor sent, and no calendar entry changes.
    assert marked.sequence == booking.sequence
    assert (
        await runtime.pool.fetchval(
            "select count(*) from effects e join events v on v.id = e.event_id where v.type like '%no_show%'"
        )
        == 0
    )


# What the two do one after the other, while the meeting is under way: the codes, and what is left.
PAIRS: list[tuple[Change, Change, list[str], tuple[Status, bool]]] = [
    (mark, cancel, ["", ""], (Status.CANCELLED, False)),
    (cancel, mark, ["", BookingAlreadyCancelled.code], (Status.CANCELLED, False)),
    (mark, reschedule, ["", ""], (Status.CONFIRMED, False)),
    (reschedule, mark, ["", BookingNotStarted.code], (Status.CONFIRMED, False)),
    (cancel, undo, ["", BookingAlreadyCancelled.code], (Status.CANCELLED, False)),
    (reschedule, undo, ["", BookingNotStarted.code], (Status.CONFIRMED, False)),
    (mark, undo, ["", ""], (Status.CONFIRMED, False)),
    (undo, mark, ["", ""], (Status.CONFIRMED, True)),
]


@pytest.mark.parametrize(("first", "second", "codes", "left"), PAIRS)
async def test_a_booking_that_is_still_to_come_or_cancelled_is_no_no_show(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    book: Book,
    first: Change,
    second: Change,
    codes: list[str],
    left: tuple[Status, bool],
) -> None:
    booking = await book()
    clock.now = TEN + HALF
    assert [await change(runtime, user, booking, act) for act in (first, second)] == codes

    found = await read(runtime, user, booking)
    assert (found.status, found.no_show) == left


@pytest.mark.parametrize("other", [cancel, reschedule, mark, undo])
async def test_at_the_same_moment_the_result_is_that_of_one_order(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, other: Change
) -> None:
    booking = await book()
    clock.now = TEN + HALF
    await asyncio.gather(*(change(runtime, user, booking, act) for act in (mark, other)))

    found = await read(runtime, user, booking)
    is_kept = found.status is Status.CONFIRMED and found.starts_at <= clock.now
    assert found.no_show <= is_kept
    if other is mark:
        assert await list_types(runtime, booking) == ["created", "no_show_marked"]


async def test_another_host_finds_no_booking(
    runtime: Runtime, user: User, stranger: User, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    clock.now = TEN + HALF

    assert await change(runtime, stranger, booking, mark) == BookingNotFound.code
    assert (await read(runtime, user, booking)).no_show is False


async def test_private_notes_go_with_the_contact(runtime: Runtime, user: User, stranger: User, book: Book) -> None:
    booking, other = await book(), await book(ELEVEN, name="Hana Kim", email="hana@kim.example")
    actor = Actor(kind=ActorKind.SESSION, user_id=user.id)
    async with runtime.transaction(actor) as work:
        for each in (booking, other):
            await bookings.write_private_notes(work, user, each.id, "  Bring the two layouts ")
    with pytest.raises(BookingNotFound):
        async with runtime.transaction(actor) as work:
            await bookings.write_private_notes(work, stranger, booking.id, "x")
    assert booking.contact_id is not None
    async with runtime.transaction(actor) as work:
        await contacts.delete_contact(work, user, booking.contact_id)

    async with runtime.transaction(actor) as work:
        assert (await bookings.get_host_notes(work, user, booking.id)).private_notes == ""
        assert (await bookings.get_host_notes(work, user, other.id)).private_notes == "Bring the two layouts"
        assert (await bookings.get_host_notes(work, stranger, other.id)).private_notes == ""
    stored = await runtime.pool.fetch("select fact::text from events")
    assert not [row for row in stored if "layouts" in row["fact"]]
