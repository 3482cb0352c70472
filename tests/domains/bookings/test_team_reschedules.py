"""Bookings of teams that move and get several other hosts at once: one choice a group, which can be made again."""

import random
from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.teams.models import Balance
from openslot.domains.teams.replay import replay_choices
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY
from tests.support.races import find_disorder
from tests.support.teams import HostedTeam, book_alone, book_team, hold_team, list_hosts, open_team

AT = MONDAY.replace(hour=10)
LATER = AT + timedelta(days=1)


async def reschedule(runtime: Runtime, ref: BookingRef, to: datetime) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await bookings.reschedule_booking(work, ref, to)


async def check_ledger(runtime: Runtime, team: HostedTeam) -> None:
    assert (await replay_choices(runtime.work(OPERATOR), team.id)).differences == ()
    assert await find_disorder(runtime.pool) == {}


async def test_two_hosts_of_one_group_who_are_replaced_are_one_choice(runtime: Runtime) -> None:
    team = await open_team(runtime, 4, groups=[(2, range(4))])
    booking = await book_team(runtime, team.event_type, AT)
    first, second, third, fourth = (each.id for each in team.hosts)
    assert await list_hosts(runtime, booking.id) == [first, second]
    for host in team.hosts[:2]:
        await book_alone(runtime, host, LATER)
    await reschedule(runtime, BookingRef(booking.id, None), LATER)
    assert set(await list_hosts(runtime, booking.id)) == {third, fourth}
    chosen = await runtime.pool.fetchval("select chosen from assignments where reason = 'rescheduled'")
    assert set(chosen) == {third, fourth}
    replayed = await replay_choices(runtime.work(OPERATOR), team.id)
    assert (replayed.choices, replayed.equal, replayed.differences) == (2, 2, ())
    await check_ledger(runtime, team)


async def test_hosts_of_two_groups_are_replaced_before_anything_is_settled(runtime: Runtime) -> None:
    team = await open_team(runtime, 8, groups=[(2, range(4)), (2, range(4, 8))])
    booking = await book_team(runtime, team.event_type, AT)
    # What a hold has counted in both groups is given back by the next who settles.
    await hold_team(runtime, team.event_type, AT + timedelta(hours=1))
    await runtime.pool.execute("update claims set active = false where kind = 'hold'")
    for host in team.hosts:
        if host.id in await list_hosts(runtime, booking.id):
            await book_alone(runtime, host, LATER)
    await reschedule(runtime, BookingRef(booking.id, None), LATER)
    await check_ledger(runtime, team)


@pytest.mark.parametrize("balance", Balance)
@pytest.mark.parametrize("seed", range(3))
async def test_the_ledger_replays_whatever_is_rescheduled(runtime: Runtime, balance: Balance, seed: int) -> None:
    draw = random.Random(f"{balance} {seed}")
    pick = draw.choice((2, 3))
    team = await open_team(runtime, 9, groups=[(pick, range(6)), (2, range(3, 9))], balance=balance)
    starts = [MONDAY.replace(hour=hour) + timedelta(days=day) for day in range(3) for hour in range(9, 17)]
    made = [await book_team(runtime, team.event_type, start) for start in draw.sample(starts, 4)]
    replaced = 0
    for _ in range(10):
        booking, start = draw.choice(made), draw.choice(starts)
        hosts = await list_hosts(runtime, booking.id)
        # Some of its hosts have something else at that time.
        for host in team.hosts:
            if host.id in hosts and draw.random() < 0.5:
                with suppress(SlotUnavailable):
                    await book_alone(runtime, host, start)
        with suppress(SlotUnavailable):
            await reschedule(runtime, BookingRef(booking.id, None), start)
        replaced += len({*hosts} - {*await list_hosts(runtime, booking.id)}) > 1
    assert replaced
    await check_ledger(runtime, team)
