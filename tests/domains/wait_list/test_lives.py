"""Whatever people on the wait list do, in whatever order: the promises hold, at every step."""

import random
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis.strategies import integers
from msgspec import Struct

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.availability.claims.expiry.jobs import expire_holds
from openslot.domains.bookings.models import Booking
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.domains.wait_list import operations as wait_list
from openslot.domains.wait_list.rules import HANDING_ON, SHORTEST, plan_offer
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY, MovingClock
from tests.support.parts import LONG, how_many
from tests.support.races import find_disorder
from tests.support.wait_list import (
    NINE,
    ask_to_wait,
    book_day,
    cancel_day,
    find_wait_list_faults,
    hand_out,
    list_starts,
    offer_day,
    take_offer,
    wait_for,
)

LIVES, STEPS = how_many(6, long=60), 60 if LONG else 40
DEEDS = ("nothing", "decline", "leave", "no worker")


async def move_in(runtime: Runtime, **changes: Any) -> tuple[User, EventType]:
    async with runtime.transaction(OPERATOR) as work:
        host = await people.welcome_user(work, UserWanted(email=f"{new_id()}@life.example", name="Life"))
    return host, await offer_day(runtime, host, **changes)


@pytest.mark.parametrize("seed", range(LIVES))
async def test_freed_time_is_open_again_after_people_times_minutes(
    runtime: Runtime, clock: MovingClock, seed: int
) -> None:
    chance = random.Random(seed)
    deeds = chance.choices(DEEDS, k=chance.randint(1, 5))
    minutes = timedelta(minutes=chance.randint(15, 180))
    clock.now = MONDAY + timedelta(seconds=chance.randint(0, 59))
    _, day = await move_in(runtime, wait_list_minutes=minutes // timedelta(minutes=1))
    booking = await book_day(runtime, day)
    entries = await wait_for(runtime, day, *(f"p{place}@x.example" for place, _ in enumerate(deeds)))
    await cancel_day(runtime, booking)
    latest = clock.now + len(deeds) * minutes
    for deed, entry in zip(deeds, entries, strict=True):
        assert await find_wait_list_faults(runtime) == {}
        async with runtime.transaction(PUBLIC) as work:
            if deed == "decline":
                await wait_list.decline_offer(work, entry)
            elif deed == "leave":
                await wait_list.leave_wait_list(work, entry)
        if deed == "nothing":
            until = await runtime.pool.fetchval("select max(expires_at) from wait_list_offers where state = 'offered'")
            clock.now = until or clock.now
            await hand_out(runtime)
        elif deed == "no worker":
            clock.now += minutes
            break
    assert clock.now <= latest
    assert await list_starts(runtime, day) == [NINE], deeds


class Life(Struct, kw_only=True):
    """One host with days that are booked, freed and waited for."""

    runtime: Runtime
    clock: MovingClock
    chance: random.Random
    day: EventType
    booked: list[Booking] = []
    entries: list[UUID] = []

    async def book(self) -> None:
        email = f"{new_id()}@x.example"
        self.booked.append(await book_day(self.runtime, self.day, self._start(), email=email))

    async def cancel(self) -> None:
        if self.booked:
            await cancel_day(self.runtime, self.booked.pop(self.chance.randrange(len(self.booked))))

    async def wait(self) -> None:
        start, person = self._start(), f"p{self.chance.randint(0, 4)}@x.example"
        starts_at = self.chance.choice([None, start]) if self.day.seats > 1 else None
        self.entries.append(await ask_to_wait(self.runtime, self.day, person, day=start.date(), starts_at=starts_at))

    async def confirm(self) -> None:
        async with self.runtime.transaction(PUBLIC) as work:
            await wait_list.confirm_entry(work, self._entry())

    async def accept(self) -> None:
        self.booked.append(await take_offer(self.runtime, self._entry()))

    async def decline(self) -> None:
        async with self.runtime.transaction(PUBLIC) as work:
            await wait_list.decline_offer(work, self._entry())

    async def leave(self) -> None:
        async with self.runtime.transaction(PUBLIC) as work:
            await wait_list.leave_wait_list(work, self._entry())

    async def let_time_pass(self) -> None:
        self.clock.pass_time(minutes=self.chance.choice([1, 10, 60, 119]))

    async def let_the_job_come(self) -> None:
        await hand_out(self.runtime)

    async def let_holds_expire(self) -> None:
        await expire_holds(self.runtime.work(SYSTEM))

    def _start(self) -> datetime:
        return NINE + timedelta(days=self.chance.randint(0, 2))

    def _entry(self) -> UUID:
        return self.chance.choice(self.entries) if self.entries else new_id()


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
@pytest.mark.parametrize("seed", range(LIVES))
async def test_the_promises_hold_in_every_life(runtime: Runtime, clock: MovingClock, seed: int, seats: int) -> None:
    _, day = await move_in(runtime, seats=seats)
    life = Life(runtime=runtime, clock=clock, chance=random.Random(seed), day=day, booked=[], entries=[])
    often, seldom = (life.book, life.wait, life.confirm, life.cancel), (life.decline, life.leave, life.let_time_pass)
    deeds = [*often, *often, *seldom, life.accept, life.accept, life.let_the_job_come, life.let_holds_expire]
    for step in range(STEPS):
        deed = life.chance.choice(deeds)
        with suppress(Refusal):
            await deed()
        name = f"step {step}: {deed.__name__}"
        assert await find_disorder(runtime.pool) == {}, name
        assert await find_wait_list_faults(runtime) == {}, name


@given(
    minutes=integers(15, 1440),
    ahead=integers(0, 3000),
    notice=integers(0, 1440),
    second=integers(0, 59),
)
def test_offer_is_kept_no_longer_than_said_and_never_beyond_the_notice(
    minutes: int, ahead: int, notice: int, second: int
) -> None:
    now = MONDAY + timedelta(seconds=second)
    starts_at = MONDAY + timedelta(minutes=ahead)
    day = EventType(
        id=new_id(),
        owner_id=new_id(),
        schedule_id=new_id(),
        name="Day",
        slug="day",
        duration_minutes=30,
        created_at=now,
        updated_at=now,
        min_notice_minutes=notice,
        wait_list_minutes=minutes,
    )
    planned = plan_offer(day, starts_at, now=now)
    if planned is None:
        left = min(timedelta(minutes=minutes), starts_at - timedelta(minutes=notice) - now)
        assert left < SHORTEST + HANDING_ON + timedelta(minutes=1)
        return
    kept_until, told_until = planned
    assert now + SHORTEST <= told_until <= kept_until - HANDING_ON
    assert kept_until <= now + timedelta(minutes=minutes)
    assert kept_until <= starts_at - timedelta(minutes=notice)
    assert told_until.second == 0
