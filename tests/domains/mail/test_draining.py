"""Many mails at once, to servers that keep up and to one that does not: each arrives, and none arrives twice."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.reminders import operations as reminders
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.smtp import MailFrom, SmtpUrl
from openslot.platform.core.work import Reaction, Runtime
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.domains.mail.conftest import Book, mails, read_message
from tests.support.clocks import MovingClock
from tests.support.effects import working
from tests.support.host import stranger
from tests.support.parts import how_many
from tests.support.smtp_server import DROP, ScriptedServer, smtp_server

__all__ = ["stranger"]

BOOKINGS = how_many(20)
OF_ANOTHER = how_many(16)
MAILS = 2 * BOOKINGS
# The order in which a server in trouble answers; whoever is told so comes again.
TROUBLE = ["421 Closing", "451 Local error", DROP, "452 Disk full"] * 3
UNFINISHED = "select count(*) from effects where reaction like 'mail.%' and state not in ('done', 'skipped')"


def soon(reaction: Reaction) -> Reaction:
    """Try again within moments, as often as before."""
    return replace(reaction, delays=(timedelta(milliseconds=50),) * len(reaction.delays))


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Run a mail server that takes everything, until told otherwise."""
    async with smtp_server() as opened:
        yield opened


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, server: ScriptedServer) -> AsyncIterator[Runtime]:
    """Open a runtime whose mail goes to that server, and is tried again within moments."""
    chosen = replace(
        settings,
        smtp_url=SmtpUrl.parse(f"smtp://127.0.0.1:{server.port}?starttls=never"),
        mail_from=MailFrom.parse("bookings@here.example"),
    )
    wiring = replace(WIRING, reactions=tuple(map(soon, WIRING.reactions)), periodic=())
    async with open_runtime(chosen, clock=clock, wiring=wiring) as opened:
        yield opened


async def book_many(runtime: Runtime, clock: MovingClock, book: Book, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, user, None, ())
    for number in range(BOOKINGS):
        starts_at = clock.now + timedelta(days=number // 8, hours=3 + number % 8 / 2)
        await book(starts_at, email=f"booker{number}@okafor.example", actor=OPERATOR)


async def drain(runtime: Runtime, clock: MovingClock) -> None:
    async with working(runtime), asyncio.timeout(120):
        while await runtime.pool.fetchval(UNFINISHED):
            await asyncio.sleep(0.05)
            clock.pass_time(seconds=0.05)


def message_ids(server: ScriptedServer) -> Counter[str]:
    return Counter(str(read_message(each.content)["Message-ID"]) for each in server.received)


async def test_mails_are_sent_many_at_a_time_over_few_connections(
    runtime: Runtime, clock: MovingClock, book: Book, user: User, server: ScriptedServer
) -> None:
    await book_many(runtime, clock, book, user)
    await drain(runtime, clock)

    assert set(message_ids(server).values()) == {1}
    assert len(server.received) == MAILS
    assert server.connections <= MAILS // 2


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize("when", ["at_mail", "at_rcpt", "at_data"])
async def test_a_server_in_trouble_loses_and_doubles_nothing(
    runtime: Runtime, clock: MovingClock, book: Book, user: User, server: ScriptedServer, when: str
) -> None:
    trouble = [answer for answer in TROUBLE if when != "at_mail" or answer != DROP]
    getattr(server, when).extend(trouble)
    await book_many(runtime, clock, book, user)
    await drain(runtime, clock)

    assert not getattr(server, when)
    assert set(message_ids(server).values()) == {1}
    assert len(server.received) == MAILS
    assert {each.status for each in await mails(runtime)} == {"sent"}


async def test_mails_of_one_account_delay_those_of_another_by_few(
    runtime: Runtime, clock: MovingClock, book: Book, user: User, stranger: User, server: ScriptedServer
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for each in (user, stranger):
            await reminders.set_reminders(work, each, None, ())
    guests = tuple(f"guest{number}@okafor.example" for number in range(10))
    for number in range(OF_ANOTHER):
        starts_at = clock.now + timedelta(days=number // 8, hours=3 + number % 8 / 2)
        await book(starts_at, email=f"booker{number}@okafor.example", guests=guests, actor=OPERATOR)
    async with runtime.transaction(OPERATOR) as work:
        invitee = Invitee(name="Ana", email="ana@silva.example", zone="UTC")
        which = BySlug(stranger.id, "30min")
        starts_at = clock.now + timedelta(hours=3)
        await bookings.create_booking(work, BookingWanted(which=which, starts_at=starts_at, invitee=invitee))
    await drain(runtime, clock)

    order = [each.recipient for each in server.received]
    assert len(order) == OF_ANOTHER * 12 + 2
    assert max(order.index(each) for each in ("ana@silva.example", stranger.email)) < len(order) / 3
