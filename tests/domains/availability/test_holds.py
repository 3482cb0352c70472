"""Holds: how many of a host's times can be held at once, by whom, and how soon again."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.access.door import client_address, network_of
from openslot.domains.accounts.models import User
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.claims.expiry.jobs import expire_holds
from openslot.domains.availability.errors import (
    DayHoldLimitExceeded,
    HoldLimitExceeded,
    SlotRecentlyHeld,
    SlotUnavailable,
)
from openslot.domains.availability.models import ById, ClaimKind, Hold
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.event_types.models import EventType, Limits
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.platform.core.config import Networks
from openslot.platform.core.errors import RateLimited, Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import clock, offer
from tests.support.clocks import MONDAY, MovingClock
from tests.support.races import find_disorder

__all__ = ["clock"]

NINE = MONDAY.replace(hour=9) + timedelta(days=1)
LIVE = """
select (select count(*) from claims where kind = 'hold' and active)
    + (select count(*) from claim_seats where holder is not null and active)"""


@pytest.fixture
async def meeting(runtime: Runtime, user: User) -> EventType:
    """A meeting of 30 minutes, with 16 starts a day, and nothing else that the host offers."""
    await runtime.pool.execute("update event_types set active = false")
    return await offer(runtime, user, "meeting")


async def hold(runtime: Runtime, event_type: EventType, starts_at: datetime, holder: str = "") -> Hold:
    async with runtime.transaction(PUBLIC) as work:
        return await claims.hold_slot(work, ById(event_type.id), starts_at, holder=holder or str(new_id()))


async def try_to_hold(runtime: Runtime, event_type: EventType, starts_at: datetime, holder: str = "") -> str:
    """Hold a time and return how it went."""
    try:
        await hold(runtime, event_type, starts_at, holder)
    except Refusal as refusal:
        return refusal.code
    return "held"


async def drop(runtime: Runtime, held: Hold) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await claims.drop_slot_hold(work, held.id)


async def book(runtime: Runtime, event_type: EventType, starts_at: datetime, held: Hold | None = None) -> Booking:
    wanted = BookingWanted(
        which=ById(event_type.id),
        starts_at=starts_at,
        invitee=Invitee(name="Li Wei", email=f"{new_id()}@wei.example", zone="UTC"),
        hold_id=held.id if held else None,
    )
    async with runtime.transaction(PUBLIC) as work:
        return await bookings.create_booking(work, wanted)


def start(number: int, *, day: int = 0, minutes: int = 30) -> datetime:
    return NINE + timedelta(days=day, minutes=minutes * number)


async def test_many_addresses_hold_a_quarter_of_each_day_at_most(runtime: Runtime, meeting: EventType) -> None:
    wanted = [(day, start(number, day=day)) for day in range(3) for number in range(16)]
    random.shuffle(wanted)
    held = Counter([day for day, at in wanted if await try_to_hold(runtime, meeting, at) == "held"])

    assert held == {0: 4, 1: 4, 2: 4}
    assert await runtime.pool.fetchval(LIVE) == 12
    for number in range(16):
        if number not in {int((row["starts_at"] - NINE).total_seconds() // 1800) for row in await held_starts(runtime)}:
            await book(runtime, meeting, start(number))
    assert await find_disorder(runtime.pool) == {}


async def held_starts(runtime: Runtime) -> list[Any]:
    return list(await runtime.pool.fetch("select starts_at from claims where kind = 'hold' and active"))


async def test_a_refused_hold_says_when_and_takes_nothing_from_a_live_one(
    runtime: Runtime, meeting: EventType, clock: MovingClock
) -> None:
    first = await hold(runtime, meeting, start(0))
    clock.pass_time(minutes=4)
    others = [await hold(runtime, meeting, start(number)) for number in (1, 2, 3)]
    with pytest.raises(DayHoldLimitExceeded) as refused:
        await hold(runtime, meeting, start(4))

    assert refused.value.retry_after == 6 * 60
    assert await runtime.pool.fetchval("select count(*) from claims") == 4
    with pytest.raises(SlotUnavailable):
        await book(runtime, meeting, start(0))
    for number, held in enumerate([first, *others]):
        await book(runtime, meeting, start(number), held)
    await book(runtime, meeting, start(4))
    assert await try_to_hold(runtime, meeting, start(5)) == "held"


async def test_short_holds_do_not_close_a_longer_meeting(runtime: Runtime, user: User, meeting: EventType) -> None:
    hour = await offer(runtime, user, "hour", duration_minutes=60)
    short = await offer(runtime, user, "short", duration_minutes=15)
    answers = [await try_to_hold(runtime, short, start(number, minutes=60)) for number in range(8)]

    assert answers == ["held", "held", *["day_hold_limit_exceeded"] * 6]
    assert await try_to_hold(runtime, hour, start(5, minutes=60)) == "day_hold_limit_exceeded"
    assert await try_to_hold(runtime, hour, start(5, day=1, minutes=60)) == "held"


async def test_two_times_of_a_day_can_be_held_however_few_it_has(
    runtime: Runtime, user: User, meeting: EventType
) -> None:
    long = await offer(runtime, user, "long", duration_minutes=120)
    answers = [await try_to_hold(runtime, long, start(number, minutes=120)) for number in range(4)]

    assert answers == ["held", "held", "day_hold_limit_exceeded", "day_hold_limit_exceeded"]


@pytest.mark.parametrize(("share", "expected"), [(1, 2), (50, 8), (100, 16)])
async def test_the_share_is_the_operators_choice(
    runtime: Runtime, meeting: EventType, share: int, expected: int
) -> None:
    runtime.settings = replace(runtime.settings, hold_share=share)
    answers = Counter([await try_to_hold(runtime, meeting, start(number)) for number in range(16)])

    assert answers["held"] == expected


@pytest.mark.parametrize(
    ("limits", "starts", "expected"),
    [
        (Limits(per_day=8), [(0, 0), (0, 1), (0, 2), (1, 0)], ["held", "held", "day_hold_limit_exceeded", "held"]),
        (Limits(per_day=1), [(0, 0), (1, 0)], ["held", "held"]),
        (Limits(per_week=4), [(0, 0), (1, 0), (7, 0)], ["held", "day_hold_limit_exceeded", "held"]),
    ],
)
async def test_holds_take_only_a_share_of_a_limit(
    runtime: Runtime, user: User, limits: Limits, starts: list[tuple[int, int]], expected: list[str]
) -> None:
    limited = await offer(runtime, user, "limited", limits=limits)
    answers = [await try_to_hold(runtime, limited, start(number, day=day)) for day, number in starts]

    assert answers == expected


async def test_held_seats_close_only_a_share_of_the_sessions(runtime: Runtime, user: User, meeting: EventType) -> None:
    await runtime.pool.execute("update event_types set active = false")
    group = await offer(runtime, user, "group", seats=2, duration_minutes=60)
    answers = [await try_to_hold(runtime, group, start(number // 2, minutes=60)) for number in range(16)]

    # Two of eight sessions are full; in each of the others there is a seat left.
    assert Counter(answers) == {"held": 10, "day_hold_limit_exceeded": 6}
    assert answers[:4] == ["held"] * 4
    await book(runtime, group, start(7, minutes=60))


async def test_a_pending_payment_has_no_holder_and_takes_of_the_same_share(
    runtime: Runtime, meeting: EventType, clock: MovingClock
) -> None:
    async def begin_payment(at: datetime, held: Hold | None = None) -> None:
        async with runtime.transaction(PUBLIC) as work:
            await claims.claim_slot(
                work,
                ById(meeting.id),
                at,
                kind_of=lambda _: ClaimKind.PAYMENT,
                hold_id=held.id if held else None,
            )
            await work.apply()

    for number in range(3):
        await begin_payment(start(number), await hold(runtime, meeting, start(number), "10.0.0.1"))

    # The address holds none of the three that it pays for, and one is left of the four.
    answers = [await try_to_hold(runtime, meeting, start(number), "10.0.0.1") for number in (8, 9)]
    assert answers == ["held", "day_hold_limit_exceeded"]


async def test_an_address_does_not_hold_a_time_again_at_once(
    runtime: Runtime, meeting: EventType, clock: MovingClock
) -> None:
    held = await hold(runtime, meeting, start(0), "10.0.0.1")
    clock.pass_time(minutes=2)
    await drop(runtime, held)
    with pytest.raises(SlotRecentlyHeld) as refused:
        await hold(runtime, meeting, start(0), "10.0.0.1")
    assert refused.value.retry_after == 600
    assert isinstance(refused.value, RateLimited)
    await drop(runtime, await hold(runtime, meeting, start(0), "10.0.0.2"))
    assert await try_to_hold(runtime, meeting, start(1), "10.0.0.1") == "held"

    clock.pass_time(minutes=10)
    assert await try_to_hold(runtime, meeting, start(0), "10.0.0.1") == "held"
    clock.pass_time(minutes=10)
    async with runtime.transaction(SYSTEM) as work:
        assert await expire_holds(work) == "1 holds expired"
    assert await try_to_hold(runtime, meeting, start(0), "10.0.0.1") == "slot_recently_held"
    booked = await book(runtime, meeting, start(0))
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booked.id, None))
    clock.pass_time(minutes=10)
    assert await try_to_hold(runtime, meeting, start(0), "10.0.0.1") == "held"


async def test_who_has_booked_a_held_time_can_hold_it_after_a_cancellation(
    runtime: Runtime, meeting: EventType
) -> None:
    booked = await book(runtime, meeting, start(0), await hold(runtime, meeting, start(0), "10.0.0.1"))
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booked.id, None))

    assert await try_to_hold(runtime, meeting, start(0), "10.0.0.1") == "held"


async def test_a_time_that_overlaps_is_the_same_time(runtime: Runtime, user: User, meeting: EventType) -> None:
    steps = await offer(runtime, user, "steps", duration_minutes=60, slot_interval_minutes=15)
    await drop(runtime, await hold(runtime, steps, NINE, "10.0.0.1"))

    assert await try_to_hold(runtime, steps, NINE + timedelta(minutes=15), "10.0.0.1") == "slot_recently_held"
    assert await try_to_hold(runtime, meeting, start(1), "10.0.0.1") == "slot_recently_held"
    assert await try_to_hold(runtime, meeting, start(2), "10.0.0.1") == "held"


async def test_an_address_holds_one_seat_of_a_session(runtime: Runtime, user: User) -> None:
    group = await offer(runtime, user, "group", seats=10)

    assert await try_to_hold(runtime, group, start(0), "10.0.0.1") == "held"
    assert await try_to_hold(runtime, group, start(0), "10.0.0.1") == "slot_recently_held"
    assert await try_to_hold(runtime, group, start(0), "10.0.0.2") == "held"


@pytest.mark.parametrize(
    ("peer", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
        ("2001:db8::1", "2001:db8::/48"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("nobody", "unknown"),
    ],
)
def test_ipv6_addresses_belong_to_a_network(peer: str, network: str) -> None:
    assert network_of(client_address(peer, None, Networks())) == network


async def test_a_network_holds_twelve_and_each_address_in_it_three(runtime: Runtime, meeting: EventType) -> None:
    def address(part: str) -> str:
        return client_address(f"2001:db8:{part}::1", None, Networks())

    starts = iter([start(number, day=day) for day in (0, 1, 2, 3, 6, 7, 8) for number in range(4)])
    answers = [await try_to_hold(runtime, meeting, next(starts), address(f"1:{each // 4}")) for each in range(16)]

    assert answers == ["held", "held", "held", HoldLimitExceeded.code] * 4
    assert await try_to_hold(runtime, meeting, next(starts), address("1:9")) == HoldLimitExceeded.code
    assert await try_to_hold(runtime, meeting, next(starts), address("2:9")) == "held"


async def test_a_networks_parallel_holds_keep_its_limit(runtime: Runtime, meeting: EventType) -> None:
    wanted = [start(number, day=day) for day in (0, 1, 2, 3, 6) for number in range(4)]
    tries = [
        try_to_hold(runtime, meeting, at, client_address(f"2001:db8:1:{number}::1", None, Networks()))
        for number, at in enumerate(wanted)
    ]

    assert Counter(await asyncio.gather(*tries)) == {"held": 12, HoldLimitExceeded.code: 8}


async def test_a_day_is_one_of_the_hosts_calendar(runtime: Runtime, user: User, meeting: EventType) -> None:
    await runtime.pool.execute("update schedules set zone = 'Pacific/Auckland'")
    zone = ZoneInfo("Pacific/Auckland")
    first = datetime(2026, 3, 18, 9, tzinfo=zone)
    local = [first + timedelta(days=day, minutes=30 * number) for day in (0, 1) for number in range(16)]
    held = Counter(
        [at.day for at in local if await try_to_hold(runtime, meeting, at.astimezone(MONDAY.tzinfo)) == "held"]
    )

    assert held == {18: 4, 19: 4}


async def test_parallel_holds_do_not_pass_the_share(runtime: Runtime, meeting: EventType) -> None:
    answers = await asyncio.gather(*(try_to_hold(runtime, meeting, start(number)) for number in range(16)))

    assert Counter(answers) == {"held": 4, "day_hold_limit_exceeded": 12}


class Edge(Struct, kw_only=True):
    """A day of which one more time can be held, or none, and a hold that somebody changes meanwhile."""

    runtime: Runtime
    meeting: EventType
    clock: MovingClock
    day: int
    changed: Hold


async def hold_too(at: Edge) -> str:
    return await try_to_hold(at.runtime, at.meeting, start(9, day=at.day))


async def book_another(at: Edge) -> str:
    return str((await book(at.runtime, at.meeting, start(9, day=at.day))).status)


async def book_it(at: Edge) -> str:
    return str((await book(at.runtime, at.meeting, start(2, day=at.day), at.changed)).status)


async def drop_it(at: Edge) -> str:
    await drop(at.runtime, at.changed)
    return "dropped"


async def let_it_expire(at: Edge) -> str:
    await at.runtime.pool.execute("update claims set expires_at = $2 where id = $1", at.changed.id, at.clock.now)
    return await expire_holds(at.runtime.work(SYSTEM))


@pytest.mark.parametrize(
    ("come", "is_full"),
    [(hold_too, False), (book_another, False), (book_it, True), (drop_it, True), (let_it_expire, True)],
)
async def test_no_pair_at_the_edge_passes_the_share_or_costs_a_hold_its_time(
    runtime: Runtime, meeting: EventType, clock: MovingClock, come: Callable[[Edge], Awaitable[str]], is_full: bool
) -> None:
    live = "select count(*) from claims where kind = 'hold' and active and starts_at::date = $1 and expires_at > $2"
    for day in (0, 1, 2, 3, 6, 7):
        kept = {place: await hold(runtime, meeting, start(place, day=day)) for place in (0, 1)}
        changed = await hold(runtime, meeting, start(2, day=day))
        if is_full:
            kept[3] = await hold(runtime, meeting, start(3, day=day))
        at = Edge(runtime=runtime, meeting=meeting, clock=clock, day=day, changed=changed)

        held, answer = await asyncio.gather(try_to_hold(runtime, meeting, start(8, day=day)), come(at))

        assert held in {"held", "day_hold_limit_exceeded"}
        if come is hold_too:
            assert {held, answer} == {"held", "day_hold_limit_exceeded"}
        assert await runtime.pool.fetchval(live, start(0, day=day).date(), clock.now) <= 4
        for place, one in kept.items():
            await book(runtime, meeting, start(place, day=day), one)
    assert await find_disorder(runtime.pool) == {}
