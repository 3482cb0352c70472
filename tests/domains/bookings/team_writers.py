"""Those who change the time of a team's hosts: what they find, and what each of them does."""

import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

import httpx2
from msgspec import Struct

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User
from openslot.domains.availability.claims.expiry.jobs import expire_holds
from openslot.domains.availability.models import Hold
from openslot.domains.bookings import handovers
from openslot.domains.bookings.links import manage_token
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.bookings.series.models import BookedSeries
from openslot.domains.event_types.models import EventType, RollingWindow
from openslot.domains.people import deletions, departures, team_leavers
from openslot.domains.people import operations as people
from openslot.domains.people import store as people_store
from openslot.domains.teams import operations as teams
from openslot.platform.core.actor import OPERATOR, SYSTEM, Actor, ActorKind, EffectAttempt
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.effects import run_attempt
from tests.support.races import iso, workday
from tests.support.teams import HostedTeam, book_team, book_weeks, hold_team, offer, open_team

WINDOW = RollingWindow(120)
DAY = timedelta(days=1)
SEATS = 4
Clients = list[httpx2.AsyncClient]
numbers = count()


class Meeting(Struct, frozen=True, kw_only=True):
    """A team with three event types of the same hosts: one of three, all of two, and one host's own."""

    runtime: Runtime
    clients: Clients
    team: HostedTeam
    both: EventType
    own_id: UUID
    start: datetime
    booked: Booking
    """One of three, on the day after the start that everybody wants."""
    collective: Booking
    """Both, two days after it."""
    held: Hold
    """One of three, at the start."""
    weekly: BookedSeries
    """One of three in two weeks, an hour after the start."""
    seated: EventType
    """Two of three for a group of four."""
    session: tuple[Booking, ...]
    """Two seats of a group, three days after the start."""
    seat: Hold
    """A third one."""
    asked: EventType
    """Two of three whom people ask for a time."""
    requests: tuple[Booking, Booking]
    """What waits for an answer four days after the start, and a seat of a group two hours later."""

    async def send(self, method: str, path: str, json: object = None) -> int:
        """Send a request to one of the web processes, from an address of its own."""
        number = next(numbers)
        headers = {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
        answer = await self.clients[number % 2].request(method, path, json=json, headers=headers)
        return answer.status_code

    async def book(self, event_type: EventType, start: datetime, **more: object) -> int:
        return await self.send("POST", "/api/bookings", wish(event_type, start, **more))


def wish(event_type: EventType, start: datetime, **more: object) -> dict[str, object]:
    return {
        "eventTypeId": str(event_type.id),
        "startTime": iso(start),
        "inviteeName": "Jonas Okafor",
        "inviteeEmail": f"{new_id()}@race.example",
        "inviteeTimezone": "UTC",
        **more,
    }


async def prepare(runtime: Runtime, clients: Clients) -> Meeting:
    start = workday(0)
    team = await open_team(runtime, 3, booking_window=WINDOW, recurring_weeks=3)
    both = await offer(runtime, team.id, team.owner, team.hosts, [(1, [1]), (1, [0])], booking_window=WINDOW)
    own_id = await runtime.pool.fetchval(
        "select id from event_types where owner_id = $1 and team_id is null", team.hosts[0].id
    )
    booked = await book_team(runtime, team.event_type, start + DAY)
    collective = await book_team(runtime, both, start + 2 * DAY)
    held = await hold_team(runtime, team.event_type, start)
    weekly = await book_weeks(runtime, team.event_type, start + timedelta(hours=1), weeks=2)
    seated = await offer(runtime, team.id, team.owner, team.hosts, [(2, [0, 1, 2])], booking_window=WINDOW, seats=SEATS)
    session = tuple([await book_team(runtime, seated, start + 3 * DAY) for _ in range(2)])
    seat = await hold_team(runtime, seated, start + 3 * DAY)
    asked, seated_asked = [
        await offer(
            runtime,
            team.id,
            team.owner,
            team.hosts,
            [(2, [0, 1, 2])],
            booking_window=WINDOW,
            requires_confirmation=True,
            seats=seats,
        )
        for seats in (1, SEATS)
    ]
    request = await book_team(runtime, asked, start + 4 * DAY)
    seat_request = await book_team(runtime, seated_asked, start + 4 * DAY + timedelta(hours=2))
    return Meeting(
        runtime=runtime,
        clients=clients,
        team=team,
        both=both,
        own_id=own_id,
        start=start,
        booked=booked,
        collective=collective,
        held=held,
        weekly=weekly,
        seated=seated,
        session=session,
        seat=seat,
        asked=asked,
        requests=(request, seat_request),
    )


Writer = Callable[[Meeting], Awaitable[int | None]]


async def book_one(at: Meeting) -> int:
    return await at.book(at.team.event_type, random.choice([at.start, at.booked.starts_at]))


async def book_both(at: Meeting) -> int:
    return await at.book(at.both, random.choice([at.start, at.booked.starts_at]))


async def book_own(at: Meeting) -> int:
    body = wish(at.team.event_type, random.choice([at.start, at.booked.starts_at]))
    return await at.send("POST", "/api/bookings", {**body, "eventTypeId": str(at.own_id)})


async def book_held(at: Meeting) -> int:
    return await at.book(at.team.event_type, at.start, holdId=str(at.held.id))


async def hold_one(at: Meeting) -> int:
    body = {"eventTypeId": str(at.team.event_type.id), "startTime": iso(at.start)}
    return await at.send("POST", "/api/public/holds", body)


async def hold_both(at: Meeting) -> int:
    return await at.send("POST", "/api/public/holds", {"eventTypeId": str(at.both.id), "startTime": iso(at.start)})


async def drop(at: Meeting) -> int:
    return await at.send("DELETE", f"/api/public/holds/{at.held.id}")


async def expire(at: Meeting) -> None:
    """Let the hold expire in this very moment, and the minute's job come by."""
    await at.runtime.pool.execute(
        """update claims set expires_at = least(expires_at, now()) where kind = 'hold'
        and id in (select claim_id from held_hosts where hold_id = $1)""",
        at.held.id,
    )
    await expire_holds(at.runtime.work(SYSTEM))


async def cancel(at: Meeting) -> int:
    booking = random.choice([at.booked, at.collective])
    return await at.send("POST", f"/api/public/manage/{manage_token(at.runtime, booking.id)}/cancel")


async def reschedule(at: Meeting) -> int:
    """Move a booking to the start that everybody wants, where its hosts may be taken."""
    token = manage_token(at.runtime, random.choice([at.booked, at.collective]).id)
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(at.start)})


async def reassign(at: Meeting) -> None:
    """Give a booking, or a request, to the next host, or to one who is named."""
    booking = random.choice([at.booked, *at.requests])
    host_id = await at.runtime.pool.fetchval("select user_id from booking_hosts where booking_id = $1", booking.id)
    others = [each.id for each in at.team.hosts if each.id != host_id]
    async with at.runtime.transaction(OPERATOR) as work:
        ref = BookingRef(booking.id, None)
        to = random.choice([None, *others])
        await handovers.reassign_booking(work, ref, from_user=host_id, to_user=to)


async def book_series(at: Meeting) -> int:
    """Book three weeks with the same host, or those in which one is free, from the hold or without it."""
    more = random.choice([{}, {"holdId": str(at.held.id)}])
    recurrence = {"weeks": 3, "onConflict": random.choice(["refuse", "skip"])}
    return await at.book(at.team.event_type, at.start, recurrence=recurrence, **more)


async def cancel_series(at: Meeting) -> int:
    token = manage_token(at.runtime, random.choice(at.weekly.bookings).id)
    return await at.send("POST", f"/api/public/manage/{token}/cancel", {"series": True})


async def move_one(at: Meeting) -> int:
    """Move a date of the series to the start that everybody wants."""
    token = manage_token(at.runtime, at.weekly.bookings[0].id)
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(at.start)})


async def sit_down(at: Meeting) -> int:
    """Join the session, with the held seat or without, or open one at the start that everybody wants."""
    start = random.choice([at.start, *(each.starts_at for each in at.session)])
    more = {"holdId": str(at.seat.id)} if start != at.start and random.random() < 0.5 else {}
    return await at.book(at.seated, start, **more)


async def hold_seat(at: Meeting) -> int:
    start = random.choice([at.start, at.session[0].starts_at])
    body = {"eventTypeId": str(at.seated.id), "startTime": iso(start)}
    return await at.send("POST", "/api/public/holds", body)


async def give_seat_up(at: Meeting) -> int | None:
    """Drop the held seat, or let it expire in this very moment."""
    if random.random() < 0.5:
        return await at.send("DELETE", f"/api/public/holds/{at.seat.id}")
    await at.runtime.pool.execute(
        "update claim_seats set expires_at = least(expires_at, now()) where id = $1 and holder is not null", at.seat.id
    )
    await expire_holds(at.runtime.work(SYSTEM))
    return None


async def leave_session(at: Meeting) -> int:
    token = manage_token(at.runtime, random.choice(at.session).id)
    return await at.send("POST", f"/api/public/manage/{token}/cancel")


async def change_session(at: Meeting) -> int:
    """Move a seat to the start that everybody wants, alone or after the others."""
    token = manage_token(at.runtime, random.choice(at.session).id)
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(at.start)})


async def hand_session_over(at: Meeting) -> None:
    booking = random.choice(at.session)
    host_id = await at.runtime.pool.fetchval("select user_id from booking_hosts where booking_id = $1", booking.id)
    async with at.runtime.transaction(OPERATOR) as work:
        await handovers.reassign_booking(work, BookingRef(booking.id, None), from_user=host_id)


async def ask(at: Meeting) -> int:
    """Ask for the start that everybody wants, or for the time of a request."""
    return await at.book(at.asked, random.choice([at.start, *(each.starts_at for each in at.requests)]))


async def confirm(at: Meeting) -> None:
    booking, user = random.choice(at.requests), random.choice([at.team.owner, *at.team.hosts])
    async with at.runtime.transaction(by(user)) as work:
        await requests.confirm_booking_request(work, BookingRef(booking.id, user.id))


async def decline(at: Meeting) -> None:
    booking, user = random.choice(at.requests), random.choice([at.team.owner, *at.team.hosts])
    async with at.runtime.transaction(by(user)) as work:
        await requests.decline_booking_request(work, BookingRef(booking.id, user.id))


def by(user: User) -> Actor:
    return Actor(kind=ActorKind.SESSION, user_id=user.id)


async def lapse(at: Meeting) -> int | None:
    """Let a request lapse in this very moment, and the worker come by; or its invitee withdraws it."""
    booking = random.choice(at.requests)
    if random.random() < 0.3:
        return await at.send("POST", f"/api/public/manage/{manage_token(at.runtime, booking.id)}/cancel")
    pool = at.runtime.pool
    await pool.execute("update booking_requests set lapses_at = now() where booking_id = $1", booking.id)
    await requests.plan_lapses(at.runtime.work(SYSTEM))
    statement = "select id, round from effects where reaction = $1 and key = $2 and state = 'queued'"
    for row in await pool.fetch(statement, requests.LAPSE, str(booking.id)):
        await run_attempt(at.runtime, EffectAttempt(row["id"], row["round"]))
    return None


async def leave(at: Meeting) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, at.team.organization, at.team.hosts[random.choice([0, 2])])


async def disable(at: Meeting) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, at.team.hosts[random.choice([0, 1])])


async def take_over(at: Meeting) -> None:
    """Give an event type another owner, and what is booked or asked for of it."""
    event_type, owner = random.choice([at.team.event_type, at.seated, at.asked]), random.choice(at.team.hosts)
    async with at.runtime.transaction(OPERATOR) as work:
        team = await teams.get_team(work, at.team.organization.id, at.team.id)
        await team_leavers.take_over(work, team, event_type, owner)


async def depart(at: Meeting) -> None:
    """Suspend a host as an identity provider does."""
    async with at.runtime.transaction(OPERATOR) as work:
        member = await members.get_member_by_user(work, at.team.organization, at.team.hosts[random.choice([0, 2])])
        member = await members.get_member_for_change(work, at.team.organization.id, member.id)
        await departures.suspend(work, at.team.organization, member, is_leaving=True)


async def delete(at: Meeting) -> None:
    """Delete the account of a host who has left, and cancel what is left of it as the worker does."""
    host = at.team.hosts[random.choice([1, 2])]
    async with at.runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, at.team.organization, host)
    async with at.runtime.transaction(OPERATOR) as work:
        await deletions.delete_account(work, host)
    for each in await people_store.list_under_way(at.runtime.pool, limit=100):
        if each.user_id == host.id:
            await deletions.advance(at.runtime, each)


WRITERS: tuple[Writer, ...] = (
    *(book_one, book_both, book_own, book_held, hold_one, hold_both, drop, expire),
    *(cancel, reschedule, reassign, leave, disable),
    *(book_series, cancel_series, move_one),
    *(sit_down, hold_seat, give_seat_up, leave_session, change_session, hand_session_over),
    *(ask, confirm, decline, lapse),
    *(take_over, depart, delete),
)
