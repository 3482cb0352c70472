"""How many upcoming bookings one email address can have: counted under the host's lock, at every public door."""

import asyncio
from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.errors import InviteeLimitReached
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.event_types.models import EventType, Limits
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, offer
from tests.domains.bookings.support import AT, LATER
from tests.support.clocks import MovingClock

WANTED = {"inviteeName": "Li", "inviteeTimezone": "UTC"}


@pytest.fixture
async def once(runtime: Runtime, user: User) -> EventType:
    """A meeting that each address can have once."""
    return await offer(runtime, user, "once", limits=Limits(per_invitee=1))


async def book(
    runtime: Runtime, once: EventType, at: Any, email: str = "li@wei.example", actor: Actor = PUBLIC
) -> Booking:
    async with runtime.transaction(actor) as work:
        invitee = Invitee(name="Li", email=email, zone="UTC")
        return await bookings.create_booking(work, BookingWanted(which=ById(once.id), starts_at=at, invitee=invitee))


async def test_an_address_books_as_often_as_it_can_whatever_its_case(
    client: httpx2.AsyncClient, once: EventType, user: User
) -> None:
    body = {"eventTypeId": str(once.id), **WANTED}
    first = await client.post("/api/bookings", json={**body, "startTime": TEN, "inviteeEmail": "li@wei.example"})
    again = await client.post("/api/bookings", json={**body, "startTime": ELEVEN, "inviteeEmail": "LI@Wei.example"})
    other = await client.post("/api/bookings", json={**body, "startTime": ELEVEN, "inviteeEmail": "ana@wei.example"})

    assert (first.status_code, again.status_code, other.status_code) == (200, 409, 200)
    assert again.headers["x-error-code"] == "invitee_limit_reached"
    form = {"start": "2026-03-16T12:00:00Z", "name": "Li", "email": "Li@wei.example", "tz": "UTC"}
    page = await client.post(f"/{user.username}/once", data=form)
    assert page.status_code == 409
    assert "as many upcoming bookings of this event type as it can have" in page.text


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("li+a@wei.example", "Li+b@wei.example", True),
        ("li@wei.example", "li+a+b@wei.example", True),
        ("li+a@wei.example", "li@wei.example", True),
        ("l.i@wei.example", "li@wei.example", False),
        ("+a@wei.example", "+b@wei.example", False),
        ("li+a@wei.example", "li+a@other.example", False),
    ],
)
async def test_addresses_of_one_mailbox_count_together(
    runtime: Runtime, once: EventType, first: str, second: str, *, is_same: bool
) -> None:
    await book(runtime, once, AT, first)
    if is_same:
        with pytest.raises(InviteeLimitReached):
            await book(runtime, once, LATER, second)
    else:
        await book(runtime, once, LATER, second)


async def test_the_hosts_side_is_exempt_and_counts(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, once: EventType
) -> None:
    for start in (TEN, ELEVEN):
        body = {"eventTypeSlug": "once", "startTime": start, "inviteeEmail": "li@wei.example", **WANTED}
        assert (await client.post("/api/v1/bookings", json=body, headers=bearer)).status_code == 200
    with pytest.raises(InviteeLimitReached):
        await book(runtime, once, LATER)


async def test_what_is_cancelled_or_over_does_not_count_and_a_reschedule_is_free(
    runtime: Runtime, once: EventType, meeting: EventType, clock: MovingClock
) -> None:
    first = await book(runtime, once, AT)
    await book(runtime, meeting, LATER)
    async with runtime.transaction(PUBLIC) as work:
        await bookings.reschedule_booking(work, BookingRef(first.id, None), AT.replace(hour=14))
    async with runtime.transaction(PUBLIC) as work:
        await bookings.cancel_booking(work, BookingRef(first.id, None))
    again = await book(runtime, once, AT)
    clock.now = AT.replace(hour=10, minute=30)
    after = await book(runtime, once, AT.replace(hour=15))

    statement = "select id from bookings where event_type_id = $1 and status = 'CONFIRMED'"
    kept = {row["id"] for row in await runtime.pool.fetch(statement, once.id)}
    assert kept == {again.id, after.id}


async def test_of_those_who_come_at_once_only_so_many_get_a_booking(runtime: Runtime, once: EventType) -> None:
    async def attempt(hour: int) -> bool:
        try:
            await book(runtime, once, AT.replace(hour=hour))
        except Refusal:
            return False
        return True

    assert sum(await asyncio.gather(*map(attempt, range(9, 17)))) == 1
    await book(runtime, once, LATER.replace(day=17), actor=OPERATOR)
