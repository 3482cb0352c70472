"""Every pair of those who change a host's time, at the same moment and on the same time: no booking loses its own."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations_with_replacement, count, product
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts import organizations
from openslot.accounts.members import add_member
from openslot.accounts.models import Organization, User, UserWanted
from openslot.accounts.plans import Plan
from openslot.availability import claims
from openslot.availability.claims import expire_holds
from openslot.availability.models import ById, Hold
from openslot.bookings import operations as bookings
from openslot.bookings import requests
from openslot.bookings.links import manage_token
from openslot.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.core.actor import OPERATOR, PUBLIC, SYSTEM, EffectAttempt
from openslot.core.config import Settings
from openslot.core.errors import Refusal
from openslot.core.ids import new_id
from openslot.core.times import iso
from openslot.core.work import Runtime, Work
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType
from openslot.http.errors import status_of
from openslot.people import operations as people
from openslot.schedules import operations as schedules
from openslot.schedules.models import Schedule
from tests.support.clocks import real_clock as clock
from tests.support.effects import run_attempt
from tests.support.live import connect
from tests.support.races import WebPair, find_disorder

__all__ = ["clock"]

ROUNDS = 40 if os.environ.get("OPENSLOT_LONG") else 3
INVITEE = Invitee(name="Li Wei", email="li@wei.example", zone="UTC")
numbers = count()


class Round(Struct, kw_only=True):
    """One host, what can be booked there, and what the two who meet want to change."""

    runtime: Runtime
    clients: list[httpx2.AsyncClient]
    host: User
    offer: EventType
    start: datetime
    other_start: datetime
    organization: Organization | None = None
    held: Hold | None = None
    booked: Booking | None = None
    requested: tuple[EventType, Booking] | None = None

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

    async def send(self, method: str, path: str, json: object = None, data: dict[str, str] | None = None) -> int:
        """Send a request to one of the web processes, from an address of its own."""
        number = next(numbers)
        headers = {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
        client = self.clients[number % len(self.clients)]
        answer = await client.request(method, path, json=json, data=data, headers=headers)
        return answer.status_code

    def any_length(self) -> dict[str, object]:
        """Choose one of the durations, if there are several."""
        return {"durationMinutes": random.choice(self.offer.durations)} if self.offer.durations else {}

    def wish(self, start: datetime) -> dict[str, object]:
        """Write what a booking page sends."""
        return {
            **self.any_length(),
            "eventTypeId": str(self.offer.id),
            "startTime": iso(start),
            "inviteeName": "Jonas Okafor",
            "inviteeEmail": f"{new_id()}@race.example",
            "inviteeTimezone": "UTC",
        }

    def any_start(self) -> datetime:
        """Choose the time that is wanted or, where there is a booking, the time that it has."""
        return random.choice([self.start, self.other_start]) if self.booked else self.start


async def book(at: Round) -> int:
    return await at.send("POST", "/api/bookings", at.wish(at.any_start()))


async def book_with_hold(at: Round) -> int:
    return await at.send("POST", "/api/bookings", {**at.wish(at.start), "holdId": str(at.hold.id)})


async def book_by_form(at: Round) -> int:
    """Send the form of the booking page, which has a hold of its own."""
    wish = {"name": "Jonas Okafor", "email": f"{new_id()}@race.example", "tz": "UTC", "hold": str(at.hold.id)}
    length = str(at.any_length().get("durationMinutes", ""))
    return await at.send("POST", f"/{at.host.username}/race", data={**wish, "start": iso(at.start), "duration": length})


async def hold(at: Round) -> int:
    wish = {"eventTypeId": str(at.offer.id), "startTime": iso(at.any_start()), **at.any_length()}
    return await at.send("POST", "/api/public/holds", wish)


async def drop(at: Round) -> int:
    return await at.send("DELETE", f"/api/public/holds/{at.hold.id}")


async def expire(at: Round) -> int:
    """Let the hold expire in this very moment, and the minute's job come by."""
    await at.runtime.pool.execute(
        """with seat as (update claim_seats set expires_at = now() where id = $1 and holder is not null)
        update claims set expires_at = now() where id = $1 and kind = 'hold'""",
        at.hold.id,
    )
    await expire_holds(at.runtime.work(SYSTEM))
    return 200


async def reschedule(at: Round) -> int:
    token = manage_token(at.runtime, at.booking.id)
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(at.start)})


async def reschedule_by_form(at: Round) -> int:
    path = f"/manage/{manage_token(at.runtime, at.booking.id)}/reschedule"
    return await at.send("POST", path, data={"start": iso(at.start)})


async def cancel(at: Round) -> int:
    return await at.send("POST", f"/api/public/manage/{manage_token(at.runtime, at.booking.id)}/cancel")


async def edit(at: Round) -> int:
    """Make meetings longer or shorter, of a group larger, smaller or none, and of several durations perhaps one."""
    durations = random.choice([at.offer.durations, ()])
    seats = 1 if at.offer.seats == 1 else random.choice([1, 2, 5])
    changed = replace(at.offer, duration_minutes=random.choice([15, 30, 60]), buffer_after=15, seats=seats)
    changed = replace(changed, durations=durations)
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, changed)
    return 200


async def delete(at: Round) -> int:
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, at.offer)
    return 200


async def leave(at: Round) -> int:
    assert at.organization is not None
    async with at.runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, at.organization, at.host)
    return 200


async def disable(at: Round) -> int:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, at.host)
    return 200


async def ask_for_it(at: Round) -> int:
    """Ask for the time that is wanted, or for the one that is asked for already."""
    return await at.send("POST", "/api/bookings", {**at.wish(at.other_start), "eventTypeId": str(at.asked_offer.id)})


async def confirm(at: Round) -> int:
    async with at.runtime.transaction(OPERATOR) as work:
        await requests.confirm(work, BookingRef(at.asked.id, at.host.id))
    return 200


async def decline(at: Round) -> int:
    async with at.runtime.transaction(OPERATOR) as work:
        await requests.decline(work, BookingRef(at.asked.id, at.host.id))
    return 200


async def withdraw(at: Round) -> int:
    return await at.send("POST", f"/manage/{manage_token(at.runtime, at.asked.id)}/withdraw")


async def lapse(at: Round) -> int:
    """Let the request lapse in this very moment, and the worker come by."""
    await at.runtime.pool.execute("update booking_requests set lapses_at = now() where booking_id = $1", at.asked.id)
    await requests.plan_lapses(at.runtime.work(SYSTEM))
    due = await at.runtime.pool.fetch(
        "select id, round from effects where reaction = $1 and key = $2 and state = 'queued'",
        requests.LAPSE,
        str(at.asked.id),
    )
    for row in due:
        await run_attempt(at.runtime, EffectAttempt(row["id"], row["round"]))
    return 200


async def switch_off(at: Round) -> int:
    """Let the event type be booked at once, while somebody has asked."""
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(at.asked_offer, requires_confirmation=False))
    return 200


async def delete_asked(at: Round) -> int:
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, at.asked_offer)
    return 200


Writer = Callable[[Round], Awaitable[int]]
WRITERS: tuple[Writer, ...] = (
    book,
    book_with_hold,
    book_by_form,
    hold,
    drop,
    expire,
    reschedule,
    reschedule_by_form,
    cancel,
    edit,
    delete,
    leave,
    disable,
)
KINDS: dict[str, dict[str, Any]] = {"single": {}, "group": {"seats": 2}, "durations": {"durations": (15, 30, 60)}}
OF_REQUESTS: tuple[Writer, ...] = (ask_for_it, confirm, decline, withdraw, lapse, switch_off, delete_asked)
NEED_A_HOLD = {book_with_hold, book_by_form, drop, expire}
NEED_A_BOOKING = {reschedule, reschedule_by_form, cancel}


@pytest.fixture
def settings(web_pair: WebPair) -> Settings:
    """Settings of the two web processes."""
    return web_pair.settings


@pytest.fixture
async def clients(web_pair: WebPair) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """One client for each of two web processes."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connect(url, timeout=60)) for url in web_pair.urls]


async def add_organization(work: Work, host: User) -> Organization:
    """Add an organization that the host is a member of."""
    organization = await organizations.add_organization(work, name="Harbor", slug=str(new_id()), plan=Plan.BUSINESS)
    await add_member(work, organization, host)
    return organization


async def prepare(runtime: Runtime, clients: list[httpx2.AsyncClient], pair: set[Writer], **kind: Any) -> Round:
    """Open an account of its own for each round, with the hold and the booking that the two need."""
    tomorrow = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0) + timedelta(days=1)
    start = tomorrow + timedelta(days=max(0, 7 - tomorrow.weekday()) if tomorrow.weekday() > 4 else 0)
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email=f"{new_id()}@host.example", name="Host", username=f"h{new_id().hex[-20:]}")
        host = await people.welcome(work, wanted)
        organization = await add_organization(work, host) if leave in pair else None
        schedule, *_ = await schedules.list_schedules(work, host)
        draft = event_types.draft(work, schedule, name="Race", slug="race", duration_minutes=30)
        offer = await event_types.add_event_type(work, schedule, replace(draft, **kind))
    at = Round(
        runtime=runtime,
        clients=clients,
        host=host,
        organization=organization,
        offer=offer,
        start=start,
        other_start=start + timedelta(hours=2),
    )
    if pair & NEED_A_HOLD:
        async with runtime.transaction(PUBLIC) as work:
            at.held = await claims.hold(work, ById(offer.id), at.start, holder=str(new_id()))
    if pair & NEED_A_BOOKING:
        async with runtime.transaction(PUBLIC) as work:
            wish = BookingWanted(which=ById(offer.id), starts_at=at.other_start, invitee=INVITEE)
            at.booked = await bookings.create_booking(work, wish)
    if pair & set(OF_REQUESTS):
        at.requested = await ask(at, schedule, kind)
    return at


async def ask(at: Round, schedule: Schedule, kind: dict[str, Any]) -> tuple[EventType, Booking]:
    """Ask for a time of an event type that the host confirms, beside a booking that others move."""
    async with at.runtime.transaction(OPERATOR) as work:
        draft = event_types.draft(work, schedule, name="Asked", slug="asked", duration_minutes=30)
        wanted = replace(draft, **kind, requires_confirmation=True)
        offer = await event_types.add_event_type(work, schedule, wanted)
    async with at.runtime.transaction(PUBLIC) as work:
        start = at.other_start if at.booked is None else at.other_start + timedelta(hours=1)
        wish = BookingWanted(which=ById(offer.id), starts_at=start, invitee=INVITEE)
        return offer, await bookings.create_booking(work, wish)


async def meet(at: Round, one: Writer, other: Writer) -> tuple[int, int]:
    """Let two writers come at the same moment; a refusal is an answer too."""

    async def come(writer: Writer) -> int:
        await asyncio.sleep(random.random() * 0.006)
        try:
            return await writer(at)
        except Refusal as refusal:
            return status_of(refusal)

    return await asyncio.gather(come(one), come(other))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_no_pair_of_writers_costs_a_booking_its_time(
    runtime: Runtime, clients: list[httpx2.AsyncClient], kind: dict[str, Any], postgres_log: Path
) -> None:
    await meet_all(runtime, clients, list(combinations_with_replacement(WRITERS, 2)), kind)
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_no_pair_of_answers_to_a_request_leaves_its_time_to_nobody_or_to_two(
    runtime: Runtime, clients: list[httpx2.AsyncClient], seats: int, postgres_log: Path
) -> None:
    beside = (book, hold, edit, leave, disable)
    pairs = [*combinations_with_replacement(OF_REQUESTS, 2), *product(OF_REQUESTS, beside)]
    await meet_all(runtime, clients, pairs, {"seats": seats})
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


@pytest.mark.parametrize("other", [confirm, decline, withdraw, lapse], ids=lambda each: each.__name__)
async def test_of_two_answers_one_counts(runtime: Runtime, clients: list[httpx2.AsyncClient], other: Writer) -> None:
    for _ in range(ROUNDS * 4):
        at = await prepare(runtime, clients, {confirm, other}, seats=1)
        await meet(at, confirm, other)

        types = await runtime.pool.fetch("select type from events where subject_id = $1 order by no", at.asked.id)
        assert len(types) == 2, types
        assert types[0]["type"] == "booking.requested"
        told = types[1]["type"] == "booking.created"
        status = await runtime.pool.fetchval("select status from bookings where id = $1", at.asked.id)
        assert (status == "CONFIRMED") is told
    assert await find_disorder(runtime.pool) == {}


async def meet_all(
    runtime: Runtime, clients: list[httpx2.AsyncClient], pairs: list[tuple[Writer, Writer]], kind: dict[str, Any]
) -> None:
    """Let every pair of writers meet, and check all that must hold afterwards."""
    for one, other in pairs:
        rounds = [await prepare(runtime, clients, {one, other}, **kind) for _ in range(ROUNDS)]
        statuses = [await meet(at, one, other) for at in rounds]

        names = f"{one.__name__} and {other.__name__} answered {statuses}"
        assert set(chain.from_iterable(statuses)) <= {200, 303, 400, 404, 409}, names
        assert await find_disorder(runtime.pool) == {}, names


@pytest.mark.parametrize("send", [book_with_hold, book_by_form], ids=["api", "form"])
@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_a_form_that_is_sent_while_its_tab_closes_keeps_its_slot(
    runtime: Runtime, clients: list[httpx2.AsyncClient], seats: int, send: Writer
) -> None:
    for _ in range(ROUNDS * 8):
        at = await prepare(runtime, clients, {send, drop}, seats=seats)
        booked, dropped = await meet(at, send, drop)

        assert booked in {200, 303}
        assert dropped in {200, 404}
        if seats == 1:
            assert await at.send("POST", "/api/bookings", at.wish(at.start)) == 409
    assert await find_disorder(runtime.pool) == {}
