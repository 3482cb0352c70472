"""How many bookings a host has: kept by the database, and always what counting would tell."""

import asyncio
import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest

from openslot.demo.large import make_large
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee, Status
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Refusal
from openslot.platform.core.migrate import NO_TRANSACTION, known_migrations, migrate
from openslot.platform.core.moments import Span
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import Book

KEPT = "select host_id, status, bookings from booking_counts where bookings <> 0 order by 1, 2"
COUNTED = "select host_id, status, count(*) as bookings from bookings group by 1, 2 order by 1, 2"
FIRST = datetime(2026, 3, 17, 9, tzinfo=UTC)
# As a later migration may look: it fills a table that triggers maintain, one host at a time, under the lock that every
# change of the host's bookings holds, while others go on booking; and it may be repeated.
COUNT_AGAIN = """
do $$
declare
    host record;
begin
    for host in select id, no from users order by no loop
        set local lock_timeout = '60s';
        perform from users where id = host.id for key share;
        if found then
            perform pg_advisory_xact_lock(1, host.no::int);
            delete from booking_counts where host_id = host.id;
            insert into booking_counts (host_id, status, bookings)
            select host_id, status, count(*) from bookings where host_id = host.id group by host_id, status;
        end if;
        commit;
    end loop;
end $$"""
GROWTH = {
    "9000_growth.sql": f"""{NO_TRANSACTION}
create index concurrently if not exists lanes_empty on lanes (lane) where unfinished <= 0;
create index concurrently if not exists claims_type on claims (event_type_id, starts_at);
{COUNT_AGAIN};"""
}


async def is_exact(runtime: Runtime) -> bool:
    """Tell whether what is kept is what is there."""
    return bool(await runtime.pool.fetch(KEPT) == await runtime.pool.fetch(COUNTED))


async def counts(runtime: Runtime) -> dict[str, int]:
    rows = await runtime.pool.fetch("select status, sum(bookings)::int as bookings from booking_counts group by 1")
    return {row["status"]: row["bookings"] for row in rows if row["bookings"]}


def starts() -> list[datetime]:
    """List starts of half-hour meetings over some weeks."""
    days = [FIRST + timedelta(days=n) for n in range(80)]
    return [day + timedelta(minutes=30 * n) for day in days if day.weekday() < 5 for n in range(16)]


async def book(runtime: Runtime, user: User, start: datetime) -> UUID:
    invitee = Invitee(name="Jonas", email="jonas@okafor.example", zone="UTC")
    async with runtime.transaction(OPERATOR) as work:
        wanted = BookingWanted(which=BySlug(user.id, "30min"), starts_at=start, invitee=invitee)
        return (await bookings.create_booking(work, wanted)).id


async def change(runtime: Runtime, sql: str, *args: object) -> None:
    """Change bookings past the verbs, as a later version or an operator might."""
    await runtime.pool.execute(sql, *args)
    assert await is_exact(runtime), sql


@pytest.fixture
async def others(runtime: Runtime) -> list[User]:
    """Two more hosts."""
    async with runtime.transaction(OPERATOR) as work:
        return [
            await people.welcome_user(work, UserWanted(email=f"{name}@other.example", name=name, username=name))
            for name in ("bo", "cy")
        ]


async def test_what_is_kept_follows_every_change(runtime: Runtime, user: User, others: list[User]) -> None:
    made = [await book(runtime, user, start) for start in starts()[:5]]
    assert await counts(runtime) == {"CONFIRMED": 5}
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(made[0], user.id))
    async with runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, BookingRef(made[1], user.id), starts()[9])
    assert await counts(runtime) == {"CONFIRMED": 4, "CANCELLED": 1}
    assert await is_exact(runtime)

    await change(runtime, "update bookings set status = 'PENDING_PAYMENT' where id = $1", made[2])
    assert await counts(runtime) == {"CONFIRMED": 3, "CANCELLED": 1, "PENDING_PAYMENT": 1}
    await change(runtime, "update bookings set status = 'CONFIRMED' where id = $1", made[2])
    await change(runtime, "update bookings set host_id = $2 where id = $1", made[3], others[0].id)
    await change(runtime, "update bookings set host_id = $1, notes = 'all of them'", others[1].id)
    await change(runtime, "update bookings set status = 'CONFIRMED', cancelled_at = null")
    await change(runtime, "delete from bookings where id = $1", made[4])
    await change(runtime, "delete from bookings")
    assert await counts(runtime) == {}


async def test_several_rows_of_several_hosts_at_once(runtime: Runtime) -> None:
    async with runtime.pool.acquire() as connection:
        await make_large(connection, hosts=3, bookings=60, now=runtime.clock(), progress=lambda _: None)
    assert await counts(runtime) == {"CONFIRMED": 60}
    await change(runtime, "update bookings set status = 'CANCELLED', cancelled_at = now() where starts_at < now()")
    await change(
        runtime,
        """merge into bookings b using (select id, row_number() over () as n from bookings) s on s.id = b.id
        when matched and n % 3 = 0 then delete
        when matched and n % 3 = 1 then update set status = 'PENDING_PAYMENT', cancelled_at = null""",
    )
    await change(runtime, "delete from users where no = (select min(no) from users)")
    await change(runtime, "truncate bookings cascade")
    assert await counts(runtime) == {}


async def test_a_host_who_is_deleted_takes_the_counts_along(runtime: Runtime, user: User, others: list[User]) -> None:
    await book(runtime, user, starts()[0])
    await book(runtime, others[0], starts()[0])
    await runtime.pool.execute("delete from users where id = $1", others[0].id)

    assert await is_exact(runtime)
    assert await counts(runtime) == {"CONFIRMED": 1}


async def test_what_is_rolled_back_is_not_counted(runtime: Runtime, user: User) -> None:
    async def change_my_mind() -> None:
        async with runtime.transaction(OPERATOR) as work:
            invitee = Invitee(name="Jonas", email="jonas@okafor.example", zone="UTC")
            wanted = BookingWanted(which=BySlug(user.id, "30min"), starts_at=starts()[0], invitee=invitee)
            await bookings.create_booking(work, wanted)
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        await change_my_mind()

    assert await counts(runtime) == {}


async def test_a_list_and_its_total_are_of_one_moment(runtime: Runtime, user: User) -> None:
    """While others book and cancel, a first page that is not full has as many rows as it says there are."""
    looks = [0, 0]
    done = asyncio.Event()

    async def read(reader: int) -> None:
        while not done.is_set():
            for status in (None, Status.CONFIRMED, Status.CANCELLED):
                found, total = await bookings.list_bookings(
                    runtime.work(OPERATOR), user, status=status, span=Span(None, None), page=1, limit=100
                )
                assert len(found) == total
                looks[reader] += 1

    async def live(start: datetime) -> None:
        booking_id = await book(runtime, user, start)
        async with runtime.transaction(OPERATOR) as work:
            await bookings.cancel_booking(work, BookingRef(booking_id, user.id))

    reading = asyncio.gather(*(read(reader) for reader in range(2)))
    # No more than the hundred that fit on a first page.
    for begin in range(0, 100, 20):
        await asyncio.gather(*(live(start) for start in starts()[begin : begin + 20]))
        if min(looks) > 3:
            break
    done.set()
    await reading
    assert min(looks) > 3


async def until_waiting(runtime: Runtime) -> None:
    """Go on as soon as someone waits for a lock."""
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with asyncio.timeout(60):
        while not await runtime.pool.fetchval(waiting):
            await asyncio.sleep(0.01)


async def live_wildly(runtime: Runtime, users: list[User], seed: int) -> None:
    """Book, move, cancel and change one's mind, whatever the others do."""
    chance = random.Random(seed)
    made: list[tuple[User, UUID]] = []
    for start in chance.sample(starts(), 30):
        with suppress(Refusal, RuntimeError):
            host = chance.choice(users)
            if made and chance.random() < 0.5:
                owner, booking_id = chance.choice(made)
                async with runtime.transaction(OPERATOR) as work:
                    if chance.random() < 0.5:
                        await bookings.cancel_booking(work, BookingRef(booking_id, owner.id))
                    else:
                        await bookings.reschedule_booking(work, BookingRef(booking_id, owner.id), start)
                    if chance.random() < 0.3:
                        raise RuntimeError("changed my mind")
            else:
                made.append((host, await book(runtime, host, start)))


async def test_after_many_at_once_it_is_still_exact(runtime: Runtime, user: User, others: list[User]) -> None:
    users = [user, *others]
    await asyncio.gather(*(live_wildly(runtime, users, seed) for seed in range(6)))

    assert sum((await counts(runtime)).values()) > 50
    assert (await counts(runtime))["CANCELLED"] > 5
    assert await is_exact(runtime)


async def test_two_who_count_for_one_host_wait_for_each_other(runtime: Runtime, user: User) -> None:
    first, second = await book(runtime, user, starts()[0]), await book(runtime, user, starts()[1])
    async with runtime.pool.acquire() as one, runtime.pool.acquire() as other:
        transaction = one.transaction()
        await transaction.start()
        await one.execute("delete from bookings where id = $1", first)
        waiting = asyncio.create_task(other.execute("delete from bookings where id = $1", second))
        await until_waiting(runtime)
        assert not waiting.done()
        await transaction.commit()
        await waiting

    assert await is_exact(runtime)
    assert await counts(runtime) == {}


async def test_totals_over_http(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, book: Book, meeting: EventType
) -> None:
    del meeting
    made = [(await book(start=f"2026-03-16T1{hour}:00:00Z")).json()["bookingId"] for hour in range(4)]
    await client.post(f"/api/v1/bookings/{made[1]}/cancel", headers=bearer)
    await runtime.pool.execute("update bookings set status = 'PENDING_PAYMENT' where id = $1", UUID(made[3]))
    totals = {
        "": 3,
        "?status=CONFIRMED": 2,
        "?status=CANCELLED": 1,
        "?from=2026-03-16T10:30:00Z": 2,
        "?from=2026-03-16T10:30:00Z&status=CONFIRMED": 1,
        "?to=2026-03-16T10:30:00Z": 1,
        "?page=9": 3,
        "?page=9&status=CANCELLED": 1,
        "?page=9&from=2026-03-16T10:30:00Z": 2,
    }

    pages = {query: (await client.get(f"/api/v1/bookings{query}", headers=bearer)).json() for query in totals}

    assert {query: page["pagination"]["total"] for query, page in pages.items()} == totals


@pytest.fixture
async def uncounted(runtime: Runtime, user: User, others: list[User]) -> str:
    """A database in which the triggers are there and what was booked before them is not counted yet."""
    for host in (user, *others):
        for start in starts()[:6]:
            await book(runtime, host, start)
    await runtime.pool.execute("update booking_counts set bookings = 7 where host_id = $1", user.id)
    await runtime.pool.execute("delete from booking_counts where host_id = $1", others[0].id)
    await runtime.pool.execute("insert into booking_counts values ($1, 'CANCELLED', 3)", others[1].id)
    assert not await is_exact(runtime)
    return runtime.settings.database_url or ""


@pytest.mark.rest("lets many write at once")
@pytest.mark.own_database
async def test_what_was_booked_before_is_counted_while_others_go_on_booking(
    runtime: Runtime, user: User, others: list[User], uncounted: str
) -> None:
    users = [user, *others]
    has_begun, is_counted = asyncio.Event(), asyncio.Event()

    async def live_on(life: int) -> None:
        seeds = count(life, step=6)
        while not is_counted.is_set():
            await live_wildly(runtime, users, next(seeds))
            has_begun.set()

    lives = asyncio.gather(*(live_on(life) for life in range(6)))
    await has_begun.wait()
    assert await migrate(uncounted, known_migrations() | GROWTH) == list(GROWTH)
    is_counted.set()
    await lives

    assert await is_exact(runtime)


@pytest.mark.own_database
async def test_counting_waits_for_a_booking_that_is_being_made(
    runtime: Runtime, others: list[User], uncounted: str
) -> None:
    host = others[0]
    assert await runtime.pool.fetchval("select count(*) from booking_counts where host_id = $1", host.id) == 0
    async with runtime.transaction(OPERATOR) as work:
        invitee = Invitee(name="Jonas", email="jonas@okafor.example", zone="UTC")
        wanted = BookingWanted(which=BySlug(host.id, "30min"), starts_at=starts()[30], invitee=invitee)
        await bookings.create_booking(work, wanted)
        migrating = asyncio.create_task(_count_again(uncounted))
        await until_waiting(runtime)
        assert not migrating.done()
    await migrating

    assert await is_exact(runtime)


async def _count_again(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(COUNT_AGAIN)
    await connection.close()


@pytest.mark.own_database
async def test_an_index_that_was_left_half_built_is_built_anew(runtime: Runtime, uncounted: str) -> None:
    await runtime.pool.execute("update pg_index set indisvalid = false where indexrelid = 'lanes_empty'::regclass")
    await runtime.pool.execute("drop index claims_type")

    assert await migrate(uncounted, known_migrations() | GROWTH) == list(GROWTH)
    valid: list[Any] = await runtime.pool.fetch(
        """select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
        where c.relname in ('lanes_empty', 'claims_type') and i.indisvalid order by 1"""
    )
    assert [row["relname"] for row in valid] == ["claims_type", "lanes_empty"]
    assert await is_exact(runtime)


async def test_a_slot_that_is_taken_is_counted_once(runtime: Runtime, user: User) -> None:
    outcomes = await asyncio.gather(*(book(runtime, user, starts()[0]) for _ in range(10)), return_exceptions=True)

    assert sum(isinstance(outcome, SlotUnavailable) for outcome in outcomes) == 9
    assert await counts(runtime) == {"CONFIRMED": 1}
