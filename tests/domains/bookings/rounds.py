"""One host's week in which two writers meet: what is booked, held, asked for and offered there, and what must hold."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from itertools import count
from typing import Any
from uuid import UUID

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, User, UserWanted
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.models import ById, Hold
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.bookings.series import operations as series
from openslot.domains.bookings.series.models import Recurrence
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType, HostLink, Limits, RollingWindow
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.doors.http.errors import status_of
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.support.races import find_disorder, find_over_limit
from tests.support.wait_list import MINUTES, ask_to_wait, book_day, cancel_day, find_wait_list_faults, wait_for

DAY, WEEK = timedelta(days=1), timedelta(weeks=1)
WEEKS = 5
# A series that was to be booked whole and has another number of weeks.
PARTS = """
select count(*) from (
    select from bookings where series_id is not null and notes = 'all'
    group by series_id having count(*) <> $1) parts"""
numbers = count()


class Need(Enum):
    """What a writer must find."""

    HOLD = auto()
    BOOKING = auto()
    REQUEST = auto()
    SERIES = auto()
    """A series that is booked already."""
    WEEKS = auto()
    """Room for a series, in links and limits."""
    LINK = auto()
    OFFER = auto()
    TEAM = auto()


class Round(Struct, kw_only=True):
    """Monday is wanted by everybody; Tuesday is booked, Wednesday asked for, and Thursdays are those of a series."""

    runtime: Runtime
    clients: list[httpx2.AsyncClient]
    host: User
    offer: EventType
    start: datetime
    is_limited: bool = False
    """All who book have one address, which can book once, or one series."""
    organization: Organization | None = None
    held: Hold | None = None
    booked: Booking | None = None
    requested: tuple[EventType, Booking] | None = None
    weekly: tuple[Booking, ...] = ()
    link: HostLink | None = None
    asked_link: HostLink | None = None
    waiting: tuple[UUID, ...] = ()
    """Who is offered Monday, who is next, and who has not confirmed the address."""

    @property
    def friday(self) -> datetime:
        """A free day."""
        return self.start + 4 * DAY

    @property
    def held_start(self) -> datetime:
        return self.friday if self.waiting else self.start

    @property
    def asked_offer(self) -> EventType:
        """The event type that its host confirms."""
        assert self.requested is not None
        return self.requested[0]

    @property
    def asked(self) -> Booking:
        """What was asked for."""
        assert self.requested is not None
        return self.requested[1]

    @property
    def hold(self) -> Hold:
        """The hold that a writer of this round needs."""
        assert self.held is not None
        return self.held

    @property
    def booking(self) -> Booking:
        """The booking that a writer of this round needs."""
        assert self.booked is not None
        return self.booked

    def any_start(self) -> datetime:
        """Choose the day that is wanted or another one: where one limit counts, a free one, or else a booked one."""
        others = [self.friday] if self.is_limited else [self.booked.starts_at] if self.booked else []
        return random.choice([self.start, *others])

    def any_length(self) -> dict[str, object]:
        """Choose one of the durations, if there are several."""
        return {"durationMinutes": random.choice(self.offer.durations)} if self.offer.durations else {}

    def address(self) -> str:
        return "one@race.example" if self.is_limited else f"{new_id()}@race.example"

    def wish(self, start: datetime, **more: object) -> dict[str, object]:
        """Write what a booking page sends."""
        return {
            **self.any_length(),
            "eventTypeId": str(self.offer.id),
            "startTime": iso(start),
            "inviteeName": "Jonas Okafor",
            "inviteeEmail": self.address(),
            "inviteeTimezone": "UTC",
            **more,
        }

    async def send(self, method: str, path: str, json: object = None, data: dict[str, str] | None = None) -> int:
        """Send a request to one of the web processes, from an address of its own."""
        number = next(numbers)
        headers = {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
        client = self.clients[number % len(self.clients)]
        answer = await client.request(method, path, json=json, data=data, headers=headers)
        return answer.status_code


Writer = Callable[[Round], Awaitable[int | None]]


async def prepare(
    runtime: Runtime,
    clients: list[httpx2.AsyncClient],
    needs: Collection[Need],
    *,
    is_limited: bool = False,
    **kind: Any,
) -> Round:
    """Open an account of its own for each round, with what the writers need.

    Where a time is offered, meetings take the whole day, so that a booked day is full.
    """
    soon = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0) + 2 * DAY
    start = soon + (7 - soon.weekday()) * DAY
    kind = {"duration_minutes": 30, "booking_window": RollingWindow(120), **kind}
    if Need.OFFER in needs:
        kind |= {"duration_minutes": 480, "wait_list_minutes": MINUTES}
    if is_limited:
        kind["limits"] = Limits(per_invitee=WEEKS if Need.WEEKS in needs else 1)
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email=f"{new_id()}@host.example", name="Host", username=f"h{new_id().hex[-20:]}")
        host = await people.welcome_user(work, wanted)
    weeks = 12 if kind.get("seats", 1) == 1 else None
    offer = await add(runtime, host, "race", **kind, recurring_weeks=weeks)
    at = Round(runtime=runtime, clients=clients, host=host, offer=offer, start=start, is_limited=is_limited)
    if Need.TEAM in needs:
        await join_a_team(at)
    if Need.LINK in needs:
        at.link = await add_link(at, offer, 1 if Need.BOOKING in needs else 0, needs)
    full = [start] * offer.seats if Need.OFFER in needs else []
    seats = [await book_day(runtime, offer, each, email=f"{new_id()}@x.example") for each in full]
    if Need.BOOKING in needs:
        at.booked = await book(at, offer, start + DAY, at.link)
    if Need.REQUEST in needs:
        asked = await add(runtime, host, "asked", **kind, requires_confirmation=True)
        at.asked_link = await add_link(at, asked, 1, needs) if Need.LINK in needs else None
        at.requested = asked, await book(at, asked, start + 2 * DAY, at.asked_link)
    if Need.SERIES in needs:
        async with runtime.transaction(PUBLIC) as work:
            wish = BookingWanted(which=ById(offer.id), starts_at=start + 3 * DAY, invitee=invitee())
            at.weekly = (await series.create_series(work, wish, Recurrence(weeks=WEEKS))).bookings
    if Need.OFFER in needs:
        await let_wait(at, seats)
    if Need.HOLD in needs:
        async with runtime.transaction(PUBLIC) as work:
            at.held = await claims.hold_slot(work, ById(offer.id), at.held_start, holder=str(new_id()))
    return at


async def add(runtime: Runtime, host: User, slug: str, **kind: Any) -> EventType:
    async with runtime.transaction(OPERATOR) as work:
        schedule, *_ = await schedules.list_schedules(work, host)
        draft = event_types.draft_event_type(work, schedule, name=slug, slug=slug, duration_minutes=30)
        return await event_types.add_event_type(work, schedule, replace(draft, **kind))


async def join_a_team(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        slug = str(new_id())
        at.organization = await organizations.add_organization(work, name="Harbor", slug=slug, plan=Plan.BUSINESS)
        await add_organization_member(work, at.organization, at.host)


async def add_link(at: Round, offer: EventType, used: int, needs: Collection[Need]) -> HostLink:
    """Add a link that will have one use left, or as many as a series needs."""
    async with at.runtime.transaction(OPERATOR) as work:
        uses = used + (WEEKS if Need.WEEKS in needs else 1)
        return (await links.create_booking_link(work, at.host, offer.id, uses=uses))[1]


def invitee() -> Invitee:
    return Invitee(name="Li Wei", email=f"{new_id()}@wei.example", zone="UTC")


async def book(at: Round, offer: EventType, start: datetime, link: HostLink | None = None) -> Booking:
    async with at.runtime.transaction(PUBLIC) as work:
        which = ById(offer.id, link.token if link else None)
        return await bookings.create_booking(work, BookingWanted(which=which, starts_at=start, invitee=invitee()))


async def let_wait(at: Round, seats: list[Booking]) -> None:
    """Let people wait for Monday, which is full, and for what others have; then Monday is offered to the first."""
    person, other = at.address(), f"{new_id()}@x.example"
    first, second = await wait_for(at.runtime, at.offer, person, other, day=at.start.date())
    newcomer = await ask_to_wait(at.runtime, at.offer, f"{new_id()}@x.example", day=at.start.date())
    taken = [at.booked, at.requested[1] if at.requested else None, at.weekly[0] if at.weekly else None]
    if at.booked and at.offer.seats > 1:
        await book_day(at.runtime, at.offer, at.booked.starts_at, email=f"{new_id()}@x.example")
    for booking in filter(None, taken):
        # Whoever is offered Monday is offered nothing else meanwhile.
        email = random.choice([person, f"{new_id()}@x.example"])
        await wait_for(at.runtime, at.offer, email, day=booking.starts_at.date())
    at.waiting = (first, second, newcomer)
    await cancel_day(at.runtime, seats[0])


async def meet(at: Round, *writers: Writer) -> list[int]:
    """Let writers come at the same moment; a refusal is an answer too."""

    async def come(writer: Writer) -> int:
        await asyncio.sleep(random.random() * 0.006)
        try:
            return await writer(at) or 200
        except Refusal as refusal:
            return status_of(refusal)

    return await asyncio.gather(*map(come, writers))


async def find_faults(runtime: Runtime) -> dict[str, int]:
    """Tell every fault of bookings, offers, series and limits that is there."""
    parts = await runtime.pool.fetchval(PARTS, WEEKS)
    over = await find_over_limit(runtime.pool, now=runtime.clock())
    others = {name: number for name, number in {"parts": parts, "over the limit": over}.items() if number}
    return {**await find_disorder(runtime.pool), **await find_wait_list_faults(runtime), **others}
