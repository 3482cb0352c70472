"""Bookings of teams that get other hosts: handed over by hand, or because somebody leaves."""

from uuid import UUID

import pytest

from openslot.domains.accounts.members.operations import end_membership
from openslot.domains.accounts.models import User
from openslot.domains.availability.claims import operations as claims
from openslot.domains.bookings import handovers
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.errors import BookingNotFound, HostNotFree, NoOtherHost
from openslot.domains.bookings.models import Booking, BookingRef, Status
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import recall
from tests.support.clocks import MONDAY, MovingClock
from tests.support.races import find_disorder
from tests.support.teams import HostedTeam, book_alone, book_team, list_credits, list_hosts, open_account, open_team

AT = MONDAY.replace(hour=10)


def by(user: User) -> Actor:
    return Actor(kind=ActorKind.SESSION, user_id=user.id)


async def reassign(
    runtime: Runtime, booking: Booking, *, from_: User, to: User | None = None, actor: Actor = OPERATOR
) -> Booking:
    async with runtime.transaction(actor) as work:
        ref = BookingRef(booking.id, None)
        return await handovers.reassign_booking(
            work, ref, from_user=from_.id, to_user=to.id if to else None, reason="Ill"
        )


async def list_reassigned(runtime: Runtime, booking_id: UUID) -> list[tuple[list[str], list[str], str | None]]:
    """List from whom to whom a booking was handed over, and why."""
    rows = await runtime.pool.fetch(
        """select array(select x ->> 'userId' from jsonb_array_elements(fact -> 'previous_hosts') x) as previous,
            array(select x ->> 'userId' from jsonb_array_elements(fact -> 'hosts') x) as hosts, fact ->> 'reason' as why
        from events where subject_id = $1 and type = 'booking.reassigned' order by no""",
        booking_id,
    )
    return [(row["previous"], row["hosts"], row["why"]) for row in rows]


async def test_a_booking_goes_from_one_host_to_another_and_back(runtime: Runtime) -> None:
    team = await open_team(runtime, 3)
    booking = await book_team(runtime, team.event_type, AT)
    a, b, _ = team.hosts
    before = await list_credits(runtime, team)
    changed = await reassign(runtime, booking, from_=a, to=b)
    assert await list_hosts(runtime, booking.id) == [b.id]
    assert await list_credits(runtime, team) != before
    await book_alone_is_free(runtime, team, 0)
    back = await reassign(runtime, booking, from_=b, to=a)
    assert await list_hosts(runtime, booking.id) == [a.id]
    assert await list_credits(runtime, team) == before
    assert (changed.uid, changed.sequence, back.sequence) == (booking.uid, 1, 2)
    told = await list_reassigned(runtime, booking.id)
    assert told == [([str(a.id)], [str(b.id)], "Ill"), ([str(b.id)], [str(a.id)], "Ill")]
    assert await find_disorder(runtime.pool) == {}


async def book_alone_is_free(runtime: Runtime, team: HostedTeam, place: int) -> None:
    """Book a host alone at the time of the team's booking, and cancel that again."""
    alone = await book_alone(runtime, team.hosts[place], AT)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(alone.id, None))


async def test_the_next_host_by_the_rule_takes_it_if_nobody_is_named(runtime: Runtime) -> None:
    team = await open_team(runtime, 3)
    booking = await book_team(runtime, team.event_type, AT)
    await book_alone(runtime, team.hosts[1], AT)
    await reassign(runtime, booking, from_=team.hosts[0])
    assert await list_hosts(runtime, booking.id) == [team.hosts[2].id]
    with pytest.raises(NoOtherHost):
        await book_alone(runtime, team.hosts[0], AT)
        await reassign(runtime, booking, from_=team.hosts[2])
    with pytest.raises(HostNotFree):
        await reassign(runtime, booking, from_=team.hosts[2], to=team.hosts[1])
    assert await find_disorder(runtime.pool) == {}


async def test_the_organizer_s_place_stays_the_organizer_s(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0, 2]), (1, [1])])
    booking = await book_team(runtime, team.event_type, AT)
    organizer, other = await list_hosts(runtime, booking.id)
    assert other == team.hosts[1].id
    await reassign(runtime, booking, from_=next(each for each in team.hosts if each.id == organizer))
    now = await list_hosts(runtime, booking.id)
    assert (now[0] != organizer, now[1]) == (True, other)


async def test_only_somebody_of_the_group_can_be_named(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0, 1])])
    booking = await book_team(runtime, team.event_type, AT)
    stranger = await open_account(runtime, "Stranger")
    for to in (team.hosts[2], stranger):
        with pytest.raises(HostNotFree):
            await reassign(runtime, booking, from_=team.hosts[0], to=to)
    with pytest.raises(Invalid):
        await reassign(runtime, booking, from_=team.hosts[1], to=team.hosts[0])


async def test_the_owner_a_manager_and_the_host_themselves_may_hand_over(runtime: Runtime) -> None:
    team = await open_team(runtime, 3)
    booking = await book_team(runtime, team.event_type, AT)
    a, b, c = team.hosts
    with pytest.raises(BookingNotFound):
        await reassign(runtime, booking, from_=a, to=c, actor=by(b))
    await reassign(runtime, booking, from_=a, to=b, actor=by(a))
    with pytest.raises(BookingNotFound):
        await reassign(runtime, booking, from_=b, to=a, actor=by(a))
    await reassign(runtime, booking, from_=b, to=a, actor=by(team.owner))
    await runtime.pool.execute("update team_members set is_manager = true where user_id = $1", c.id)
    await reassign(runtime, booking, from_=a, to=b, actor=by(c))
    assert await list_hosts(runtime, booking.id) == [b.id]


async def leave(runtime: Runtime, team: HostedTeam, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, team.organization, user)


async def test_a_host_who_has_left_the_organization_hands_nothing_over(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    booking = await book_team(runtime, team.event_type, AT)
    (host,) = [each for each in team.hosts if [each.id] == await list_hosts(runtime, booking.id)]
    async with runtime.transaction(OPERATOR) as work:
        await end_membership(work, team.organization, host)
    with pytest.raises(BookingNotFound):
        await reassign(runtime, booking, from_=host, actor=by(host))
    assert await list_hosts(runtime, booking.id) == [host.id]


async def test_somebody_else_takes_the_bookings_of_a_host_who_leaves(runtime: Runtime) -> None:
    team = await open_team(runtime, 3)
    booking = await book_team(runtime, team.event_type, AT)
    (host,) = await list_hosts(runtime, booking.id)
    await leave(runtime, team, next(each for each in team.hosts if each.id == host))
    (now,) = await list_hosts(runtime, booking.id)
    assert now in {each.id for each in team.hosts} - {host}
    ((_, _, why),) = await list_reassigned(runtime, booking.id)
    assert why is not None
    assert "no longer with" in recall(why)
    assert await find_disorder(runtime.pool) == {}


@pytest.mark.parametrize("replaces", [True, False])
async def test_a_booking_is_cancelled_if_nobody_can_or_shall_take_it(runtime: Runtime, replaces: bool) -> None:
    team = await open_team(runtime, 1 if replaces else 2, replaces_leavers=replaces)
    booking = await book_team(runtime, team.event_type, AT)
    await leave(runtime, team, team.hosts[0])
    async with runtime.transaction(OPERATOR) as work:
        now = (await bookings.get_booking(work, BookingRef(booking.id, None))).booking
    assert now.status is Status.CANCELLED
    assert await find_disorder(runtime.pool) == {}


async def test_the_owner_s_bookings_outlive_a_host_whose_account_is_erased(
    runtime: Runtime, clock: MovingClock
) -> None:
    team = await open_team(runtime, 2)
    booking = await book_team(runtime, team.event_type, AT)
    (host_id,) = await list_hosts(runtime, booking.id)
    host = next(each for each in team.hosts if each.id == host_id)
    clock.pass_time(days=2)
    async with runtime.transaction(OPERATOR) as work:
        while await bookings.erase_some_bookings(work, host, 10) or await claims.erase_some_claims(work, host, 10):
            pass
        await work.db.execute("delete from users where id = $1", host.id)
        kept = (await bookings.get_booking(work, BookingRef(booking.id, team.owner.id))).booking
    assert (kept.starts_at, kept.status) == (AT, Status.CONFIRMED)
    assert await list_hosts(runtime, booking.id) == []


async def test_a_manager_who_takes_over_has_the_upcoming_bookings_and_contacts(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    manager = team.hosts[1]
    await runtime.pool.execute("update team_members set is_manager = true where user_id = $1", manager.id)
    booking = await book_team(runtime, team.event_type, AT)
    await leave(runtime, team, team.owner)
    async with runtime.transaction(OPERATOR) as work:
        found = await bookings.get_booking(work, BookingRef(booking.id, manager.id))
    assert found.booking.status is Status.CONFIRMED
    assert found.contact is not None
    assert (found.contact.owner_id, found.contact.email) == (manager.id, booking.invitee_email)
    assert await list_hosts(runtime, booking.id) == [team.hosts[0].id]
    assert await find_disorder(runtime.pool) == {}


async def test_a_disabled_host_hosts_nothing_any_more(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    booking = await book_team(runtime, team.event_type, AT)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, team.hosts[0])
    assert await list_hosts(runtime, booking.id) == [team.hosts[1].id]
    assert await find_disorder(runtime.pool) == {}
