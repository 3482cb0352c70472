"""Requests for the time of a team: the first answer counts, and what was counted is given back without one."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import lock_leavers
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.bookings import handovers
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.errors import BookingNotFound, RequestNotFound, RequestNotOpen, RescheduleByHostOnly
from openslot.domains.bookings.models import Booking, BookingRef, BookingRequest, RequestState, Status
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.people import operations as people
from openslot.domains.people import team_leavers
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.replay import replay_choices
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.support.clocks import MONDAY, MovingClock
from tests.support.effects import work_off
from tests.support.locks import until_waiting
from tests.support.races import find_disorder
from tests.support.teams import (
    HostedTeam,
    book_alone,
    book_team,
    hold_team,
    list_credits,
    list_hosts,
    open_account,
    open_team,
)

AT = MONDAY.replace(hour=10)
LATER = MONDAY.replace(hour=14)
NOTHING = [0, 0, 0]


def by(user: User) -> Actor:
    return Actor(kind=ActorKind.SESSION, user_id=user.id)


async def confirm(runtime: Runtime, asked: Booking, user: User) -> Booking:
    async with runtime.transaction(by(user)) as work:
        return await requests.confirm_booking_request(work, BookingRef(asked.id, user.id))


async def decline(runtime: Runtime, asked: Booking, user: User) -> BookingRequest:
    async with runtime.transaction(by(user)) as work:
        return await requests.decline_booking_request(work, BookingRef(asked.id, user.id), reason="Not that day")


async def open_asked(runtime: Runtime, hosts: int = 3, **more: Any) -> HostedTeam:
    return await open_team(runtime, hosts, requires_confirmation=True, **more)


async def list_types(runtime: Runtime, booking_id: UUID) -> list[str]:
    rows = await runtime.pool.fetch("select type from events where subject_id = $1 order by no", booking_id)
    return [row["type"] for row in rows]


async def list_reasons(runtime: Runtime) -> list[str]:
    """List why credits have changed, each reason once, in the order in which it came."""
    rows = await runtime.pool.fetch("select reason from credit_entries group by reason order by min(no)")
    return [row["reason"] for row in rows]


async def check(runtime: Runtime, team: HostedTeam) -> None:
    """Check that nothing is lost, and that the ledger makes the same choices again."""
    assert await find_disorder(runtime.pool) == {}
    assert (await replay_choices(runtime.work(OPERATOR), team.id)).differences == ()


async def manage(runtime: Runtime, team: HostedTeam) -> User:
    """Add somebody to the team who manages it and hosts nothing."""
    manager = await open_account(runtime, "Manager")
    async with runtime.transaction(OPERATOR) as work:
        await add_organization_member(work, team.organization, manager)
        found = await teams.get_team(work, team.organization.id, team.id)
        await teams.add_team_member(work, found, manager.id, is_manager=True)
    return manager


async def test_a_request_takes_its_hosts_and_counts_for_them(runtime: Runtime) -> None:
    team = await open_asked(runtime, groups=[(2, range(3))])
    asked = await book_team(runtime, team.event_type, AT)
    assert asked.status is Status.PENDING_CONFIRMATION
    hosts = await list_hosts(runtime, asked.id)
    assert len(hosts) == 2
    assert await list_credits(runtime, team) != NOTHING
    for host in team.hosts:
        if host.id in hosts:
            with pytest.raises(SlotUnavailable):
                await book_alone(runtime, host, AT)
    assert await list_types(runtime, asked.id) == ["booking.requested"]
    await check(runtime, team)


@pytest.mark.parametrize("who", ["host", "other host", "owner", "manager"])
async def test_whoever_may_answer_confirms_it_for_all(runtime: Runtime, who: str) -> None:
    team = await open_asked(runtime, 2, groups=[(1, [0]), (1, [1])])
    people_ = dict(zip(("host", "other host"), team.hosts, strict=True), owner=team.owner, manager=team.owner)
    if who == "manager":
        people_["manager"] = await manage(runtime, team)
    asked = await book_team(runtime, team.event_type, AT)
    before = await list_credits(runtime, team)
    booking = await confirm(runtime, asked, people_[who])
    assert booking.status is Status.CONFIRMED
    assert set(await list_hosts(runtime, booking.id)) == {each.id for each in team.hosts}
    assert await list_credits(runtime, team) == before
    assert await list_types(runtime, asked.id) == ["booking.requested", "booking.created"]
    contact = await runtime.pool.fetchval("select owner_id from contacts where id = $1", booking.contact_id)
    assert contact == team.owner.id
    await check(runtime, team)


async def test_others_of_the_team_do_not_find_it(runtime: Runtime) -> None:
    team = await open_asked(runtime, 2)
    asked = await book_team(runtime, team.event_type, AT)
    (host_id,) = await list_hosts(runtime, asked.id)
    other = next(each for each in team.hosts if each.id != host_id)
    stranger = await open_account(runtime, "Stranger")
    for user in (other, stranger):
        for verb in (confirm, decline):
            with pytest.raises(RequestNotFound):
                await verb(runtime, asked, user)
        with pytest.raises(RequestNotFound):
            await requests.get_request(runtime.work(by(user)), BookingRef(asked.id, user.id))
        assert await requests.list_waiting_requests(runtime.work(by(user)), user) == []
    for user in (team.owner, next(each for each in team.hosts if each.id == host_id)):
        (found,) = await requests.list_waiting_requests(runtime.work(by(user)), user)
        assert found.details.booking.id == asked.id


async def test_the_first_answer_counts_and_the_second_is_told(runtime: Runtime) -> None:
    team = await open_asked(runtime, 2, groups=[(1, [0]), (1, [1])])
    first, second = team.hosts
    asked, other = [await book_team(runtime, team.event_type, at) for at in (AT, LATER)]
    await confirm(runtime, asked, first)
    assert (await confirm(runtime, asked, first)).status is Status.CONFIRMED
    for verb in (confirm, decline):
        with pytest.raises(RequestNotOpen):
            await verb(runtime, asked, second)
    await decline(runtime, other, second)
    assert (await decline(runtime, other, second)).state is RequestState.DECLINED
    for verb in (confirm, decline):
        with pytest.raises(RequestNotOpen):
            await verb(runtime, other, first)
    found = await requests.get_request(runtime.work(by(first)), BookingRef(other.id, first.id))
    assert (found.request.answered_by, found.answered_by) == (second.id, second.name)
    await check(runtime, team)


async def test_of_many_answers_at_once_one_counts(runtime: Runtime) -> None:
    team = await open_asked(runtime, 4, groups=[(4, range(4))])
    for hour in range(9, 13):
        asked = await book_team(runtime, team.event_type, MONDAY.replace(hour=hour))
        verbs = [(verb, user) for user in (team.owner, *team.hosts) for verb in (confirm, decline)]
        answers = await asyncio.gather(*(verb(runtime, asked, user) for verb, user in verbs), return_exceptions=True)
        counted = [each for each in answers if not isinstance(each, RequestNotOpen)]
        assert len(counted) == 1, answers
        ended = "booking.created" if isinstance(counted[0], Booking) else "booking.declined"
        assert await list_types(runtime, asked.id) == ["booking.requested", ended]
    await check(runtime, team)


async def test_declined_withdrawn_and_lapsed_requests_count_for_nobody(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_asked(runtime, groups=[(2, range(3))], counts_host_cancellations=True)
    declined = await book_team(runtime, team.event_type, AT)
    first, _ = await list_hosts(runtime, declined.id)
    host = next(each for each in team.hosts if each.id == first)
    await decline(runtime, declined, host)
    assert await list_credits(runtime, team) == NOTHING
    withdrawn = await book_team(runtime, team.event_type, AT)
    async with runtime.transaction(PUBLIC) as work:
        await requests.withdraw_booking_request(work, withdrawn.id)
    assert await list_credits(runtime, team) == NOTHING
    await book_team(runtime, team.event_type, AT)
    clock.now = AT
    await run_job(runtime, requests.REQUEST_JOBS[0])
    await work_off(runtime, clock)
    assert await list_credits(runtime, team) == NOTHING
    assert await list_reasons(runtime) == ["booked", "declined", "withdrawn", "lapsed"]
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0
    await check(runtime, team)


async def test_a_held_time_becomes_a_request_with_the_same_hosts(runtime: Runtime) -> None:
    team = await open_asked(runtime)
    hold = await hold_team(runtime, team.event_type, AT)
    held = await runtime.pool.fetchval("select user_id from held_hosts where hold_id = $1", hold.id)
    asked = await book_team(runtime, team.event_type, AT, hold_id=hold.id)
    assert asked.status is Status.PENDING_CONFIRMATION
    assert await list_hosts(runtime, asked.id) == [held]
    await decline(runtime, asked, team.owner)
    assert await list_credits(runtime, team) == NOTHING
    await check(runtime, team)


async def test_a_confirmed_booking_is_rescheduled_by_a_host_and_not_by_its_invitee(runtime: Runtime) -> None:
    team = await open_asked(runtime)
    asked = await book_team(runtime, team.event_type, AT)
    (host_id,) = await list_hosts(runtime, asked.id)
    host = next(each for each in team.hosts if each.id == host_id)
    async with runtime.transaction(by(host)) as work:
        with pytest.raises(BookingNotFound):
            await bookings.reschedule_booking(work, BookingRef(asked.id, None), LATER)
    await confirm(runtime, asked, host)
    async with runtime.transaction(PUBLIC) as work:
        with pytest.raises(RescheduleByHostOnly):
            await bookings.reschedule_booking(work, BookingRef(asked.id, None), LATER)
    async with runtime.transaction(by(host)) as work:
        await bookings.reschedule_booking(work, BookingRef(asked.id, None), LATER)
    assert await list_hosts(runtime, asked.id) == [host_id]
    await check(runtime, team)


async def test_seats_of_a_session_are_asked_for_with_the_same_hosts(runtime: Runtime) -> None:
    team = await open_asked(runtime, 4, groups=[(2, range(4))], seats=3)
    first, second, third = [await book_team(runtime, team.event_type, AT) for _ in range(3)]
    (hosts,) = {tuple(await list_hosts(runtime, each.id)) for each in (first, second, third)}
    with pytest.raises(SlotUnavailable):
        await book_team(runtime, team.event_type, AT)
    counted = await list_credits(runtime, team)
    host = next(each for each in team.hosts if each.id == hosts[1])
    await decline(runtime, first, host)
    assert await list_credits(runtime, team) == counted
    joined = await book_team(runtime, team.event_type, AT)
    assert tuple(await list_hosts(runtime, joined.id)) == hosts
    await confirm(runtime, second, host)
    for each in (third, joined):
        await decline(runtime, each, host)
    assert await list_credits(runtime, team) == counted
    await check(runtime, team)
    async with runtime.transaction(PUBLIC) as work:
        await bookings.cancel_booking(work, BookingRef(second.id, None))
    assert await list_credits(runtime, team) == [0, 0, 0, 0]
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0
    await check(runtime, team)


async def test_the_last_request_of_a_session_leaves_it_to_who_holds_a_seat(runtime: Runtime) -> None:
    team = await open_asked(runtime, 3, groups=[(2, range(3))], seats=3)
    asked = await book_team(runtime, team.event_type, AT)
    hold = await hold_team(runtime, team.event_type, AT)
    hosts = await list_hosts(runtime, asked.id)
    await decline(runtime, asked, team.owner)
    again = await book_team(runtime, team.event_type, AT, hold_id=hold.id)
    assert await list_hosts(runtime, again.id) == hosts
    await check(runtime, team)


async def test_several_weeks_can_not_be_asked_for(runtime: Runtime) -> None:
    team = await open_asked(runtime)
    assert team.event_type.max_weeks == 1
    with pytest.raises(Invalid) as refused:
        await open_asked(runtime, recurring_weeks=4)
    assert set(refused.value.details or ()) == {"recurringWeeks"}


async def test_who_leaves_hands_a_request_on_and_the_next_host_is_asked(runtime: Runtime) -> None:
    team = await open_asked(runtime, 3)
    asked = await book_team(runtime, team.event_type, AT)
    (host_id,) = await list_hosts(runtime, asked.id)
    leaver = next(each for each in team.hosts if each.id == host_id)
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, team.organization, leaver)
    (new_id,) = await list_hosts(runtime, asked.id)
    assert new_id != host_id
    assert await list_types(runtime, asked.id) == ["booking.requested", "booking.request_reassigned"]
    with pytest.raises(RequestNotFound):
        await confirm(runtime, asked, leaver)
    await confirm(runtime, asked, next(each for each in team.hosts if each.id == new_id))
    await check(runtime, team)


@pytest.mark.parametrize("replaces", [True, False])
async def test_a_request_that_nobody_else_can_take_is_declined(runtime: Runtime, replaces: bool) -> None:
    team = await open_asked(runtime, 2, groups=[(1, [0]), (1, [1])], replaces_leavers=replaces)
    asked = await book_team(runtime, team.event_type, AT)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, team.hosts[0])
    found = await requests.get_request(runtime.work(OPERATOR), BookingRef(asked.id, None))
    assert found.request.state is RequestState.DECLINED
    assert await list_types(runtime, asked.id) == ["booking.requested", "booking.declined"]
    await check(runtime, team)


async def test_who_takes_an_event_type_over_has_its_requests(runtime: Runtime) -> None:
    team = await open_asked(runtime, 2)
    manager = await manage(runtime, team)
    asked = await book_team(runtime, team.event_type, AT)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, team.owner)
    (found,) = await requests.list_waiting_requests(runtime.work(by(manager)), manager)
    assert found.details.booking.id == asked.id
    booking = await confirm(runtime, asked, manager)
    contact = await runtime.pool.fetchval("select owner_id from contacts where id = $1", booking.contact_id)
    assert (booking.host_id, contact) == (manager.id, manager.id)
    await check(runtime, team)


async def test_requests_of_a_deleted_team_are_declined(runtime: Runtime) -> None:
    team = await open_asked(runtime, 2)
    asked, booked = [await book_team(runtime, team.event_type, at) for at in (AT, LATER)]
    await confirm(runtime, booked, team.owner)
    async with runtime.transaction(OPERATOR) as work:
        found = await teams.get_team(work, team.organization.id, team.id)
        assert await team_leavers.delete_team(work, found) == [booked.id]
    request = (await requests.get_request(runtime.work(OPERATOR), BookingRef(asked.id, None))).request
    assert request.state is RequestState.DECLINED
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0


async def test_a_request_is_handed_over_and_the_new_host_answers(runtime: Runtime) -> None:
    team = await open_asked(runtime, 3)
    asked = await book_team(runtime, team.event_type, AT)
    (host_id,) = await list_hosts(runtime, asked.id)
    host = next(each for each in team.hosts if each.id == host_id)
    to = next(each for each in team.hosts if each.id != host_id)
    async with runtime.transaction(by(host)) as work:
        ref = BookingRef(asked.id, team.owner.id)
        await handovers.reassign_booking(work, ref, from_user=host.id, to_user=to.id)
    assert await list_hosts(runtime, asked.id) == [to.id]
    with pytest.raises(RequestNotFound):
        await confirm(runtime, asked, host)
    await decline(runtime, asked, to)
    assert await list_credits(runtime, team) == NOTHING
    async with runtime.transaction(by(to)) as work:
        with pytest.raises(BookingNotFound):
            await handovers.reassign_booking(work, ref, from_user=to.id)
    await check(runtime, team)


async def test_what_was_never_confirmed_is_deleted_with_the_time_of_every_host(
    runtime: Runtime, clock: MovingClock
) -> None:
    team = await open_asked(runtime, 3, groups=[(2, range(3))])
    asked = await book_team(runtime, team.event_type, AT)
    await decline(runtime, asked, team.owner)
    clock.now += timedelta(days=31)
    await run_job(runtime, requests.REQUEST_JOBS[1])
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0
    assert await runtime.pool.fetchval("select count(*) from claims") == 0
    assert (await replay_choices(runtime.work(OPERATOR), team.id)).differences == ()


async def test_who_hosts_only_a_request_of_a_team_leaves_under_the_lock_of_its_event_type(runtime: Runtime) -> None:
    team = await open_asked(runtime)
    asked = await book_team(runtime, team.event_type, AT)
    (host_id,) = await list_hosts(runtime, asked.id)
    await runtime.pool.execute("delete from team_members where user_id = $1", host_id)

    async def ask_for_lock() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await hosting.lock_hosting(work, team.event_type.id)

    async with runtime.transaction(OPERATOR) as work:
        await lock_leavers(work.db, [host_id])
        waiting = asyncio.create_task(ask_for_lock())
        await until_waiting(runtime, 1)
    await waiting
