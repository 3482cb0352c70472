"""One share of a host's day for all that is taken and not confirmed: holds, unpaid bookings, requests, offers."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.allowances.models import CauseKind, Cost
from openslot.domains.allowances.operations import CLIENT_ADDRESS, list_refusals
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.errors import DayHoldLimitExceeded
from openslot.domains.availability.models import ById, Hold
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.payments import operations
from openslot.domains.payments.models import PaymentConnection
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import PRICE, body_of
from tests.doors.web.event_types.conftest import offer as offer_type
from tests.support.clocks import MONDAY, MovingClock
from tests.support.teams import book_team, hold_team, open_team

NINE = MONDAY.replace(hour=9) + timedelta(days=1)
DAYS = (0, 1, 2, 3, 6, 7)
"""Tuesday to Friday, Monday and Tuesday: 96 starts."""
STARTS = 16
numbers = count()


def start(number: int, day: int = 0) -> datetime:
    return NINE + timedelta(days=day, minutes=30 * number)


@contextmanager
def coming_from(address: str | None) -> Iterator[None]:
    token = CLIENT_ADDRESS.set(address)
    try:
        yield
    finally:
        CLIENT_ADDRESS.reset(token)


async def book(runtime: Runtime, event_type: EventType, at: datetime, hold: Hold | None = None) -> str:
    """Book a time, and return how it stands or why not."""
    wanted = BookingWanted(
        which=ById(event_type.id),
        starts_at=at,
        # Everybody has another domain: it is the networks and the share that count here.
        invitee=Invitee(name="Li", email=f"li@wei{next(numbers)}.example", zone="UTC"),
        hold_id=hold.id if hold else None,
    )
    try:
        return str((await runtime.run(PUBLIC, lambda work: operations.book_with_payment(work, wanted))).status)
    except Refusal as refusal:
        return refusal.code


async def hold(runtime: Runtime, event_type: EventType, at: datetime) -> Hold:
    async with runtime.transaction(PUBLIC) as work:
        return await claims.hold_slot(work, ById(event_type.id), at, holder=str(new_id()))


async def list_free(runtime: Runtime, event_type: EventType, day: int) -> list[int]:
    on = (NINE + timedelta(days=day)).date()
    _, slots, _ = await list_open_slots(runtime.work(PUBLIC), ById(event_type.id), timezone="UTC", first=on, last=on)
    return list(slots.starts)


@pytest.fixture
async def user(runtime: Runtime, user: User) -> User:
    """A host whose days are those of UTC."""
    await runtime.pool.execute("update schedules set zone = 'UTC'")
    return user


@pytest.fixture
async def paid(runtime: Runtime, user: User, connection: PaymentConnection) -> EventType:
    """The only thing that the host offers: 16 starts a day, and each costs something."""
    await runtime.pool.execute("update event_types set active = false")
    return await offer_type(runtime, user, "paid", price=Money(PRICE, "EUR"))


@pytest.mark.rest("fills the database with much")
async def test_strangers_who_do_not_pay_leave_free_times_that_others_can_book(
    runtime: Runtime, user: User, paid: EventType
) -> None:
    answers = Counter[str]()
    for round_ in range(3):
        for day in DAYS:
            for number in range(STARTS):
                with coming_from(f"93.184.{(number + day + round_) % 13}.34"):
                    answers[await book(runtime, paid, start(number, day))] += 1

    left = {day: len(await list_free(runtime, paid, day)) for day in DAYS}
    assert set(answers) == {"PENDING_PAYMENT", "day_hold_limit_exceeded", "slot_unavailable"}
    # A quarter of each day, and one more time for each of the 13 who come from somewhere else.
    assert answers["PENDING_PAYMENT"] == 6 * 4 + 13
    assert all(each >= STARTS // 2 for each in left.values())
    with coming_from("198.41.0.4"):
        free = [number for number in range(STARTS) if start(number, 7).timestamp() in await list_free(runtime, paid, 7)]
        assert await book(runtime, paid, start(free[0], 7)) == "PENDING_PAYMENT"
        assert await book(runtime, paid, start(free[1], 7)) == "day_hold_limit_exceeded"

    async with asyncio.timeout(10):
        while not (told := await list_refusals(runtime.work(OPERATOR), user.id)):
            await asyncio.sleep(0.01)
    assert [(each.cost, each.cause, each.most) for each in told] == [(Cost.TIME, CauseKind.DAY, 25)]


async def test_one_network_takes_only_so_many_times_of_a_host(runtime: Runtime, paid: EventType) -> None:
    runtime.settings = replace(runtime.settings, hold_share=100, allowance_time=3)
    with coming_from("93.184.216.34"):
        held = await hold(runtime, paid, start(0))
        # A time that was held before is counted once.
        assert await book(runtime, paid, start(0), held) == "PENDING_PAYMENT"
        answers = [await book(runtime, paid, start(number)) for number in (1, 2, 3)]
    assert answers == ["PENDING_PAYMENT", "PENDING_PAYMENT", "allowance_used"]
    with coming_from("93.184.216.99"):
        assert await book(runtime, paid, start(4)) == "allowance_used"
    with coming_from("93.184.217.34"):
        assert await book(runtime, paid, start(4)) == "PENDING_PAYMENT"


async def test_looking_at_times_keeps_nobody_of_an_office_from_booking(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType
) -> None:
    """Each time that is picked on the booking page is held, and given up for the next."""
    runtime.settings = replace(runtime.settings, hold_share=100, allowance_time=3)
    answers = []
    with coming_from("93.184.216.34"):
        for number in range(5):
            try:
                held = await hold(runtime, paid, start(number))
            except Refusal as refusal:
                answers.append(refusal.code)
                continue
            answers.append("held")
            async with runtime.transaction(PUBLIC) as work:
                await claims.drop_slot_hold(work, held.id)
        assert answers == ["held"] * 3 + ["allowance_used"] * 2
        booked = [await book(runtime, paid, start(number)) for number in range(4)]
    assert booked == ["PENDING_PAYMENT"] * 3 + ["allowance_used"]


async def test_a_mail_domain_takes_only_so_many_times_of_a_host(runtime: Runtime, paid: EventType) -> None:
    runtime.settings = replace(runtime.settings, hold_share=100, allowance_time=1)
    answers = []
    for number in range(3):
        email = f"n{number}@crowd.example"
        wanted = BookingWanted(
            which=ById(paid.id), starts_at=start(number), invitee=Invitee(name="Li", email=email, zone="UTC")
        )
        try:
            made = await runtime.run(PUBLIC, lambda work, wanted=wanted: operations.book_with_payment(work, wanted))  # type: ignore[misc]
            answers.append(str(made.status))
        except Refusal as refusal:
            answers.append(refusal.code)
    assert answers == ["PENDING_PAYMENT", "PENDING_PAYMENT", "allowance_used"]


Taker = Callable[[Runtime, User, datetime], Awaitable[str]]


async def take_hold(runtime: Runtime, user: User, at: datetime) -> str:
    try:
        await hold(runtime, await get(runtime, user, "plain"), at)
    except Refusal as refusal:
        return refusal.code
    return "taken"


async def take_unpaid(runtime: Runtime, user: User, at: datetime) -> str:
    answer = await book(runtime, await get(runtime, user, "paid"), at)
    return "taken" if answer == "PENDING_PAYMENT" else answer


async def take_request(runtime: Runtime, user: User, at: datetime) -> str:
    answer = await book(runtime, await get(runtime, user, "asked", requires_confirmation=True), at)
    return "taken" if answer == "PENDING_CONFIRMATION" else answer


async def take_seat(runtime: Runtime, user: User, at: datetime) -> str:
    """Ask for the only seats of a group session, of which the last one closes the time."""
    group = await get(runtime, user, "group", requires_confirmation=True, seats=2)
    answers = [await book(runtime, group, at) for _ in range(2)]
    return "taken" if answers == ["PENDING_CONFIRMATION"] * 2 else answers[-1]


async def take_offer(runtime: Runtime, user: User, at: datetime) -> str:
    """Keep a time for somebody on the wait list."""
    which = ById((await get(runtime, user, "plain")).id)
    async with runtime.transaction(PUBLIC) as work:
        await claims.lock_time(work, which)
        await claims.offer_slot(work, which, at, expires_at=work.now + timedelta(hours=2))
        await work.apply()
    return "taken"


async def get(runtime: Runtime, user: User, slug: str, **changes: Any) -> EventType:
    found = await runtime.pool.fetchval("select id from event_types where slug = $1 and owner_id = $2", slug, user.id)
    if found is None:
        return await offer_type(runtime, user, slug, **changes)
    return await event_types.get_any_event_type(runtime.work(OPERATOR), found)


@pytest.mark.parametrize("other", [take_hold, take_unpaid, take_request, take_seat])
@pytest.mark.parametrize("one", [take_hold, take_unpaid, take_request, take_seat, take_offer])
async def test_whatever_is_not_confirmed_counts_in_one_share(
    runtime: Runtime, user: User, paid: EventType, one: Taker, other: Taker
) -> None:
    assert [await one(runtime, user, start(number)) for number in range(4)] == ["taken"] * 4
    assert await other(runtime, user, start(5)) == DayHoldLimitExceeded.code
    assert await other(runtime, user, start(5, day=1)) == "taken"


async def test_what_is_confirmed_or_freed_counts_no_more(
    runtime: Runtime, user: User, paid: EventType, clock: MovingClock
) -> None:
    asked = await get(runtime, user, "asked", requires_confirmation=True)
    assert [await book(runtime, asked, start(number)) for number in range(4)] == ["PENDING_CONFIRMATION"] * 4
    assert await book(runtime, paid, start(4)) == DayHoldLimitExceeded.code
    (booking_id,) = [
        row["id"] for row in await runtime.pool.fetch("select id from bookings order by starts_at limit 1")
    ]
    async with runtime.transaction(OPERATOR) as work:
        await requests.confirm_booking_request(work, BookingRef(booking_id, user.id))
    # 15 are left without what waits, of which 3 are closed: one more would be 4 of 15.
    assert await book(runtime, paid, start(4)) == DayHoldLimitExceeded.code
    (booking_id,) = [
        row["id"] for row in await runtime.pool.fetch("select id from bookings order by starts_at offset 1 limit 1")
    ]
    async with runtime.transaction(OPERATOR) as work:
        await requests.decline_booking_request(work, BookingRef(booking_id, user.id))
    assert await book(runtime, paid, start(4)) == "PENDING_PAYMENT"


async def test_a_refused_booking_says_when_to_try_again(
    runtime: Runtime, user: User, paid: EventType, clock: MovingClock
) -> None:
    for number in range(4):
        assert await book(runtime, paid, start(number)) == "PENDING_PAYMENT"
    clock.pass_time(minutes=10)
    wanted = BookingWanted(
        which=ById(paid.id), starts_at=start(5), invitee=Invitee(name="Li", email="li@wei.example", zone="UTC")
    )
    with pytest.raises(DayHoldLimitExceeded) as refused:
        await runtime.run(PUBLIC, lambda work: operations.book_with_payment(work, wanted))
    held_until = await runtime.pool.fetchval("select min(held_until) from payments")
    assert refused.value.retry_after == int((held_until - runtime.clock()).total_seconds())


async def test_bookings_that_are_confirmed_at_once_have_no_share(runtime: Runtime, user: User, paid: EventType) -> None:
    plain = await get(runtime, user, "plain")
    assert [await book(runtime, plain, start(number)) for number in range(STARTS)] == ["CONFIRMED"] * STARTS


async def test_requests_and_holds_of_a_team_have_one_share_too(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 2, requires_confirmation=True)
    await runtime.pool.execute("update event_types set active = false where team_id is null")
    answers = []
    for number in range(12):
        at, take = start(number), (book_team, hold_team)[number % 2]
        try:
            await take(runtime, team.event_type, at)
        except DayHoldLimitExceeded:
            answers.append("refused")
        else:
            answers.append("taken")
    # A time is closed when both hosts are taken: each time is taken once, so that all are still open.
    assert answers == ["taken"] * 12
    closed = []
    for number in range(12):
        try:
            await book_team(runtime, team.event_type, start(number))
        except DayHoldLimitExceeded:
            closed.append(number)
    assert len(closed) == 8


async def test_requests_of_a_team_do_not_close_the_own_calendar_of_a_host(runtime: Runtime, clock: MovingClock) -> None:
    """Of a team's times most are open with its other hosts, but each host has a calendar of their own too."""
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1, 2])], requires_confirmation=True)
    first = team.hosts[0]
    await runtime.pool.execute(
        "update event_types set active = false where team_id is null and owner_id <> $1", first.id
    )
    alone = await offer_type(runtime, first, "alone", requires_confirmation=True)
    assert [await book(runtime, alone, start(number)) for number in range(3)] == ["PENDING_CONFIRMATION"] * 3
    await book_team(runtime, team.event_type, start(3))
    with pytest.raises(DayHoldLimitExceeded):
        await book_team(runtime, team.event_type, start(4))
    assert await book(runtime, alone, start(5)) == DayHoldLimitExceeded.code


async def test_the_api_the_page_and_the_host_are_told(
    client: httpx2.AsyncClient, member: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType
) -> None:
    asked = await get(runtime, user, "asked", requires_confirmation=True)
    for number in range(4):
        assert await book(runtime, asked, start(number)) == "PENDING_CONFIRMATION"

    answer = await client.post("/api/bookings", json=body_of(asked, iso(start(5))))
    assert (answer.status_code, answer.headers["x-error-code"]) == (429, "day_hold_limit_exceeded")
    assert int(answer.headers["retry-after"]) > 0
    sent = {"name": "Jonas", "email": "jonas@okafor.example", "tz": "UTC", "start": iso(start(5))}
    page = (await client.post(f"/{user.username}/asked", data=sent)).text
    assert "Too many times on this day are taken and not confirmed yet" in page

    async with asyncio.timeout(10):
        while not await list_refusals(runtime.work(OPERATOR), user.id):
            await asyncio.sleep(0.01)
    home = (await member.get("/")).text
    assert "Used up: times taken without confirmation" in home
    assert "At most 25% of each day can be taken without confirmation." in home
