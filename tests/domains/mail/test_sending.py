"""Sending: what a mail server can do to a mail, and what the log says of it afterwards."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import cast

import asyncpg
import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import Brand, User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.mail import operations as mail
from openslot.domains.mail.models import Draft, Letter, MailKind, MailStatus, Recipient, RecipientRole
from openslot.domains.mail.ports import OutgoingMail
from openslot.domains.mail.reactions import tidy_mail
from openslot.domains.mail.rules import DELAYS
from openslot.domains.reminders import operations as reminders
from openslot.domains.webhooks.events import WebhookDisabled
from openslot.platform.core.actor import DEMO, OPERATOR, SYSTEM, Destination, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.revivals import revive_effects
from openslot.platform.core.smtp import MailFrom, SmtpUrl
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import CodedReason
from openslot.platform.i18n.languages import DEFAULT
from openslot.platform.jobs.places import FairPlaces, Place
from openslot.runtime import open_runtime
from tests.domains.mail.conftest import Book, cancel, invitation, mails, messages, part, read_message, work_off
from tests.domains.mail.fake_mailer import FakeMailer
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt, work_until_settled
from tests.support.smtp_server import DROP, ScriptedServer, smtp_server

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Run a mail server that takes everything, until told otherwise."""
    async with smtp_server() as opened:
        yield opened


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, server: ScriptedServer) -> AsyncIterator[Runtime]:
    """Open a runtime whose mail goes to that server."""
    chosen = replace(
        settings,
        smtp_url=SmtpUrl.parse(f"smtp://127.0.0.1:{server.port}"),
        mail_from=MailFrom.parse("bookings@here.example"),
        postal_address="1 Example Street, Exampleton",
        limit_mail_recipient=3,
        limit_mail_host=60,
    )
    async with open_runtime(chosen, clock=clock) as opened:
        yield opened


@pytest.fixture(autouse=True)
async def no_reminders(runtime: Runtime, user: User) -> None:
    """Remind nobody, unless a test wishes it."""
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, user, None, ())


def recipients(server: ScriptedServer) -> list[str]:
    return sorted(each.recipient for each in server.received)


async def test_mail_goes_to_the_server_and_its_bytes_are_not_kept(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer
) -> None:
    await book()
    await work_off(runtime, clock)
    assert recipients(server) == [JONAS, MARA]
    assert {each.sender for each in server.received} == {"bookings@here.example"}
    assert {(each.status, each.transport) for each in await mails(runtime)} == {(MailStatus.SENT, "smtp")}
    assert await messages(runtime, JONAS) == []
    arrived = next(read_message(each.content) for each in server.received if each.recipient == JONAS)
    assert arrived["From"] == "Mara Lindqvist <bookings@here.example>"
    assert "1 Example Street, Exampleton" in part(arrived, "text/plain")
    assert "1 Example Street, Exampleton" in part(arrived, "text/html")


async def test_a_4xx_is_tried_again_until_it_is_taken(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer
) -> None:
    server.at_rcpt.extend(["450 Busy", "421 Closing", "451 Greylisted"])
    booking = await book()
    await work_off(runtime, clock)
    assert server.received == []
    assert {each.status for each in await mails(runtime)} == {MailStatus.SENDING}
    _, emails = await bookings.get_booking_with_emails(runtime.work(OPERATOR), BookingRef(booking.id, None))
    assert emails == []
    await work_until_settled(runtime, clock)
    assert recipients(server) == [JONAS, MARA]
    assert {each.status for each in await mails(runtime, booking_id=booking.id)} == {MailStatus.SENT}


async def test_each_try_is_the_same_message(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer
) -> None:
    taken = server.handle_DATA

    async def take_and_drop(protocol: object, session: object, envelope: object) -> str:
        await taken(protocol, session, envelope)  # type: ignore[arg-type]
        return await server._answer(protocol, DROP)  # type: ignore[arg-type]

    server.handle_DATA = take_and_drop  # type: ignore[method-assign,assignment]
    await book(actor=OPERATOR)
    await work_off(runtime, clock)
    assert len(server.received) == 2
    server.handle_DATA = taken  # type: ignore[method-assign]
    await work_until_settled(runtime, clock)
    tries = [each.content for each in server.received if each.recipient == JONAS]
    assert len(tries) == 2
    assert tries[0] == tries[1]


async def test_a_5xx_is_final_and_stands_in_the_booking(
    runtime: Runtime,
    clock: MovingClock,
    book: Book,
    server: ScriptedServer,
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
) -> None:
    server.at_data.extend(["550 No such user", "550 No such user"])
    booking = await book()
    await work_until_settled(runtime, clock)
    assert server.received == []
    assert server.connections == 2
    shown = (await client.get(f"/api/v1/bookings/{booking.id}", headers=bearer)).json()["emailLogs"]
    assert {(each["status"], each["sentAt"], each["error"]) for each in shown} == {
        ("failed", None, "The mail server answered 550: No such user")
    }


async def test_a_server_that_stays_away_fails_a_mail_after_a_day(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer, user: User
) -> None:
    server.at_rcpt.extend(["450 Busy"] * 1000)
    started = clock.now
    await book(starts_at=clock.now + timedelta(days=2, hours=3))
    await work_until_settled(runtime, clock)
    assert {each.status for each in await mails(runtime)} == {MailStatus.FAILED}
    assert {each.error for each in await mails(runtime)} == {"The mail server answered 450: Busy"}
    assert server.connections == 2 * (len(DELAYS) + 1)
    assert timedelta(hours=20) < clock.now - started < timedelta(hours=30)


async def test_a_failed_mail_can_be_tried_again(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer
) -> None:
    server.at_data.extend(["554 Spam", "554 Spam"])
    await book()
    await work_until_settled(runtime, clock)
    await revive_effects(runtime.work(OPERATOR), None)
    await work_until_settled(runtime, clock)
    assert recipients(server) == [JONAS, MARA]
    assert {(each.status, each.error) for each in await mails(runtime)} == {(MailStatus.SENT, None)}


async def test_a_cancellation_waits_behind_a_confirmation_that_fails(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer
) -> None:
    server.at_rcpt.extend(["450 Busy"] * 4)
    booking = await book()
    await work_off(runtime, clock)
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert server.received == []
    await work_until_settled(runtime, clock)
    for address in (JONAS, MARA):
        arrived = [read_message(each.content) for each in server.received if each.recipient == address]
        assert [invitation(each)[0] for each in arrived] == ["REQUEST", "CANCEL"]


async def test_guests_are_no_cannon_at_one_address(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer
) -> None:
    for number in range(5):
        await book(clock.now + timedelta(hours=3 + number / 2), email=f"booker{number}@okafor.example", guests=(LI,))
        await work_off(runtime, clock)
    refused = [each for each in await mails(runtime, LI) if each.status is MailStatus.FAILED]
    assert len(refused) == 5 - recipients(server).count(LI)
    assert recipients(server).count(LI) == 3
    assert all("3 mails to this address" in (each.error or "") for each in refused)
    clock.pass_time(hours=25)
    await book(clock.now + timedelta(hours=3), email=JONAS, guests=(LI,))
    await work_off(runtime, clock)
    assert recipients(server).count(LI) == 4


async def test_the_addresses_of_one_mailbox_are_one_recipient(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer
) -> None:
    runtime.settings = replace(runtime.settings, limit_mail_host=100)
    for number in range(5):
        guests = (f"LI+{number}@okafor.example",)
        await book(clock.now + timedelta(hours=3 + number / 2), email=f"booker{number}@okafor.example", guests=guests)
        await work_off(runtime, clock)

    # Mail still goes to the address as it was given.
    assert [each for each in recipients(server) if each.startswith("LI+")] == [
        f"LI+{n}@okafor.example" for n in range(3)
    ]


@pytest.mark.rest("lets many write at once")
async def test_the_limit_holds_for_mails_at_the_same_moment(runtime: Runtime, user: User) -> None:
    narrow = replace(runtime.settings, limit_mail_recipient=1)
    runtime.settings = narrow
    async with runtime.transaction(SYSTEM) as first:
        assert isinstance(await mail.begin_mail(first, draft_of(user), FakeMailer()), OutgoingMail)
        async with runtime.transaction(SYSTEM) as second:
            waiting = asyncio.ensure_future(mail.begin_mail(second, draft_of(user), FakeMailer()))
            # It waits for the first one; long enough for one that does not wait to be found out.
            await asyncio.wait({waiting}, timeout=1)
            await cast("asyncpg.Connection", first.db).execute("commit")
            refused = await waiting
            assert isinstance(refused, CodedReason)
            assert "1 mails to this address" in refused.said
            await cast("asyncpg.Connection", first.db).execute("begin")


async def test_demo_data_is_never_mailed(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, user, None, (60,))
    booking = await book(actor=DEMO)
    await work_off(runtime, clock)
    clock.now = booking.starts_at - timedelta(hours=1)
    await work_off(runtime, clock)
    await cancel(runtime, booking, actor=DEMO)
    await work_off(runtime, clock)
    assert server.connections == 0
    assert {each.transport for each in await mails(runtime)} == {"mailbox"}
    assert len(await messages(runtime, JONAS)) == 3


async def test_a_host_is_told_of_a_webhook_that_was_switched_off(
    runtime: Runtime, clock: MovingClock, user: User, server: ScriptedServer
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await work.record(
            WebhookDisabled(endpoint_id=new_id(), owner_id=user.id, url="https://x.example/in", reason="It is gone.")
        )
    await work_off(runtime, clock)
    (told,) = server.received
    assert told.recipient == MARA
    assert "https://x.example/in" in part(read_message(told.content), "text/plain")
    assert [each.kind for each in await mails(runtime)] == [MailKind.NOTICE]


async def test_a_mail_whose_worker_died_too_often_has_failed(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer
) -> None:
    server.at_rcpt.extend(["450 Busy"] * 2)
    await book()
    await work_off(runtime, clock)
    await runtime.pool.execute("update effects set state = 'dead', last_error = 'it died' where state = 'queued'")
    await tidy_mail(runtime.work(OPERATOR))
    assert {(each.status, each.error) for each in await mails(runtime)} == {(MailStatus.FAILED, "it died")}


async def test_old_mail_is_removed(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await book()
    await work_off(runtime, clock)
    clock.pass_time(days=89)
    await tidy_mail(runtime.work(OPERATOR))
    assert len(await mails(runtime)) == 2
    clock.pass_time(days=2)
    await tidy_mail(runtime.work(OPERATOR))
    assert await mails(runtime) == []


async def test_a_reminder_is_tried_until_the_meeting_begins(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer, user: User
) -> None:
    starts_at = clock.now + timedelta(days=2, hours=3)
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, user, None, (60,))
    await book(starts_at)
    await work_off(runtime, clock)
    server.at_rcpt.extend(["450 Busy"] * 1000)
    clock.now = starts_at - timedelta(hours=1)
    await work_until_settled(runtime, clock)
    reminder = (await mails(runtime, JONAS))[-1]
    assert (reminder.kind, reminder.status) == (MailKind.REMINDER, MailStatus.FAILED)
    assert reminder.error == "not sent: the meeting has begun"
    assert clock.now < starts_at + timedelta(hours=3)


@pytest.mark.parametrize(
    ("answer", "is_open"),
    [
        ("550 No such user", True),
        ("450 Greylisted", True),
        ("421 Closing", False),
        ("451 Local error", False),
        ("452 Disk full", False),
        (DROP, False),
    ],
)
async def test_a_refused_recipient_slows_nobody_elses_mail(
    runtime: Runtime, clock: MovingClock, book: Book, server: ScriptedServer, answer: str, is_open: bool
) -> None:
    fair_places = FairPlaces(count=100)
    await book()
    await work_fan_outs(runtime)
    await work_at_once(runtime, fair_places)
    await book(clock.now + timedelta(hours=4), actor=OPERATOR)
    await work_fan_outs(runtime)
    server.at_data.extend([answer, answer])
    await work_at_once(runtime, fair_places)
    to = Destination("mail server", None, is_operators=True)
    found = fair_places.foresee("mail.send", to, now=clock.now)
    places = [fair_places.enter("mail.send", to, now=clock.now) for _ in range(2)]
    assert found is None
    assert [isinstance(place, Place) for place in places] == [True, is_open]


def draft_of(user: User) -> Draft:
    """Write a letter that the public has set off."""
    return Draft(
        id=new_id(),
        kind=MailKind.CONFIRMATION,
        letter=Letter(subject="Hello", heading="Hello"),
        recipient=Recipient(role=RecipientRole.GUEST, email=LI, name=None, zone="UTC", locale=None),
        brand=Brand(name="Mara", color="#3155d9"),
        locale=DEFAULT,
        host_id=user.id,
        is_public=True,
    )


async def work_fan_outs(runtime: Runtime) -> None:
    """Run what makes one mail for each."""
    await _run(runtime, "reaction = 'mail.fan_out'")


async def work_at_once(runtime: Runtime, fair_places: FairPlaces | None = None) -> None:
    """Run all mails at the same moment, or, where they share the places of one worker, one after the other."""
    await _run(runtime, "reaction = 'mail.send'", fair_places)


async def _run(runtime: Runtime, which: str, fair_places: FairPlaces | None = None) -> None:
    rows = await runtime.pool.fetch(f"select id, round from effects where state = 'queued' and {which}")
    assert rows
    jobs = [EffectAttempt(row["id"], row["round"]) for row in rows]
    if fair_places is None:
        await asyncio.gather(*(run_attempt(runtime, job) for job in jobs))
        return
    for job in jobs:
        await run_attempt(runtime, job, fair_places)
