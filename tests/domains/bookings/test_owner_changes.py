"""A team's event type gets another owner while somebody waits for its lock: nobody is told that a booking is gone."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import handovers, queries
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.bookings.series import operations as series
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.errors import EventTypeChanged
from openslot.domains.event_types.models import EventType
from openslot.domains.people import team_leavers
from openslot.domains.teams import operations as teams
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.work import Runtime, Work
from tests.support.clocks import MONDAY, clock
from tests.support.locks import until_waiting
from tests.support.races import find_disorder
from tests.support.teams import HostedTeam, book_team, book_weeks, offer, open_team

__all__ = ["clock"]

TEN = MONDAY.replace(hour=10) + timedelta(days=2)
LATER = TEN + timedelta(hours=2)


class Stage(Struct, frozen=True, kw_only=True):
    """Two event types of a team, one that is booked and one that is asked for; the first two hosts host both."""

    runtime: Runtime
    team: HostedTeam
    asked: EventType
    booked: Booking
    weekly: Booking
    request: Booking

    @property
    def host(self) -> User:
        return self.team.hosts[0]

    async def get_by_host(self, booking: Booking) -> BookingRef:
        """Name a booking as its host, who read it before the owner changed."""
        return await queries.get_ref(self.runtime.work(PUBLIC), self.host, booking.id)


@pytest.fixture
async def stage(runtime: Runtime) -> Stage:
    """One host hosts everything, and another one takes its place if it is handed over."""
    team = await open_team(runtime, 3, groups=[(1, [0])], recurring_weeks=3)
    asked = await offer(runtime, team.id, team.owner, team.hosts, [(1, [0])], requires_confirmation=True)
    weekly = await book_weeks(runtime, team.event_type, TEN + timedelta(hours=4), weeks=2)
    booked = await book_team(runtime, team.event_type, TEN)
    request = await book_team(runtime, asked, TEN + timedelta(hours=6))
    for each in (team.event_type, asked):
        await runtime.pool.execute(
            """insert into host_group_members (group_id, user_id, listed)
            select id, $2, true from host_groups where event_type_id = $1""",
            each.id,
            team.hosts[1].id,
        )
    return Stage(runtime=runtime, team=team, asked=asked, booked=booked, weekly=weekly.bookings[0], request=request)


def by(user: User) -> Actor:
    return Actor(kind=ActorKind.SESSION, user_id=user.id)


Act = Callable[[Work], Awaitable[object]]


async def book(at: Stage) -> tuple[Actor, Act]:
    invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
    wanted = BookingWanted(which=ById(at.team.event_type.id), starts_at=LATER, invitee=invitee)
    return PUBLIC, lambda work: bookings.create_booking(work, wanted)


async def cancel(at: Stage) -> tuple[Actor, Act]:
    return PUBLIC, lambda work: bookings.cancel_booking(work, BookingRef(at.booked.id, None))


async def reschedule(at: Stage) -> tuple[Actor, Act]:
    return PUBLIC, lambda work: bookings.reschedule_booking(work, BookingRef(at.booked.id, None), LATER)


async def cancel_series(at: Stage) -> tuple[Actor, Act]:
    return PUBLIC, lambda work: series.cancel_series(work, BookingRef(at.weekly.id, None))


async def withdraw(at: Stage) -> tuple[Actor, Act]:
    return PUBLIC, lambda work: requests.withdraw_booking_request(work, at.request.id)


async def cancel_as_host(at: Stage) -> tuple[Actor, Act]:
    ref = await at.get_by_host(at.booked)
    return by(at.host), lambda work: bookings.cancel_booking(work, ref)


async def reschedule_as_host(at: Stage) -> tuple[Actor, Act]:
    ref = await at.get_by_host(at.booked)
    return by(at.host), lambda work: bookings.reschedule_booking(work, ref, LATER)


async def cancel_series_as_host(at: Stage) -> tuple[Actor, Act]:
    ref = await at.get_by_host(at.weekly)
    return by(at.host), lambda work: series.cancel_series(work, ref)


async def hand_over(at: Stage) -> tuple[Actor, Act]:
    ref = await at.get_by_host(at.booked)
    return by(at.host), lambda work: handovers.reassign_booking(work, ref, from_user=at.host.id)


async def hand_request_over(at: Stage) -> tuple[Actor, Act]:
    ref = BookingRef(at.request.id, None)
    return by(at.host), lambda work: handovers.reassign_booking(work, ref, from_user=at.host.id)


async def confirm(at: Stage) -> tuple[Actor, Act]:
    return by(at.host), lambda work: requests.confirm_booking_request(work, BookingRef(at.request.id, at.host.id))


async def decline(at: Stage) -> tuple[Actor, Act]:
    return by(at.host), lambda work: requests.decline_booking_request(work, BookingRef(at.request.id, at.host.id))


ACTS = (
    *(book, cancel, reschedule, cancel_series, withdraw),
    *(cancel_as_host, reschedule_as_host, cancel_series_as_host),
    *(hand_over, hand_request_over, confirm, decline),
)


async def take_over(work: Work, at: Stage, owner: User) -> None:
    team = await teams.get_team(work, at.team.organization.id, at.team.id)
    for each in (at.team.event_type, at.asked):
        await team_leavers.take_over(work, team, each, owner)


@pytest.mark.parametrize("prepare", ACTS, ids=lambda each: each.__name__)
async def test_whoever_waits_for_a_change_of_owner_goes_on_with_the_new_one(
    runtime: Runtime, stage: Stage, prepare: Callable[[Stage], Awaitable[tuple[Actor, Act]]]
) -> None:
    actor, act = await prepare(stage)

    async def come() -> None:
        async with runtime.transaction(actor) as work:
            await act(work)

    async with runtime.transaction(OPERATOR) as work:
        await take_over(work, stage, stage.team.hosts[2])
        coming = asyncio.create_task(come())
        await until_waiting(runtime, 1)
    await coming

    assert await find_disorder(runtime.pool) == {}
    owners = await runtime.pool.fetch("select distinct host_id from bookings")
    assert [row["host_id"] for row in owners] == [stage.team.hosts[2].id]


async def test_an_event_type_that_was_taken_over_has_changed_for_who_edits_it(runtime: Runtime, stage: Stage) -> None:
    edited = replace(stage.team.event_type, name="Renamed")

    async def edit() -> None:
        async with runtime.transaction(by(stage.team.owner)) as work:
            with pytest.raises(EventTypeChanged):
                await event_types.change_event_type(work, edited)

    async with runtime.transaction(OPERATOR) as work:
        await take_over(work, stage, stage.team.hosts[2])
        coming = asyncio.create_task(edit())
        await until_waiting(runtime, 1)
    await coming
