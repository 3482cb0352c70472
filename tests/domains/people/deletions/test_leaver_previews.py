"""What a preview says of bookings and requests is what happens to them when somebody leaves."""

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_domain, add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.bookings.models import Booking
from openslot.domains.event_types import operations as event_types
from openslot.domains.people import deletions, departures, store, team_leavers
from openslot.domains.people import operations as people
from openslot.domains.people.models import LeaverCounts
from openslot.domains.teams import operations as teams
from openslot.doors.web.organization.member import preview_leaving
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime, Work
from tests.support.clocks import MONDAY
from tests.support.teams import HostedTeam, book_team, offer, open_team

TUESDAY = MONDAY + timedelta(days=1)
NAMES = {
    "booking.cancelled": "cancelled",
    "booking.reassigned": "handed_over",
    "booking.declined": "declined",
    "booking.request_reassigned": "requests_handed_over",
}


async def book_own(runtime: Runtime, host: User, hour: int, *, asks: bool) -> Booking:
    """Book the first event type of a host, or ask for it."""
    async with runtime.transaction(OPERATOR) as work:
        found = await event_types.get_event_type_by_slug(work, host, "30min")
        changed = await event_types.change_event_type(work, replace(found, requires_confirmation=asks))
    return await book_team(runtime, changed, TUESDAY.replace(hour=hour))


async def fill(runtime: Runtime, *, replaces: bool) -> tuple[HostedTeam, User]:
    """Give a host bookings and requests of every kind, each in another number, and one that somebody else hosts."""
    # All of them are on one day.
    runtime.settings = replace(runtime.settings, hold_share=100)
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1, 2])], replaces_leavers=replaces)
    host = team.hosts[1]
    asked = await offer(
        runtime, team.id, team.owner, team.hosts, [(1, [1, 2])], replaces_leavers=replaces, requires_confirmation=True
    )
    await runtime.pool.execute("update host_group_members set weight = 0 where user_id = $1", team.hosts[2].id)
    for hour in (9, 10):
        await book_team(runtime, team.event_type, TUESDAY.replace(hour=hour))
    for hour in (11, 12, 13):
        await book_team(runtime, asked, TUESDAY.replace(hour=hour))
    await runtime.pool.execute("update host_group_members set weight = null where user_id = $1", team.hosts[2].id)
    await book_own(runtime, host, 14, asks=False)
    for hour in (15, 16):
        await book_own(runtime, host, hour, asks=True)
    # Another manager takes over what the host owns.
    await runtime.pool.execute("update team_members set is_manager = true where user_id = $1", team.hosts[0].id)
    other = await offer(runtime, team.id, host, team.hosts, [(1, [0])], requires_confirmation=True)
    await book_team(runtime, other, TUESDAY.replace(hour=16))
    return team, host


async def see(runtime: Runtime) -> LeaverCounts:
    """Count what has happened to bookings and requests."""
    rows = await runtime.pool.fetch("select type from events where type = any($1)", list(NAMES))
    return LeaverCounts(**Counter(NAMES[row["type"]] for row in rows))


async def remove(work: Work, team: HostedTeam, host: User) -> None:
    await people.remove_member(work, team.organization, host)


async def disable(work: Work, team: HostedTeam, host: User) -> None:
    await people.disable_user(work, host)


@pytest.mark.parametrize("leave", [remove, disable])
@pytest.mark.parametrize("replaces", [True, False])
async def test_who_leaves_the_organization(
    runtime: Runtime, replaces: bool, leave: Callable[[Work, HostedTeam, User], Awaitable[None]]
) -> None:
    team, host = await fill(runtime, replaces=replaces)
    expected = (
        LeaverCounts(cancelled=1, handed_over=2, declined=2, requests_handed_over=3)
        if replaces
        else LeaverCounts(cancelled=3, declined=5)
    )
    work = runtime.work(OPERATOR)
    (said,) = await departures.preview(work, team.organization, [host.email])
    member = await members.get_member_by_user(work, team.organization, host)
    page = await preview_leaving(work, member, keeps=False)
    assert (said.is_managed, said.counts, page.counts) == (True, expected, expected)
    assert len(page.bookings) == expected.cancelled

    async with runtime.transaction(OPERATOR) as leaving:
        await leave(leaving, team, host)

    assert await see(runtime) == expected


@pytest.mark.parametrize("replaces", [True, False])
async def test_a_departure_that_waits(runtime: Runtime, replaces: bool) -> None:
    team, host = await fill(runtime, replaces=replaces)
    idle = team.owner
    async with runtime.transaction(OPERATOR) as work:
        for user in (host, idle):
            member = await members.get_member_by_user(work, team.organization, user)
            await store.insert_held(work.db, member, removed=True, now=work.now)
    held = {each.user_id: each for each in await departures.list_held(runtime.work(OPERATOR), team.organization)}
    said = held[host.id].counts
    assert (held[idle.id].counts, said.cancelled, said.declined) == (LeaverCounts(), *((1, 2) if replaces else (3, 5)))
    async with runtime.transaction(OPERATOR) as work:
        await departures.approve(work, team.organization, held[host.id])
    assert await see(runtime) == said


@pytest.mark.parametrize("replaces", [True, False])
async def test_who_leaves_a_team(runtime: Runtime, replaces: bool) -> None:
    team, host = await fill(runtime, replaces=replaces)
    found = await teams.get_team(runtime.work(OPERATOR), team.organization.id, team.id)
    said = await team_leavers.count_of_leaver(runtime.work(OPERATOR), found, host.id)
    expected = (
        LeaverCounts(handed_over=2, requests_handed_over=3) if replaces else LeaverCounts(cancelled=2, declined=3)
    )
    assert said == expected
    async with runtime.transaction(OPERATOR) as work:
        await team_leavers.leave_team(work, found, host)
    assert await see(runtime) == expected


async def test_a_team_that_is_deleted(runtime: Runtime) -> None:
    team, _ = await fill(runtime, replaces=True)
    found = await teams.get_team(runtime.work(OPERATOR), team.organization.id, team.id)
    assert await team_leavers.count_upcoming(runtime.work(OPERATOR), found) == (2, 4)
    async with runtime.transaction(OPERATOR) as work:
        await team_leavers.delete_team(work, found)
    assert await see(runtime) == LeaverCounts(cancelled=2, declined=4)


@pytest.mark.parametrize("replaces", [True, False])
async def test_an_account_that_is_deleted(runtime: Runtime, replaces: bool) -> None:
    _, host = await fill(runtime, replaces=replaces)
    preview = await deletions.preview_deletion(runtime.work(OPERATOR), host)
    said = LeaverCounts(
        cancelled=preview.counts["upcoming"],
        **{name: preview.counts[name] for name in ("handed_over", "declined", "requests_handed_over")},
    )
    async with runtime.transaction(OPERATOR) as work:
        # Who belongs to another organization by their address is not managed by this one.
        other = await add_organization(work, name="Beacon", slug="beacon", plan=Plan.BUSINESS)
        await add_domain(work, other, host.email.partition("@")[2], verified=True)
        await deletions.delete_account(work, host)
    await deletions.advance_deletions(runtime.work(OPERATOR))
    assert (await see(runtime), said.cancelled > 0, said.declined > 0) == (said, True, True)
