"""What is kept of hosts: after any change of their time, by whomever, the list is that of hosts who are read again."""

import re
from collections.abc import Iterator
from datetime import timedelta
from random import Random

import asyncpg
import pytest

from openslot.domains.availability import operations as availability
from openslot.domains.availability.models import ById
from openslot.domains.availability.team_listing import ENTRY_BYTES, KEPT, KeptBits, KeptTimes
from openslot.domains.availability.team_store import HOSTS_WITHOUT, tidy_changes
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY, MovingClock
from tests.support.founding import FoundedTeam, add_event_type, found_team, pick_of
from tests.support.host import clock, settings

__all__ = ["clock", "settings"]

TEN = MONDAY.replace(hour=10)
NEVER = "'[[], [], [], [], [], [], []]'"
SPAN = "tstzrange('2026-03-16 10:00Z', '2026-03-16 11:00Z')"
LATER = "tstzrange('2026-03-16 13:00Z', '2026-03-16 14:00Z')"
CLAIM = f"""insert into claims (id, host_no, kind, starts_at, ends_at, during, created_at)
    values (gen_random_uuid(), $1, 'booking', '2026-03-16 10:00Z', '2026-03-16 11:00Z', {SPAN}, '2026-03-16Z')"""
SESSION = CLAIM.replace("'booking'", "'session'").replace("10:00", "15:00").replace("11:00", "16:00")
# By table: what each statement changes is seen in the list. The host has the number $1 and the id $2, somebody who does
# not host has $3 and $4: what goes to them and comes back changes what it was, and what it is.
WRITES = {
    "schedules": (
        "update schedules set zone = 'Europe/Berlin' where owner_id = $2",
        f"""insert into schedules
            (id, owner_id, name, zone, weekly_hours, overrides, default_at, created_at, updated_at)
        values (gen_random_uuid(), $2, 'Night', 'UTC', {NEVER}, '[]', '2030-01-01', now(), now())""",
        "update schedules set owner_id = $4 where name = 'Night'",
        "update schedules set owner_id = $2 where name = 'Night'",
        "delete from schedules where name = 'Night'",
        "update schedules set zone = 'UTC' where owner_id = $2",
    ),
    "out_of_office": (
        """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        values (gen_random_uuid(), $2, '2026-03-16 10:00Z', '2026-03-16 11:00Z', '', now())""",
        "update out_of_office set owner_id = $4",
        "update out_of_office set owner_id = $2",
        "update out_of_office set ends_at = '2026-03-16 12:00Z'",
        "delete from out_of_office",
    ),
    "busy_spans": (
        f"insert into busy_spans (host_no, source, uid, during) values ($1, 'Work', 'a', {SPAN})",
        "update busy_spans set host_no = $3",
        "update busy_spans set host_no = $1",
        f"update busy_spans set during = {LATER}",
        "delete from busy_spans",
    ),
    "busy_sources": (
        "insert into busy_sources (id, host_no, name, closes_at) values (gen_random_uuid(), $1, 'Work', '2026-01-01')",
        "update busy_sources set host_no = $3",
        "update busy_sources set host_no = $1",
        "update busy_sources set closes_at = null",
        "update busy_sources set closes_at = '2026-01-01'",
        "delete from busy_sources",
    ),
    "claims": (
        CLAIM,
        "update claims set host_no = $3 where kind = 'booking'",
        "update claims set host_no = $1 where kind = 'booking'",
        f"""update claims set starts_at = lower({LATER}), ends_at = upper({LATER}), during = {LATER}
        where kind = 'booking'""",
        "update claims set active = false where kind = 'booking'",
        "update claims set active = true where kind = 'booking'",
        "delete from claims where kind = 'booking'",
    ),
    "claim_seats": (
        """insert into claim_seats (id, claim_id, created_at)
        select gen_random_uuid(), id, now() from claims where host_no = $1 and kind = 'session'""",
        "update claim_seats set claim_id = (select id from claims where host_no = $3 and kind = 'session')",
        "update claim_seats set claim_id = (select id from claims where host_no = $1 and kind = 'session')",
        "update claim_seats set active = false",
        "update claim_seats set active = true",
        "delete from claim_seats",
    ),
}


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    KEPT.clear()
    yield
    KEPT.clear()


class Team:
    """Two hosts who are booked together, and a third member who is not."""

    def __init__(self, runtime: Runtime, founded: FoundedTeam, made: EventType) -> None:
        self.runtime, self.made, self.hosts = runtime, made, founded.hosts

    async def list_starts(self) -> list[int]:
        work = self.runtime.work(OPERATOR)
        on = MONDAY.date()
        _, slots, _ = await availability.list_open_slots(work, ById(self.made.id), timezone="UTC", first=on, last=on)
        return slots.starts

    async def read_again(self) -> list[int]:
        KEPT.clear()
        return await self.list_starts()

    async def write(self, statement: str) -> None:
        host, other = self.hosts[0], self.hosts[2]
        values: dict[str, object] = {"$1": host.no, "$2": host.id, "$3": other.no, "$4": other.id}
        for place, value in values.items():
            statement = statement.replace(place, f"'{value}'")
        await self.runtime.pool.execute(statement)

    async def is_kept_up(self, statement: str) -> bool:
        """Return whether a change is seen as if nothing were kept; it must be seen then."""
        before = await self.list_starts()
        await self.write(statement)
        kept, fresh = await self.list_starts(), await self.read_again()
        assert fresh != before, statement
        return kept == fresh


@pytest.fixture
async def team(runtime: Runtime) -> Team:
    founded = await found_team(runtime)
    made = await add_event_type(runtime, founded, pick_of(2, founded.hosts[:2]))
    opened = Team(runtime, founded, made)
    for place in ("$1", "$3"):
        await opened.write(SESSION.replace("$1", place))
    return opened


@pytest.mark.parametrize("table", WRITES)
async def test_every_change_of_a_host_is_listed_at_once(team: Team, table: str) -> None:
    for statement in WRITES[table]:
        assert await team.is_kept_up(statement), statement


async def test_changes_in_any_order_are_listed_at_once(team: Team) -> None:
    random, at = Random(1), dict.fromkeys(WRITES, 0)
    for _ in range(80):
        table = random.choice(list(WRITES))
        await team.write(WRITES[table][at[table]])
        at[table] = (at[table] + 1) % len(WRITES[table])
        assert await team.list_starts() == await team.read_again(), table
        if random.random() < 0.1:
            await tidy_changes(team.runtime.pool, max_=1)


async def list_triggers(runtime: Runtime) -> list[tuple[str, str]]:
    rows = await runtime.pool.fetch(
        "select tgrelid::regclass::text as on, tgname from pg_trigger where tgname ~ '_host_(in|up|de)' order by 2"
    )
    return [(row["on"], row["tgname"]) for row in rows]


async def test_every_table_that_is_read_of_a_host_is_watched(runtime: Runtime) -> None:
    read = set(re.findall(r"(?:from|join) (\w+) \w", HOSTS_WITHOUT)) - {"users", "lateral", "host_changes"}
    assert {on for on, _ in await list_triggers(runtime)} == read == set(WRITES)


@pytest.mark.own_database
async def test_without_any_one_of_the_triggers_a_change_is_missed(team: Team) -> None:
    triggers = await list_triggers(team.runtime)
    assert len(triggers) == 4 * len(WRITES)
    for table, name in triggers:
        await team.runtime.pool.execute(f"alter table {table} disable trigger {name}")
        kept_up = [await team.is_kept_up(statement) for statement in WRITES[table]]
        assert not all(kept_up), name
        await team.runtime.pool.execute(f"alter table {table} enable trigger {name}")


async def test_a_change_that_is_committed_after_a_later_one_is_listed(team: Team, database_url: str) -> None:
    before = await team.list_starts()
    writers = [await asyncpg.connect(database_url) for _ in range(2)]
    try:
        for place, writer in enumerate(writers):
            await writer.execute("begin")
            statement = CLAIM.replace("10:00", f"{12 + place}:00").replace("11:00", f"{12 + place}:30")
            await writer.execute(statement.replace("$1", str(team.hosts[0].no)))
        for writer in reversed(writers):
            assert await team.list_starts() == before
            await writer.execute("commit")
            kept = await team.list_starts()
            assert kept == await team.read_again() != before
            before = kept
    finally:
        for writer in writers:
            await writer.close()


@pytest.mark.parametrize(
    "statement",
    [
        CLAIM.replace("created_at)", "created_at, expires_at)").replace("'2026-03-16Z')", "'2026-03-16Z', $5)"),
        """insert into claim_seats (id, claim_id, created_at, expires_at)
        select gen_random_uuid(), id, now(), $5 from claims where host_no = $1 and kind = 'session'""",
        "insert into busy_sources (id, host_no, name, closes_at) values (gen_random_uuid(), $1, 'Work', $5)",
    ],
)
async def test_what_changes_because_time_passes_is_listed_then(team: Team, clock: MovingClock, statement: str) -> None:
    await team.write(statement.replace("$5", "'2026-03-16 07:10Z'"))
    before = await team.list_starts()
    clock.pass_time(minutes=10, seconds=-1)
    assert await team.list_starts() == before
    clock.pass_time(seconds=1)
    assert await team.list_starts() == await team.read_again() != before


async def test_what_is_kept_is_used_and_tokens_are_few(team: Team) -> None:
    listed = await team.list_starts()
    for _ in range(10):
        await team.write("update claims set active = active")
    assert await tidy_changes(team.runtime.pool) > 8
    count = "select max(n) from (select count(*) as n from host_changes group by host_no) c"
    assert await team.runtime.pool.fetchval(count) <= 8
    assert await team.list_starts() == listed
    (kept,) = (hosts for hosts in KEPT._asked.values())
    lies = {no: each._replace(bits=0) for no, each in kept.items()}
    kept |= lies
    assert await team.list_starts() == []


def test_what_was_asked_longest_ago_is_forgotten_first() -> None:
    entry = KeptBits(1 << 800, 1, MONDAY)
    room = 4 * (ENTRY_BYTES + (1 << 800).__sizeof__())
    kept = KeptTimes(room)
    for question in range(3):
        kept.keep((question,), dict.fromkeys(range(2), entry))
    assert 0 < kept.size <= room
    assert [len(kept.find((question,), {0: 1, 1: 1}, MONDAY)) for question in range(3)] == [0, 2, 2]
    assert kept.find((2,), {0: 2, 1: None}, MONDAY) == kept.find((2,), {0: 1}, MONDAY - timedelta(seconds=1)) == {}
    kept.keep((2,), {0: entry})
    assert kept.size <= room


async def test_accounts_that_are_gone_leave_no_tokens(runtime: Runtime) -> None:
    await runtime.pool.execute("insert into host_changes (host_no) values (-1)")
    await tidy_changes(runtime.pool)
    assert not await runtime.pool.fetchval("select exists (select from host_changes where host_no = -1)")
