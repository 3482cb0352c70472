"""Figures that are kept by day: equal to a hand count at every moment of a random history, and counted anew."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from random import Random
from uuid import UUID

import asyncpg
import pytest

from openslot.domains.analytics import daily_store, platform
from openslot.domains.analytics.models import UtcDays
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock, clock
from tests.support.parts import LONG, how_many
from tests.support.platform_facts import (
    BY_HAND,
    Host,
    add_booking,
    add_host,
    add_revenue,
    add_views,
    count_by_hand,
    erase,
    list_active_by_hand,
    list_days,
)

__all__ = ["clock"]

SEEDS, STEPS = range(how_many(5, long=60)), 80 if LONG else 45
# Around the change to summer time and the end of a month.
FIRST, LAST = date(2026, 3, 24), date(2026, 4, 6)
NOON = datetime(2026, 4, 6, 12, tzinfo=UTC)
SOURCES = ("direct", "internal", "example.com", None)
EDIT = """
update bookings set no_show = case $2 when 'no_show' then not no_show else no_show end,
    status = case when $2 = 'cancel' then 'CANCELLED' when $2 = 'pay' then 'CONFIRMED' else status end,
    cancelled_at = case when $2 = 'cancel' then coalesce(cancelled_at, $3) else cancelled_at end,
    starts_at = case when $2 = 'move' then $3 else starts_at end,
    ends_at = case when $2 = 'move' then $3 + interval '30 minutes' else ends_at end
where id = $1 and case $2 when 'pay' then status = 'PENDING_PAYMENT' when 'cancel' then status = 'CONFIRMED'
    else status <> 'CANCELLED' end"""

Figures = Mapping[tuple[date, str, str], int]


async def read(runtime: Runtime, first: date = FIRST, last: date = LAST) -> Figures:
    """Read every figure of every day as the tools and the page do."""
    days = list_days(first, last)
    parts = UtcDays(first=first, last=last).split("day")
    sums = await platform.sum_figures(runtime.work(SYSTEM), parts, list(BY_HAND), keyed=list(BY_HAND))
    return {(days[each.index], each.name, each.key): each.amount for each in sums}


async def read_active(runtime: Runtime) -> dict[date, int]:
    parts = UtcDays(first=FIRST, last=LAST).split("day")
    found = await platform.count_active_hosts(runtime.work(SYSTEM), parts)
    return {list_days(FIRST, LAST)[place]: hosts for place, hosts in found.items()}


async def read_all_active(runtime: Runtime) -> int:
    found = await platform.count_active_hosts(runtime.work(SYSTEM), [UtcDays(first=FIRST, last=LAST)])
    return found.get(0, 0)


async def keep(runtime: Runtime) -> str:
    return await platform.keep_days(runtime.work(SYSTEM))


async def list_kept(runtime: Runtime) -> Figures:
    rows = await runtime.pool.fetch("select on_day, name, key, amount from daily_figures")
    return {(row["on_day"], row["name"], row["key"]): row["amount"] for row in rows}


async def list_kept_hosts(runtime: Runtime) -> set[tuple[date, UUID]]:
    statement = """select a.on_day, u.id from active_hosts a join users u on u.no between a.block * 1024
            and a.block * 1024 + 1023 and get_bit(a.hosts, (u.no - a.block * 1024)::integer) = 1"""
    return {(row["on_day"], row["id"]) for row in await runtime.pool.fetch(statement)}


class History:
    """What happens to a platform, chosen by chance."""

    def __init__(self, runtime: Runtime, clock: MovingClock, seed: int) -> None:
        self.runtime, self.clock, self.chance = runtime, clock, Random(seed)
        self.hosts: list[Host] = []
        self.bookings: list[UUID] = []

    def moment(self) -> datetime:
        """Choose a moment, often the first or last one of a day."""
        day = datetime.combine(self.chance.choice(list_days(FIRST, LAST)), datetime.min.time(), UTC)
        return day + self.chance.choice(
            [timedelta(), timedelta(days=1, microseconds=-1), timedelta(minutes=self.chance.randrange(1440))]
        )

    async def add_host(self) -> None:
        name = f"host{len(self.hosts)}x{self.chance.randrange(10**6)}"
        self.hosts.append(await add_host(self.runtime, self.clock, name, at=self.moment()))

    async def add_booking(self) -> None:
        status = self.chance.choice(["CONFIRMED", "CONFIRMED", "CANCELLED", "PENDING_PAYMENT"])
        made = await add_booking(
            self.runtime,
            self.chance.choice(self.hosts),
            made_at=self.moment(),
            starts_at=self.moment(),
            status=status,
            cancelled_at=self.moment(),
            source=self.chance.choice(SOURCES),
        )
        self.bookings.append(made)

    async def change_booking(self) -> None:
        if self.bookings:
            change = self.chance.choice(["no_show", "cancel", "pay", "move"])
            await self.runtime.pool.execute(EDIT, self.chance.choice(self.bookings), change, self.moment())

    async def move_money(self) -> None:
        host, on = self.chance.choice(self.hosts), self.moment().date()
        currency, mode = self.chance.choice(["EUR", "JPY"]), self.chance.choice(["live", "test"])
        received, refunded = self.chance.choice([(1250, 0), (0, 400), (99, 99)])
        await add_revenue(self.runtime, host, on, currency, mode, received=received, refunded=refunded)

    async def visit(self) -> None:
        host, source = self.chance.choice(self.hosts), self.chance.choice(SOURCES[:3]) or "direct"
        on, views = self.moment().date(), self.chance.randint(1, 9)
        await add_views(self.runtime, host, on, source, views, of_type=self.chance.random() < 0.5)

    async def erase(self) -> None:
        if len(self.hosts) > 1:
            await erase(self.runtime, self.hosts.pop(self.chance.randrange(len(self.hosts))))

    async def tidy(self) -> None:
        before = self.chance.choice(list_days(FIRST, LAST))
        await self.runtime.pool.execute("delete from page_views where on_day < $1", before)

    async def keep(self) -> None:
        self.clock.now = NOON - timedelta(days=self.chance.randrange(8))
        await keep(self.runtime)

    def choose(self) -> Callable[[], Awaitable[None]]:
        rare = [self.add_host, self.erase, self.tidy, self.keep, self.keep]
        often = [self.add_booking, self.add_booking, self.change_booking, self.move_money, self.visit]
        return self.chance.choice(rare + 4 * often)


@pytest.mark.parametrize("seed", SEEDS)
async def test_figures_equal_a_hand_count_whatever_happened_and_was_kept(
    runtime: Runtime, clock: MovingClock, seed: int
) -> None:
    clock.now = NOON
    # Active hosts are kept in blocks of 1,024 numbers: some hosts are in the next block.
    await runtime.pool.execute("select setval('users_no_seq', (nextval('users_no_seq') / 1024 + 1) * 1024 - 2)")
    history = History(runtime, clock, seed)
    for _ in range(3):
        await history.add_host()
    for step in range(STEPS):
        await history.choose()()
        if step % 5 == 0:
            assert await read(runtime) == await count_by_hand(runtime, FIRST, LAST), (seed, step)
            active = await list_active_by_hand(runtime, FIRST, LAST)
            assert await read_all_active(runtime) == len({host for _, host in active}), (seed, step)
    clock.now = NOON + timedelta(days=2)
    await keep(runtime)

    by_hand, active = await count_by_hand(runtime, FIRST, LAST), await list_active_by_hand(runtime, FIRST, LAST)
    assert by_hand
    assert await read(runtime) == await list_kept(runtime) == by_hand
    assert await read_active(runtime) == {on: sum(day == on for day, _ in active) for on, _ in active}
    kept, hosts = await list_kept(runtime), await list_kept_hosts(runtime)
    assert hosts == active
    assert await runtime.pool.fetchval("select count(*) from stale_days") == 0

    # Counted anew, it is the same.
    await runtime.pool.execute("delete from kept_days")
    assert await list_kept(runtime) == {}
    await keep(runtime)
    assert (await list_kept(runtime), await list_kept_hosts(runtime)) == (kept, hosts)


async def test_a_day_is_kept_an_hour_after_its_end_and_counted_once(runtime: Runtime, clock: MovingClock) -> None:
    clock.now = datetime(2026, 4, 6, 0, 59, tzinfo=UTC)
    await add_host(runtime, clock, "ana", at=datetime(2026, 4, 4, 23, tzinfo=UTC))

    assert await keep(runtime) == "1 days counted"
    clock.pass_time(minutes=1)
    assert await keep(runtime) == "1 days counted"
    assert await keep(runtime) == "0 days counted"
    assert await runtime.pool.fetchval("select max(on_day) from kept_days") == date(2026, 4, 5)


async def test_what_changes_while_a_day_is_counted_is_counted_again(
    runtime: Runtime, clock: MovingClock, database_url: str
) -> None:
    clock.now = NOON
    host = await add_host(runtime, clock, "ana", at=datetime(2026, 4, 1, tzinfo=UTC))
    began = datetime(2026, 4, 2, 9, tzinfo=UTC)
    first, second = [await add_booking(runtime, host, made_at=began, starts_at=began) for _ in range(2)]
    await keep(runtime)
    # The day is marked by another transaction, whose mark the count removes.
    await runtime.pool.execute("update bookings set no_show = true where id = $1", first)
    other = await asyncpg.connect(database_url)
    try:
        async with other.transaction():
            await other.execute("update bookings set no_show = true where id = $1", second)
            await keep(runtime)
            assert (await read(runtime))[date(2026, 4, 2), "no_shows", ""] == 1
    finally:
        await other.close()

    assert (await read(runtime))[date(2026, 4, 2), "no_shows", ""] == 2
    await keep(runtime)
    assert (await list_kept(runtime))[date(2026, 4, 2), "no_shows", ""] == 2


async def test_a_day_stays_open_while_a_transaction_runs_that_began_on_it(
    runtime: Runtime, clock: MovingClock, database_url: str
) -> None:
    today = datetime.now(UTC)
    clock.now = today
    host = await add_host(runtime, clock, "ana", at=today)
    clock.now = today + timedelta(days=1, hours=2)
    other = await asyncpg.connect(database_url)
    try:
        async with other.transaction():
            await other.execute("update bookings set no_show = true where host_id = $1", host.user.id)
            await keep(runtime)
            assert await runtime.pool.fetchval("select count(*) from kept_days where on_day = $1", today.date()) == 0
    finally:
        await other.close()

    assert await read(runtime, today.date(), today.date()) == {(today.date(), "sign_ups", ""): 1}


async def test_what_happens_today_marks_nothing_and_what_happened_yesterday_does(
    runtime: Runtime, clock: MovingClock
) -> None:
    now = clock.now = datetime.now(UTC)
    host = await add_host(runtime, clock, "ana", at=now)
    booking = await add_booking(runtime, host, made_at=now, starts_at=now + timedelta(days=3), source="direct")
    await add_views(runtime, host, now.date(), "direct", 2)
    await add_revenue(runtime, host, now.date(), received=5)
    await runtime.pool.execute(EDIT, booking, "cancel", now)
    assert await runtime.pool.fetch("select on_day from stale_days") == []

    yesterday = now - timedelta(days=1)
    made = await add_booking(runtime, host, made_at=yesterday, starts_at=now + timedelta(days=3))
    assert [row["on_day"] for row in await runtime.pool.fetch("select on_day from stale_days")] == [yesterday.date()]
    # A cancellation is of today, whenever the booking was made.
    await runtime.pool.execute("delete from stale_days")
    await runtime.pool.execute(EDIT, made, "cancel", now)
    assert await runtime.pool.fetch("select on_day from stale_days") == []


async def test_many_who_change_the_same_day_do_not_wait_for_each_other(
    runtime: Runtime, clock: MovingClock, database_url: str
) -> None:
    clock.now = NOON
    host = await add_host(runtime, clock, "ana", at=datetime(2026, 4, 1, tzinfo=UTC))
    starts = [datetime(2026, 4, day, 9, tzinfo=UTC) for day in (2, 3)]
    made = [[await add_booking(runtime, host, made_at=at, starts_at=at) for at in starts] for _ in range(2)]
    await keep(runtime)
    one, two = [await asyncpg.connect(database_url) for _ in range(2)]
    mark = "update bookings set no_show = true where id = $1"
    try:
        async with asyncio.timeout(10), one.transaction(), two.transaction():
            # In opposite order: whoever waited here would wait forever.
            await one.execute(mark, made[0][0])
            await two.execute(mark, made[1][1])
            await one.execute(mark, made[0][1])
            await two.execute(mark, made[1][0])
    finally:
        await one.close()
        await two.close()

    assert sum(amount for (_, name, _), amount in (await read(runtime)).items() if name == "no_shows") == 4


async def test_an_emptied_table_empties_what_was_counted(runtime: Runtime, clock: MovingClock) -> None:
    clock.now = NOON
    host = await add_host(runtime, clock, "ana", at=datetime(2026, 4, 1, tzinfo=UTC))
    await add_views(runtime, host, date(2026, 4, 2), "direct", 3)
    await keep(runtime)
    assert (date(2026, 4, 2), "visits", "direct") in await list_kept(runtime)

    await runtime.pool.execute("truncate page_views")

    assert await read(runtime) == await count_by_hand(runtime, FIRST, LAST)


async def test_days_are_counted_newest_first_and_a_few_a_run(
    runtime: Runtime, clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.now = NOON
    await add_host(runtime, clock, "ana", at=datetime(2026, 4, 1, tzinfo=UTC))
    monkeypatch.setattr(platform, "DAYS_A_RUN", 2)

    await keep(runtime)

    kept = await runtime.pool.fetch("select on_day from kept_days order by 1")
    assert [row["on_day"] for row in kept] == [date(2026, 4, 4), date(2026, 4, 5)]
    assert await daily_store.list_uncounted(runtime.pool, until=date(2026, 4, 5), limit=9) == [
        date(2026, 4, 3),
        date(2026, 4, 2),
        date(2026, 4, 1),
    ]
