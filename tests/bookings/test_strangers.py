"""Mail to people who have never booked, confirmed or answered costs an allowance of whoever causes it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.allowances.errors import AllowanceUsed
from openslot.allowances.operations import CLIENT_ADDRESS
from openslot.availability.models import BySlug
from openslot.bookings import operations as bookings
from openslot.bookings import series
from openslot.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.bookings.series_models import OnConflict, Recurrence
from openslot.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.core.work import Runtime, Work
from openslot.event_types.models import EventType

NINE = datetime(2026, 3, 16, 9, 0, tzinfo=UTC)
GUESTS = tuple(f"guest{n}@victims.example" for n in range(10))
Ask = Callable[..., Awaitable[Booking]]


@pytest.fixture
async def newcomer(runtime: Runtime, user: User, meeting: EventType) -> Actor:
    """The host, as an account that was opened with the form to sign up."""
    runtime.settings = replace(runtime.settings, allowance_mail=5)
    await runtime.pool.execute("update users set plan = 'FREE', signed_up = true where id = $1", user.id)
    return Actor(kind=ActorKind.SESSION, user_id=user.id)


@pytest.fixture
async def from_afar() -> AsyncIterator[None]:
    """Requests from an address on the internet."""
    token = CLIENT_ADDRESS.set("93.184.216.34")
    yield
    CLIENT_ADDRESS.reset(token)


@pytest.fixture
def ask(runtime: Runtime, user: User) -> Ask:
    """Book on somebody's behalf, half an hour after the last booking."""
    made = 0

    async def book(actor: Actor, email: str = "jonas@okafor.example", guests: tuple[str, ...] = ()) -> Booking:
        nonlocal made
        made += 1
        async with runtime.transaction(actor) as work:
            return await bookings.create_booking(work, wanted(user, email, guests, NINE + made * timedelta(minutes=30)))

    return book


def wanted(user: User, email: str, guests: tuple[str, ...], starts_at: datetime = NINE) -> BookingWanted:
    invitee = Invitee(name="Jonas", email=email, zone="UTC")
    return BookingWanted(which=BySlug(user.id, "meeting"), starts_at=starts_at, invitee=invitee, guests=guests)


async def is_refused(asked: Awaitable[Any]) -> bool:
    try:
        await asked
    except AllowanceUsed:
        return True
    return False


async def spent(runtime: Runtime) -> int:
    found: int = await runtime.pool.fetchval("select coalesce(sum(s), 0)::int from allowances, unnest(spent) s")
    return found


async def test_a_new_account_books_for_few_strangers_and_a_refusal_leaves_nothing(
    runtime: Runtime, newcomer: Actor, ask: Ask
) -> None:
    await ask(newcomer, guests=GUESTS[:3])

    assert await is_refused(ask(newcomer, "ana@silva.example", GUESTS[:1]))
    assert not await is_refused(ask(newcomer, "ana@silva.example"))
    assert await runtime.pool.fetchval("select count(*) from bookings") == 2
    assert await spent(runtime) == 5


async def test_people_who_have_booked_cost_nothing(runtime: Runtime, newcomer: Actor, ask: Ask) -> None:
    await ask(PUBLIC, "jonas@okafor.example")
    for _ in range(6):
        await ask(newcomer, "Jonas@Okafor.example", ("mara@lindqvist.example",))

    assert await spent(runtime) == 0


async def test_people_who_have_only_been_booked_for_stay_strangers(runtime: Runtime, newcomer: Actor, ask: Ask) -> None:
    for _ in range(5):
        await ask(newcomer)

    assert await is_refused(ask(newcomer))
    async with runtime.transaction(PUBLIC) as work:
        made = await runtime.pool.fetchval("select id from bookings order by created_at limit 1")
        await bookings.cancel_booking(work, BookingRef(made, None))
    assert not await is_refused(ask(newcomer))


async def test_one_mailbox_is_one_stranger(runtime: Runtime, newcomer: Actor, ask: Ask) -> None:
    await ask(newcomer, "jonas+a@okafor.example", ("Jonas+b@okafor.example", "jonas+c@okafor.example"))

    assert await spent(runtime) == 1


async def move(runtime: Runtime, actor: Actor, booking_id: UUID, minutes: int) -> None:
    async def reschedule(work: Work) -> None:
        await bookings.reschedule_booking(work, BookingRef(booking_id, None), NINE + timedelta(minutes=minutes))

    await runtime.run(actor, reschedule)


async def test_rescheduling_costs_as_much_again_and_cancelling_nothing(
    runtime: Runtime, newcomer: Actor, ask: Ask
) -> None:
    made = await ask(newcomer, guests=GUESTS[:1])
    await move(runtime, newcomer, made.id, 120)

    assert await spent(runtime) == 4
    assert await is_refused(move(runtime, newcomer, made.id, 180))
    async with runtime.transaction(newcomer) as work:
        await bookings.cancel_booking(work, BookingRef(made.id, None))
    assert await spent(runtime) == 4


async def test_a_series_is_told_by_one_mail_each(runtime: Runtime, user: User, newcomer: Actor) -> None:
    await runtime.pool.execute("update event_types set recurring_weeks = 4 where slug = 'meeting'")
    async with runtime.transaction(newcomer) as work:
        await series.create_series(
            work, wanted(user, "jonas@okafor.example", GUESTS[:2]), Recurrence(weeks=4, on_conflict=OnConflict.REFUSE)
        )

    assert await spent(runtime) == 3


async def test_an_agent_spends_what_the_host_may(runtime: Runtime, newcomer: Actor, ask: Ask) -> None:
    agent = Actor(kind=ActorKind.AGENT, agent="support")
    await ask(agent, guests=GUESTS[:4])

    assert await is_refused(ask(newcomer, "ana@silva.example"))


async def test_operators_and_trusted_accounts_are_not_held_up(
    runtime: Runtime, user: User, newcomer: Actor, ask: Ask
) -> None:
    await ask(OPERATOR, guests=GUESTS)
    await runtime.pool.execute("update users set signed_up = false where id = $1", user.id)
    await ask(newcomer, "ana@silva.example", GUESTS)

    assert await spent(runtime) == 11


@pytest.mark.usefixtures("from_afar", "newcomer")
async def test_a_stranger_adds_as_many_guests_as_a_network_may_and_books_without_them_all_the_same(
    runtime: Runtime, ask: Ask
) -> None:
    runtime.settings = replace(runtime.settings, allowance_mail=1)
    await ask(PUBLIC, guests=GUESTS)
    refused = await is_refused(ask(PUBLIC, "ana@silva.example", GUESTS[:1]))
    await ask(PUBLIC, "ana@silva.example")

    assert refused
    CLIENT_ADDRESS.set("93.184.217.34")
    assert not await is_refused(ask(PUBLIC, "li@chen.example", GUESTS[:1]))
