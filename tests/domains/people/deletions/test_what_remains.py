"""Of a deleted account nothing personal remains, in any table, and the audit chain stays whole."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.allowances.operations import ALLOWANCE_JOBS
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import UNAVAILABLE, BookingRef
from openslot.domains.exports import operations as exports
from openslot.domains.people import operations as people
from openslot.domains.people.deletions import SURVIVING_TABLES, delete_account
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import keep
from openslot.platform.jobs.periodic import run_job
from tests.domains.people.deletions.conftest import Delete, find_state, is_there, settle
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, Book
from tests.support.rich_account import furnish, list_personal_tables
from tests.support.teams import book_alone, book_team, list_credits, open_team

DOCS = Path(__file__).parents[4] / "docs" / "your-data.md"
# What the log of a directory and of agents has of a person goes with its own retention.
ALLOWED = {"account_deletions", "events", "agent_calls", "funnel_steps", "message_erasures"}


async def list_tables(runtime: Runtime) -> set[str]:
    rows = await runtime.pool.fetch("select tablename from pg_tables where schemaname = 'public'")
    return {row["tablename"] for row in rows}


async def find_tables_with(runtime: Runtime, needle: str) -> set[str]:
    return {
        table
        for table in await list_tables(runtime)
        if await runtime.pool.fetchval(
            f"select exists (select from {table} t where strpos(lower(t::text), $1) > 0)", needle.lower()
        )
    }


async def test_every_table_is_erased_or_has_a_reason_to_remain(runtime: Runtime) -> None:
    personal = await list_personal_tables(runtime) - {"account_deletions", "events"}

    assert personal & SURVIVING_TABLES.keys() == set()
    assert personal | SURVIVING_TABLES.keys() == await list_tables(runtime)


async def test_nothing_personal_remains(
    runtime: Runtime, user: User, stranger: User, clock: MovingClock, book: Book, delete: Delete
) -> None:
    await furnish(runtime, user)
    await book(host=stranger, name="Somebody Else", email="else@where.example")
    async with runtime.transaction(OPERATOR) as work:
        await exports.request_data_export(work, user)
    # The export is made as well, so that its pieces are there.
    await runtime.pool.execute("delete from effects where reaction = 'calendars.read'")
    await work_off(runtime, clock)
    for table in await list_personal_tables(runtime) - {"account_deletions"}:
        assert await runtime.pool.fetchval(f"select count(*) from {table}") > 0, table

    await delete(message="Goodbye, Jonas")
    await settle(runtime, clock)
    # One endpoint of the account never answers; after the time limit that does not matter.
    clock.now = clock.now.replace(day=clock.now.day + 8)
    await settle(runtime, clock)
    clock.now = clock.now.replace(day=clock.now.day + 1)
    await settle(runtime, clock)

    # What was counted by mail domain goes with its time.
    await run_job(runtime, ALLOWANCE_JOBS[0])

    assert await find_state(runtime, user) == "done"
    for needle in ("lindqvist", "jonas", "okafor", "goodbye"):
        assert await find_tables_with(runtime, needle) == set(), needle
    assert await find_tables_with(runtime, str(user.id)) <= ALLOWED
    rows = await runtime.pool.fetch("select type from events where fact::text like $1", f"%{user.id}%")
    assert [row["type"] for row in rows] == ["user.deleted"]


async def test_others_keep_what_is_theirs(
    runtime: Runtime, user: User, stranger: User, clock: MovingClock, book: Book, delete: Delete
) -> None:
    # Both hosts know the same invitee, and the deleted one was herself an invitee of the other.
    await book()
    await book(host=stranger)
    await book(ELEVEN, host=stranger, name="Mara Lindqvist", email="mara@lindqvist.example")
    await work_off(runtime, clock)
    before = await runtime.pool.fetchval("select count(*) from events where tenant_id = $1", stranger.id)

    await delete()
    await settle(runtime, clock)

    rows = await runtime.pool.fetch("select host_id, status from bookings")
    assert [tuple(row.values()) for row in rows] == [(stranger.id, "CONFIRMED")] * 2
    assert await runtime.pool.fetchval("select count(*) from contacts where owner_id = $1", stranger.id) == 2
    assert await runtime.pool.fetchval("select count(*) from events where tenant_id = $1", stranger.id) == before
    assert await runtime.pool.fetchval("select count(*) from mail_messages where host_id = $1", stranger.id) > 0


def test_the_documentation_names_all_that_remains() -> None:
    text = DOCS.read_text("utf-8")

    for table in (
        "account_deletions",
        "agent_calls",
        "agent_emails",
        "approvals",
        "change_log",
        "marketing_recipients",
        "scim_requests",
        "idempotency",
    ):
        assert f"`{table}`" in text, table


async def test_bookings_of_a_team_do_not_name_who_was_not_there_any_more(
    runtime: Runtime, clock: MovingClock, delete: Delete
) -> None:
    team = await open_team(runtime, 1)
    leaver = team.hosts[0]
    await book_team(runtime, team.event_type, ELEVEN)
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, team.organization, leaver)
    await delete(leaver)
    told = await runtime.pool.fetchval("select cancel_reason from bookings")
    await settle(runtime, clock)
    clock.pass_time(days=1)
    await settle(runtime, clock)

    assert leaver.name in told
    assert not await is_there(runtime, leaver)
    assert await runtime.pool.fetchval("select count(*) from bookings where cancel_reason is null") == 1


QUOTED = 'Al "A" \\ Ö'
NAMES_AND_REASONS = [
    (QUOTED, keep(UNAVAILABLE.fill(host=QUOTED)), False),
    ("Al", keep(UNAVAILABLE.fill(host="Al")), False),
    ("Al", keep(UNAVAILABLE.fill(host="Alice")), True),
    ("Al", "Already met", True),
    ("Al", "Sorry, Alice is ill and Cal too", True),
    ("Al", "Ål and Al\u0301 can't come", True),
    ("Al", "Met Al_2 instead", True),
    ("Al", "Ask Al: he is ill", False),
    ("Al", "Al's day off", False),
    ("%", "100 % sure, 50% not", False),
    ("A_a", "Aba is away", True),
    ("A.*", "All others can come", True),
    ("A.*", "A.* is away", False),
    ("C++", "C++20 is dead", False),
    ("Jos\u00e9", "Jose\u0301 is away", False),
    ("Jose\u0301", "Jos\u00e9 is away", False),
    ("Jose", "Jose\u0301 is away", True),
    ("\u041e\u043b\u044c\u0433\u0430", "\u041e\u043b\u044c\u0433\u0430, \u0431\u043e\u043b\u044c\u043d\u0430", False),
    ("\u7530\u4e2d", "\u7530\u4e2d\u306f\u75c5\u6c17\u3067\u3059", False),
    ("\uae40\ubbfc\uc218", "\uae40\ubbfc\uc218\ub294 \uc544\ud30c\uc694", False),
]


@pytest.mark.parametrize(("name", "reason", "is_kept"), NAMES_AND_REASONS)
async def test_only_reasons_that_name_somebody_as_whole_words_are_erased(
    runtime: Runtime, name: str, reason: str, is_kept: bool
) -> None:
    """The words of others stay, whatever the name of the host who is erased has in common with them."""
    team = await open_team(runtime, 1, requires_confirmation=True)
    await book_team(runtime, team.event_type, ELEVEN)
    leaver = replace(team.hosts[0], name=name)
    await runtime.pool.execute("update bookings set cancel_reason = $1", reason)
    await runtime.pool.execute("update booking_requests set reason = $1", reason)

    async with runtime.transaction(OPERATOR) as work:
        await bookings.erase_some_bookings(work, leaver, 10)

    for statement in ("select cancel_reason from bookings", "select reason from booking_requests"):
        assert await runtime.pool.fetchval(statement) == (reason if is_kept else None)


async def test_a_meeting_whose_host_is_gone_stops_counting_if_nobody_came(runtime: Runtime, clock: MovingClock) -> None:
    """Others were owed something because they did not host it."""
    team = await open_team(runtime, 3, counts_no_shows=False)
    leaver = team.hosts[0]
    await book_alone(runtime, team.hosts[2], ELEVEN)
    booking = await book_team(runtime, team.event_type, ELEVEN)
    clock.now = booking.ends_at
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, team.organization, leaver)
    async with runtime.transaction(OPERATOR) as work:
        await delete_account(work, leaver)
    await settle(runtime, clock)
    assert not await is_there(runtime, leaver)
    counted = await list_credits(runtime, team)
    assert counted != [0, 0]

    for no_show, expected in ((True, [0, 0]), (False, counted)):
        async with runtime.transaction(OPERATOR) as work:
            await bookings.mark_no_show(work, BookingRef(booking.id, None), no_show=no_show)
        assert await list_credits(runtime, team) == expected
