"""Strangers who book to have messages sent to dear numbers: where they are sent, how many, and who is told."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.allowances.models import CauseKind, Cost, RefusedCost
from openslot.domains.allowances.operations import CLIENT_ADDRESS, REFUSED, list_refusals
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, ConsentSource, Invitee, MessageConsent
from openslot.domains.messaging.errors import MessageLimitReached
from openslot.domains.messaging.models import DropReason
from openslot.domains.messaging.words import REFUSALS
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.platform.core.countries import EVERY
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.domains.messaging.sending.carrier import Carrier
from tests.domains.messaging.sending.reminders import WEDNESDAY, choose, dropped, until
from tests.domains.messaging.sending.support import hear, reply
from tests.support.clocks import MovingClock
from tests.support.messaging import insert_number

HOME = "+4930111222"
# Of Cuba, where a message costs many times as much.
DEAR = [f"+535{number:07}" for number in range(1000000, 1000200)]


@pytest.fixture
async def seats(runtime: Runtime, user: User) -> None:
    """A meeting that hundreds can book, of which they are reminded by SMS."""
    await runtime.pool.execute("update event_types set seats = 500 where slug = '30min' and owner_id = $1", user.id)
    await choose(runtime, user, "sms")


@pytest.fixture(autouse=True)
async def address() -> AsyncIterator[None]:
    token = CLIENT_ADDRESS.set("93.184.216.34")
    yield
    CLIENT_ADDRESS.reset(token)


async def ask(runtime: Runtime, host: User, phone: str, number: int = 0, *, network: str = "93.184.216") -> None:
    """Book with messages to a phone, from a network and a mail domain."""
    CLIENT_ADDRESS.set(f"{network}.{number % 200 + 1}")
    wanted = BookingWanted(
        which=BySlug(host.id, "30min"),
        starts_at=WEDNESDAY,
        invitee=Invitee(name="Li", email=f"li{number}@fraud{number}.example", zone="UTC"),
        message_consent=MessageConsent(phone=phone, text="Text me", source=ConsentSource.BOOKING_PAGE),
    )
    async with runtime.transaction(PUBLIC) as work:
        await bookings.create_booking(work, wanted)


async def attack(runtime: Runtime, host: User, phones: Sequence[str]) -> list[Exception]:
    """Book for each phone, always from one network; return what was refused."""
    refused: list[Exception] = []
    for number, phone in enumerate(phones):
        try:
            await ask(runtime, host, phone, number)
        except (AllowanceUsed, Invalid) as why:
            refused.append(why)
    return refused


async def noted(runtime: Runtime, host: User, *, refused: int) -> dict[CauseKind, RefusedCost]:
    """Wait for what the host is told of, which is written after the transaction that was refused."""
    while True:
        found = {each.cause: each for each in await list_refusals(runtime.work(SYSTEM), host.id)}
        assert {each.cost for each in found.values()} <= {Cost.MESSAGE}
        if sum(each.refused for each in found.values()) >= refused:
            return found
        await asyncio.sleep(0.01)


async def test_two_hundred_messages_to_a_dear_country_are_not_sent(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, seats: None
) -> None:
    await insert_number(runtime, user_id=user.id, number=HOME, countries=())
    counter = REFUSED.labels("message", "country")
    before = counter._value.get()
    refused = await attack(runtime, user, DEAR)

    assert len(refused) == 200
    assert all(isinstance(each, Invalid) for each in refused)
    assert isinstance(refused[0], Invalid)
    assert refused[0].details is not None
    assert "DE" in str(refused[0].details["messageConsent.phone"])
    assert counter._value.get() - before == 200
    assert (await noted(runtime, user, refused=200))[CauseKind.COUNTRY].refused == 200
    await until(runtime, clock, minutes=-60)
    assert carrier.sent == []

    await ask(runtime, user, "+4915112345678")
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1


async def test_one_network_causes_messages_to_two_unproven_numbers_an_hour(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, seats: None
) -> None:
    await insert_number(runtime, user_id=user.id, number=HOME, countries=("CU",))
    await hear(runtime, user, phone=DEAR[-1])
    refused = await attack(runtime, user, DEAR[:20])

    assert refused == []
    # All are booked, and most without messages.
    assert await runtime.pool.fetchval("select count(*) from bookings") == 20
    unused = "select count(*) from message_consents where withdrawn_at = given_at"
    assert await runtime.pool.fetchval(unused) == 18
    assert await runtime.pool.fetchval("select count(*) from contacts where phone is not null") == 2
    assert (await noted(runtime, user, refused=18))[CauseKind.NETWORK].refused == 18
    # Who has written before, or was asked for a moment ago, is no other unproven number.
    await ask(runtime, user, DEAR[-1], 30)
    await ask(runtime, user, DEAR[0], 31)
    await until(runtime, clock, minutes=-60)
    assert {each.recipient for each in carrier.sent} == {DEAR[0], DEAR[1], DEAR[-1]}


@pytest.mark.rest("fills the database with much")
async def test_strangers_from_everywhere_use_up_half_and_the_host_still_replies(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, seats: None
) -> None:
    runtime.settings = replace(runtime.settings, limit_messages=20)
    await insert_number(runtime, user_id=user.id, number=HOME, countries=(EVERY,))
    for number, phone in enumerate(DEAR[:30]):
        await ask(runtime, user, phone, number, network=f"93.{number}.216")
    await until(runtime, clock, minutes=-60)

    assert len(carrier.sent) == 10
    assert await dropped(runtime) == [str(REFUSALS[DropReason.LIMIT])] * 20
    told = (await noted(runtime, user, refused=20))[CauseKind.LIMIT]
    assert (told.refused, told.most) == (20, 10)
    threads = [await hear(runtime, user, phone=f"+49151123456{number:02}") for number in range(11)]
    for each in threads[:10]:
        await reply(runtime, user, each)
    with pytest.raises(MessageLimitReached):
        await reply(runtime, user, threads[10])


async def test_a_number_of_several_hosts_has_a_limit_of_its_own(
    runtime: Runtime, clock: MovingClock, user: User, stranger: User, carrier: Carrier, seats: None
) -> None:
    runtime.settings = replace(runtime.settings, limit_messages_number=3)
    async with runtime.transaction(OPERATOR) as work:
        harbor = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        for each in (user, stranger):
            await add_organization_member(work, harbor, each)
    await insert_number(runtime, organization_id=harbor.id, number=HOME)
    await runtime.pool.execute("update event_types set seats = 500 where slug = '30min'")
    await choose(runtime, stranger, "sms")
    for number, phone in enumerate(DEAR[:6]):
        await ask(runtime, (user, stranger)[number % 2], phone, number, network=f"93.{number}.216")
    await until(runtime, clock, minutes=-60)

    assert len(carrier.sent) == 3
    thread = await hear(runtime, user, phone="+4915112345678")
    await reply(runtime, user, thread)


async def test_a_country_that_was_taken_back_gets_no_message_and_the_log_says_why(
    runtime: Runtime, clock: MovingClock, user: User, carrier: Carrier, seats: None
) -> None:
    number = await insert_number(runtime, user_id=user.id, number=HOME, countries=("CU", "DE"))
    await ask(runtime, user, DEAR[0])
    await runtime.pool.execute("update messaging_connections set countries = '{DE}' where id = $1", number.id)
    await until(runtime, clock, minutes=-60)

    assert carrier.sent == []
    assert await dropped(runtime) == [str(REFUSALS[DropReason.COUNTRY])]
    assert CauseKind.COUNTRY in await noted(runtime, user, refused=1)
