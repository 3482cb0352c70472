"""Mail to people who have never booked, confirmed or answered costs an allowance of whoever causes it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.allowances.operations import CLIENT_ADDRESS
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, EmailProof, Invitee
from openslot.domains.bookings.series import operations as series
from openslot.domains.bookings.series.models import OnConflict, Recurrence
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.work import Runtime, Work
from tests.support.wait_list import book_day, offer_day, wait_for

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

    async def book(
        actor: Actor,
        email: str = "jonas@okafor.example",
        guests: tuple[str, ...] = (),
        proof: EmailProof | None = None,
    ) -> Booking:
        nonlocal made
        made += 1
        asked = wanted(user, email, guests, NINE + made * timedelta(minutes=30))
        async with runtime.transaction(actor) as work:
            return await bookings.create_booking(work, replace(asked, email_proof=proof))

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
    found: int = await runtime.pool.fetchval(
        "select coalesce(sum(s), 0)::int from allowances, unnest(spent) s where bucket like 'mail %'"
    )
    return found


async def test_a_new_account_books_for_few_strangers_and_a_refusal_leaves_nothing(
    runtime: Runtime, newcomer: Actor, ask: Ask
) -> None:
    await ask(newcomer, guests=GUESTS[:3])

    assert await is_refused(ask(newcomer, "ana@silva.example", GUESTS[:1]))
    assert not await is_refused(ask(newcomer, "ana@silva.example"))
    assert await runtime.pool.fetchval("select count(*) from bookings") == 2
    assert await spent(runtime) == 5


async def test_people_who_have_booked_cost_a_trusted_account_nothing(
    runtime: Runtime, user: User, newcomer: Actor, ask: Ask
) -> None:
    await runtime.pool.execute("update users set signed_up = false where id = $1", user.id)
    await ask(PUBLIC, "jonas@okafor.example")
    for _ in range(6):
        await ask(newcomer, "Jonas@Okafor.example", ("mara@lindqvist.example",))

    assert await spent(runtime) == 0


async def prove_by_code(runtime: Runtime, user: User, ask: Ask) -> None:
    """Book where the address has to be proven, as the pages do once the code was entered."""
    await runtime.pool.execute("update event_types set requires_email_verification = true where slug = 'meeting'")
    await ask(PUBLIC, proof=EmailProof("jonas@okafor.example"))


async def prove_by_payment(runtime: Runtime, user: User, ask: Ask) -> None:
    await add_payment(runtime, await ask(PUBLIC), state="paid", mode="live")


async def prove_by_wait_list(runtime: Runtime, user: User, ask: Ask) -> None:
    day = await offer_day(runtime, user)
    await book_day(runtime, day)
    await wait_for(runtime, day, "jonas@okafor.example")


async def add_payment(runtime: Runtime, made: Booking, *, state: str, mode: str) -> None:
    await runtime.pool.execute(
        """insert into payments (id, booking_id, host_id, mode, amount, currency, refund_policy, state, expires_at,
               held_until, created_at, updated_at, paid_at)
           values (gen_random_uuid(), $1, $2, $3, 4000, 'EUR', 'full', $4, now(), now(), now(), now(),
               case when $4 = 'paid' then now() end)""",
        made.id,
        made.host_id,
        mode,
        state,
    )


Proof = Callable[[Runtime, User, Ask], Awaitable[None]]


@pytest.mark.parametrize("prove", [prove_by_code, prove_by_payment, prove_by_wait_list])
async def test_people_who_have_proven_their_address_cost_nothing(
    runtime: Runtime, user: User, newcomer: Actor, ask: Ask, prove: Proof
) -> None:
    await prove(runtime, user, ask)
    before = await spent(runtime)
    for _ in range(6):
        await ask(newcomer, "Jonas@Okafor.example")

    assert await spent(runtime) == before


async def only_book(runtime: Runtime, user: User, ask: Ask) -> None:
    await ask(PUBLIC)


async def use_own_link(runtime: Runtime, user: User, ask: Ask) -> None:
    """Move a booking by its link, which the API gives to whoever has booked."""
    made = await ask(Actor(kind=ActorKind.SESSION, user_id=user.id))
    await move(runtime, PUBLIC, made.id, 420)


async def begin_to_pay(runtime: Runtime, user: User, ask: Ask) -> None:
    await add_payment(runtime, await ask(PUBLIC), state="open", mode="live")


async def pay_with_a_test_card(runtime: Runtime, user: User, ask: Ask) -> None:
    await add_payment(runtime, await ask(PUBLIC), state="paid", mode="test")


async def ask_for_approval(runtime: Runtime, user: User, ask: Ask) -> None:
    await runtime.pool.execute("update event_types set requires_confirmation = true where slug = 'meeting'")
    await ask(PUBLIC)


async def write_from_own_phone(runtime: Runtime, user: User, ask: Ask) -> None:
    """Give the contact of somebody a phone of one's own, and write from it."""
    await ask(PUBLIC)
    await runtime.pool.execute("update contacts set phone = '+4915112345678'")
    await runtime.pool.execute(
        """with thread as (
               insert into conversations (id, owner_id, contact_phone, channel, last_message_at, created_at, updated_at)
               values (gen_random_uuid(), $1, '+4915112345678', 'sms', now(), now(), now()) returning id)
           insert into messages (id, conversation_id, content, direction, status, at, created_at)
           select gen_random_uuid(), id, 'Hi', 'inbound', 'received', now(), now() from thread""",
        user.id,
    )


async def rename_a_proven_contact(runtime: Runtime, user: User, ask: Ask) -> None:
    """Prove an address of one's own, and give its contact that of somebody else."""
    await runtime.pool.execute("update event_types set requires_email_verification = true where slug = 'meeting'")
    await ask(PUBLIC, "eve@spam.example", proof=EmailProof("eve@spam.example"))
    await runtime.pool.execute("update contacts set email = 'jonas@okafor.example'")


@pytest.mark.parametrize(
    "pretend",
    [
        only_book,
        use_own_link,
        begin_to_pay,
        pay_with_a_test_card,
        ask_for_approval,
        write_from_own_phone,
        rename_a_proven_contact,
    ],
)
async def test_a_new_account_makes_nobody_known_by_what_it_can_do_itself(
    runtime: Runtime, user: User, newcomer: Actor, ask: Ask, pretend: Proof
) -> None:
    await pretend(runtime, user, ask)
    before = await spent(runtime)
    for _ in range(5 - before):
        await ask(newcomer)

    assert await spent(runtime) == 5
    assert await is_refused(ask(newcomer))


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
