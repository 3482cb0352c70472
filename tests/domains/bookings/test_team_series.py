"""Several weeks in a row with a team: the same hosts in every week, chosen once and counted for each."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.availability.models import ById
from openslot.domains.bookings import handovers
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.errors import SeriesUnavailable
from openslot.domains.bookings.models import Booking, BookingRef, Status
from openslot.domains.bookings.series import operations as series
from openslot.domains.bookings.series.models import BookedSeries, OnConflict
from openslot.domains.event_types.models import RollingWindow
from openslot.domains.people import operations as people
from openslot.domains.teams.choice import BOOKING
from openslot.domains.teams.models import Balance
from openslot.domains.teams.replay import replay_choices
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY, MovingClock
from tests.support.races import find_disorder
from tests.support.teams import (
    HostedTeam,
    book_alone,
    book_team,
    book_weeks,
    hold_team,
    list_credits,
    list_hosts,
    open_team,
)

AT = MONDAY.replace(hour=10)
WEEK = timedelta(weeks=1)
OFFER: dict[str, Any] = {"recurring_weeks": 12, "booking_window": RollingWindow(365)}


async def hosts_of(runtime: Runtime, made: BookedSeries) -> list[list[int]]:
    """List the hosts of each booking by their places in the team, which their names tell."""
    names = {row["id"]: row["name"] for row in await runtime.pool.fetch("select id, name from users")}
    return [[int(names[id_][5:]) for id_ in await list_hosts(runtime, each.id)] for each in made.bookings]


async def check_ledger(runtime: Runtime, team: HostedTeam) -> None:
    assert (await replay_choices(runtime.work(OPERATOR), team.id)).differences == ()
    assert await find_disorder(runtime.pool) == {}


async def test_the_same_host_has_every_week(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, **OFFER)
    made = await book_weeks(runtime, team.event_type, AT)
    assert await hosts_of(runtime, made) == [[0]] * 4
    assert [each.starts_at for each in made.bookings] == [AT + n * WEEK for n in range(4)]
    await check_ledger(runtime, team)


async def test_the_host_is_one_who_is_free_in_every_week(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, **OFFER)
    await book_alone(runtime, team.hosts[0], AT + WEEK)
    await book_alone(runtime, team.hosts[1], AT + 3 * WEEK)
    made = await book_weeks(runtime, team.event_type, AT)
    assert await hosts_of(runtime, made) == [[2]] * 4
    await check_ledger(runtime, team)


async def test_two_of_a_group_and_one_who_must_be_there_stay_together(runtime: Runtime) -> None:
    team = await open_team(runtime, 5, groups=[(1, [0]), (2, [1, 2, 3, 4])], **OFFER)
    await book_alone(runtime, team.hosts[1], AT + WEEK)
    await book_alone(runtime, team.hosts[3], AT + 2 * WEEK)
    made = await book_weeks(runtime, team.event_type, AT)
    assert await hosts_of(runtime, made) == [[0, 2, 4]] * 4
    await check_ledger(runtime, team)


async def test_every_week_is_free_and_nobody_is_in_every_week(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, **OFFER)
    await book_alone(runtime, team.hosts[0], AT + WEEK)
    await book_alone(runtime, team.hosts[1], AT + 2 * WEEK)
    await book_alone(runtime, team.hosts[1], AT + 3 * WEEK)
    with pytest.raises(SeriesUnavailable) as refused:
        await book_weeks(runtime, team.event_type, AT)
    assert refused.value.details == {"recurrence": "is not free on 2026-03-23T10:00:00Z"}
    assert await runtime.pool.fetchval("select count(*) from booking_hosts") == 0
    assert await list_credits(runtime, team) == [0, 0]

    made = await book_weeks(runtime, team.event_type, AT, on_conflict=OnConflict.SKIP)
    assert await hosts_of(runtime, made) == [[0]] * 3
    assert made.skipped == (AT + WEEK,)
    await check_ledger(runtime, team)


async def test_each_booking_counts_and_others_have_the_next_ones(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, **OFFER)
    await book_weeks(runtime, team.event_type, AT)
    assert await list_credits(runtime, team) == [-2 * BOOKING, 2 * BOOKING]
    later = [await book_team(runtime, team.event_type, AT + n * timedelta(hours=1)) for n in range(1, 5)]
    assert [await list_hosts(runtime, each.id) for each in later] == [[team.hosts[1].id]] * 4
    assert await list_credits(runtime, team) == [0, 0]
    reasons = await runtime.pool.fetch("select reason, count(*) from assignments group by 1 order by 1")
    assert {row["reason"]: row["count"] for row in reasons} == {"booked": 5, "series": 3}
    await check_ledger(runtime, team)


async def test_a_lead_is_judged_once_for_all_weeks(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, balance=Balance.TOTAL, max_lead=1, **OFFER)
    made = await book_weeks(runtime, team.event_type, AT)
    assert await hosts_of(runtime, made) == [[0]] * 4
    assert await hosts_of(runtime, await book_weeks(runtime, team.event_type, AT)) == [[1]] * 4
    await check_ledger(runtime, team)


async def test_a_hold_is_given_up_for_hosts_who_are_free_in_all_weeks(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, **OFFER)
    held = await hold_team(runtime, team.event_type, AT)
    await book_alone(runtime, team.hosts[0], AT + WEEK)
    made = await book_weeks(runtime, team.event_type, AT, hold_id=held.id)
    assert await hosts_of(runtime, made) == [[1]] * 4
    await book_alone(runtime, team.hosts[0], AT)
    # Nobody else was free in all weeks, and what was held counts no more.
    assert await list_credits(runtime, team) == [0, 0]
    await check_ledger(runtime, team)


async def test_a_hold_keeps_a_start_open_to_its_holder(runtime: Runtime) -> None:
    team = await open_team(runtime, 1, **OFFER)
    held = await hold_team(runtime, team.event_type, AT)
    with pytest.raises(SeriesUnavailable):
        await book_weeks(runtime, team.event_type, AT)
    with pytest.raises(Invalid):
        await book_weeks(runtime, team.event_type, AT + WEEK, hold_id=held.id)
    await book_weeks(runtime, team.event_type, AT, hold_id=held.id)
    await check_ledger(runtime, team)


async def test_a_hold_of_another_time_is_refused_before_all_else(runtime: Runtime) -> None:
    team = await open_team(runtime, 1, **OFFER)
    held = await hold_team(runtime, team.event_type, AT)
    wrong = ById(team.event_type.id, minutes=7)
    with pytest.raises(Invalid) as refused:
        await book_weeks(runtime, team.event_type, AT + WEEK, which=wrong, hold_id=held.id)
    assert refused.value.details == {"holdId": "is for a different time"}


async def test_one_date_is_moved_handed_over_and_cancelled_alone(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, **OFFER)
    made = await book_weeks(runtime, team.event_type, AT)
    first, second, third, fourth = made.bookings
    async with runtime.transaction(PUBLIC) as work:
        await bookings.reschedule_booking(work, BookingRef(second.id, None), second.starts_at + timedelta(hours=2))
    async with runtime.transaction(OPERATOR) as work:
        ref = BookingRef(third.id, None)
        await handovers.reassign_booking(work, ref, from_user=team.hosts[0].id, to_user=team.hosts[1].id)
    async with runtime.transaction(PUBLIC) as work:
        await bookings.cancel_booking(work, BookingRef(fourth.id, None))
    assert await hosts_of(runtime, replace(made, bookings=(first, second, third))) == [[0], [0], [1]]
    assert await list_credits(runtime, team) == [-BOOKING // 2, BOOKING // 2]
    await check_ledger(runtime, team)


async def test_all_are_cancelled_with_all_of_their_hosts(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1, 2])], **OFFER)
    made = await book_weeks(runtime, team.event_type, AT)
    async with runtime.transaction(OPERATOR) as work:
        ref = BookingRef(made.bookings[2].id, None)
        await handovers.reassign_booking(work, ref, from_user=team.hosts[1].id)
    async with runtime.transaction(PUBLIC) as work:
        cancelled = await series.cancel_series(work, BookingRef(made.bookings[0].id, None))
    assert len(cancelled) == 4
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0
    assert await list_credits(runtime, team) == [0, 0, 0]
    # Who has the third date with another host is told of it by a mail of its own.
    told = await runtime.pool.fetch(
        """select jsonb_array_length(fact -> 'series') as dates, fact -> 'told_by' as by
        from events where type = 'booking.cancelled' order by no"""
    )
    assert [row["dates"] for row in told if row["by"] in (None, "null")] == [3, 0]
    await check_ledger(runtime, team)


async def test_a_host_cancels_only_the_dates_that_they_host(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, **OFFER)
    made = await book_weeks(runtime, team.event_type, AT)
    first, second, third, fourth = made.bookings
    ana, jim = team.hosts
    async with runtime.transaction(OPERATOR) as work:
        for each in (third, fourth):
            await handovers.reassign_booking(work, BookingRef(each.id, None), from_user=ana.id, to_user=jim.id)
    async with runtime.transaction(OPERATOR) as work:
        shown = [await series.list_series(work, first, by=user.id) for user in (ana, jim, team.owner)]
        cancelled = await series.cancel_series(work, BookingRef(first.id, team.owner.id, by=ana.id))

    assert [[each.id for each in dates] for dates in shown] == [
        [first.id, second.id],
        [third.id, fourth.id],
        [each.id for each in made.bookings],
    ]
    assert [each.id for each in cancelled] == [first.id, second.id]
    await check_ledger(runtime, team)


async def test_a_former_owner_cancels_no_dates_of_their_successor(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 1, **OFFER)
    made = await book_weeks(runtime, team.event_type, AT)
    clock.now = made.bookings[1].starts_at
    await runtime.pool.execute("update team_members set is_manager = true where user_id = $1", team.hosts[0].id)
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, team.organization, team.owner)
    async with runtime.transaction(OPERATOR) as work:
        cancelled = await series.cancel_series(work, BookingRef(made.bookings[0].id, team.owner.id))

    assert cancelled == []
    assert [(await read(runtime, each)).status for each in made.bookings] == [Status.CONFIRMED] * 4


async def read(runtime: Runtime, booking: Booking) -> Booking:
    return (await bookings.get_booking(runtime.work(OPERATOR), BookingRef(booking.id, None))).booking


async def test_the_dates_of_a_host_who_leaves_go_to_others(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, **OFFER)
    made = await book_weeks(runtime, team.event_type, AT)
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, team.organization, team.hosts[0])
    assert all(hosts != [0] for hosts in await hosts_of(runtime, made))
    await check_ledger(runtime, team)


async def test_it_is_the_time_of_the_teams_clock(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, **OFFER)
    await runtime.pool.execute("update teams set zone = 'Europe/Berlin' where id = $1", team.id)
    made = await book_weeks(runtime, team.event_type, AT, weeks=3)
    # The clock is turned on 29 March.
    assert [each.starts_at.hour for each in made.bookings] == [10, 10, 9]


async def test_the_api_and_the_page_book_a_series_of_a_team(
    runtime: Runtime, client: httpx2.AsyncClient, clock: MovingClock
) -> None:
    team = await open_team(runtime, 2, slug="demo", **OFFER)
    body = {"eventTypeId": str(team.event_type.id), "startTime": "2026-03-16T10:00:00Z", "inviteeName": "Li"}
    body |= {"inviteeEmail": "li@wei.example", "inviteeTimezone": "UTC"}
    made = await client.post("/api/bookings", json={**body, "recurrence": {"weeks": 3}})
    assert made.status_code == 200, made.text
    assert len(made.json()["series"]["bookings"]) == 3

    slug = await runtime.pool.fetchval("select slug from teams where id = $1", team.id)
    path = f"/team/{slug}/demo"
    shown = await client.get(path, params={"start": "2026-03-16T12:00:00Z", "tz": "UTC"})
    assert 'name="weeks"' in shown.text
    sent = {"name": "Li", "email": "li@wei.example", "tz": "UTC", "start": "2026-03-16T12:00:00Z", "weeks": "3"}
    booked = await client.post(path, data=sent)
    assert booked.status_code == 303, booked.text
    assert await runtime.pool.fetchval("select count(*) from bookings") == 6
    await check_ledger(runtime, team)
