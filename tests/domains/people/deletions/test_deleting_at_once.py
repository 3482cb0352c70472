"""A deletion beside a booking, a sign-in, another deletion or another worker at the same moment."""

import asyncio
from datetime import timedelta

import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.errors import InvalidCredentials
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Runtime
from tests.domains.people.deletions.conftest import Delete, advance, is_there, settle
from tests.support.clocks import MovingClock
from tests.support.host import TEN, Book
from tests.support.passwords import PASSWORD


async def test_of_two_administrators_who_leave_at_once_one_stays(
    runtime: Runtime, user: User, stranger: User, delete: Delete
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        both = [await accounts.set_admin(work, each, is_admin=True) for each in (user, stranger)]

    results = await asyncio.gather(*(delete(each) for each in both), return_exceptions=True)

    assert sorted(type(each).__name__ for each in results) == ["LastAdministratorRequired", "NoneType"]


async def test_a_booking_that_is_made_in_this_moment_is_cancelled_too(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, delete: Delete
) -> None:
    started, may_commit = asyncio.Event(), asyncio.Event()

    async def book_slowly() -> None:
        async with runtime.transaction(PUBLIC) as work:
            invitee = Invitee(name="Li", email="li@x.example", zone="UTC")
            await bookings.create_booking(
                work, BookingWanted(which=BySlug(user.id, "30min"), starts_at=TEN, invitee=invitee)
            )
            started.set()
            await may_commit.wait()

    booking = asyncio.create_task(book_slowly())
    await started.wait()
    deleting = asyncio.ensure_future(delete())
    await asyncio.sleep(0.2)
    # The deletion waits for the host's lock, which the booking holds.
    assert not deleting.done()
    may_commit.set()
    await asyncio.gather(booking, deleting)
    await advance(runtime)

    assert await runtime.pool.fetchval("select status from bookings") == "CANCELLED"


async def test_a_booking_after_the_deletion_began_is_refused(runtime: Runtime, book: Book, delete: Delete) -> None:
    await delete()
    with pytest.raises(NotFound):
        await book()


async def test_many_bookings_and_a_deletion_at_once_leave_no_confirmed_booking(
    runtime: Runtime, book: Book, delete: Delete
) -> None:
    starts = [TEN + timedelta(minutes=30 * place) for place in range(8)]
    tried = [book(start, email=f"li{place}@x.example") for place, start in enumerate(starts)]
    results = await asyncio.gather(*tried[:4], delete(), *tried[4:], return_exceptions=True)
    await advance(runtime)

    assert all(not isinstance(each, Exception) or isinstance(each, NotFound) for each in results)
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == 0


async def test_a_sign_in_with_the_right_password_is_refused(
    runtime: Runtime, user: User, clock: MovingClock, delete: Delete
) -> None:
    await delete()
    for _ in range(2):
        with pytest.raises(InvalidCredentials):
            await access.sign_in(
                runtime.work(OPERATOR), email=user.email, password=PASSWORD, address="127.0.0.1", user_agent="x"
            )
        await settle(runtime, clock)
    assert not await is_there(runtime, user)
    assert await runtime.pool.fetchval("select count(*) from sessions") == 0


async def test_a_sign_in_at_the_same_moment_leaves_no_session(
    runtime: Runtime, user: User, delete: Delete, password_hash: str
) -> None:
    async def sign_in() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await access.let_in(work, user, password_hash=password_hash, user_agent="x")

    await asyncio.gather(
        *(sign_in() for _ in range(4)), delete(), *(sign_in() for _ in range(4)), return_exceptions=True
    )

    assert await runtime.pool.fetchval("select count(*) from sessions") == 0
