"""An account may cause more the more people have met it who have proven who they are: nobody whom it can invent."""

from datetime import UTC, datetime, timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.allowances.models import Cost
from openslot.domains.allowances.operations import allow_here, find_account
from openslot.domains.allowances.rules import MEETINGS_READ
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.wait_list import book_day

NINE = datetime(2026, 3, 16, 9, 0, tzinfo=UTC)
# Copies of a booking that was made, each half an hour before the last.
COPY = """
insert into bookings select (jsonb_populate_record(b, jsonb_build_object(
    'id', gen_random_uuid(), 'invitee_email', format($2, n), 'email_proven', $3::boolean,
    'starts_at', b.starts_at - $4::interval - n * interval '30 minutes',
    'ends_at', b.ends_at - $4::interval - n * interval '30 minutes'))).*
from bookings b, generate_series(1, $1::int) n where b.invitee_email = 'first@x.example'"""
COPY_EVENTS = """
insert into booking_history (booking_id, no, type, at, actor)
select id, 1, 'booking.created', created_at, '{"kind": "public"}' from bookings"""


@pytest.fixture(autouse=True)
async def booked(runtime: Runtime, user: User, clock: MovingClock) -> None:
    """A host who has just signed up, and somebody who has met them."""
    await book_day(runtime, await offer(runtime, user, "meeting"), NINE)
    clock.pass_time(hours=4)
    await runtime.pool.execute(
        "update users set plan = 'FREE', signed_up = true, created_at = $2 where id = $1",
        user.id,
        clock() - timedelta(hours=1),
    )


async def copy(runtime: Runtime, count: int, email: str, *, proven: bool | None = None, days: int = 0) -> None:
    await runtime.pool.execute(COPY, count, email, proven, timedelta(days=days))


async def most_mail(runtime: Runtime, user: User) -> int:
    account = await find_account(runtime.work(SYSTEM), user.id)
    assert account is not None
    return allow_here(runtime.settings, Cost.MAIL, account).most


async def test_people_who_have_proven_nothing_add_nothing(runtime: Runtime, user: User) -> None:
    await copy(runtime, 40, "p%s@victims.example")
    await runtime.pool.execute(COPY_EVENTS)

    assert await most_mail(runtime, user) == 20


async def test_people_add_once_and_their_addresses_of_one_mailbox_are_one(runtime: Runtime, user: User) -> None:
    await copy(runtime, 20, "p+%s@okafor.example", proven=True)
    assert await most_mail(runtime, user) == 20
    await copy(runtime, 10, "p%s@okafor.example", proven=True)
    assert await most_mail(runtime, user) == 40


@pytest.mark.rest("fills the database with much")
async def test_so_many_meetings_are_read_and_no_more(runtime: Runtime, user: User) -> None:
    await copy(runtime, 10, "p%s@okafor.example", proven=True, days=100)
    assert await most_mail(runtime, user) == 40
    await copy(runtime, MEETINGS_READ, "q%s@okafor.example")

    assert await most_mail(runtime, user) == 20
