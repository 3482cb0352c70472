"""What was promised is mailed whatever strangers do: first confirmations, and offers to those who wait."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.allowances.operations import CLIENT_ADDRESS
from openslot.domains.bookings.models import Booking
from openslot.domains.mail import operations as mail
from openslot.domains.mail.models import Draft, MailKind, MailStatus, RecipientRole
from openslot.domains.reminders import operations as reminders
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.mail.conftest import Book, mails, move, work_off
from tests.domains.mail.support import begin, draft_of, start
from tests.support.clocks import MovingClock
from tests.support.some import some
from tests.support.switches import resume, stop
from tests.support.wait_list import book_day, cancel_day, offer_day, wait_for

HERE, THERE = "93.184.216.34", "93.184.217.34"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Eight confirmations a day for a host, and ten first ones for a network."""
    return replace(settings, limit_mail_host=20, limit_mail_recipient=100, allowance_mail=1)


@pytest.fixture(autouse=True)
async def no_reminders(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, user, None, ())


async def told(runtime: Runtime, to: str, kind: MailKind = MailKind.CONFIRMATION) -> list[MailStatus]:
    return [each.status for each in await mails(runtime, to) if each.kind is kind]


async def is_told(runtime: Runtime, booking: Booking, kind: MailKind = MailKind.CONFIRMATION) -> bool:
    return await mail.is_told(runtime.work(PUBLIC), booking, kind)


async def flood(runtime: Runtime, book: Book, clock: MovingClock, count: int) -> list[Booking]:
    """Let one network book in the names of many."""
    CLIENT_ADDRESS.set(HERE)
    made = [await book(start(number), email=f"p{number}@victims.example") for number in range(count)]
    await work_off(runtime, clock)
    return made


async def test_strangers_who_use_up_a_hosts_part_keep_the_confirmation_from_nobody_else(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    made = await flood(runtime, book, clock, 14)
    sent = [status for each in made for status in await told(runtime, each.invitee_email)]
    assert sent == [MailStatus.SENT] * 10 + [MailStatus.FAILED] * 4

    CLIENT_ADDRESS.set(THERE)
    other = await book(start(30), email="jonas@okafor.example")
    assert await is_told(runtime, other)
    await work_off(runtime, clock)

    assert await told(runtime, "jonas@okafor.example") == [MailStatus.SENT]
    assert await is_told(runtime, other)


async def test_many_networks_have_no_more_confirmations_mailed_by_a_new_host_than_ten_times_its_own_mails(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    """Whoever signs up and books on the own page from many networks."""
    await make_untrusted(runtime, user, clock)
    for number in some(range(22), daily=12):
        CLIENT_ADDRESS.set(f"93.184.{number}.34")
        await book(start(number), email=f"p{number}@victims{number}.example")
    await work_off(runtime, clock)

    sent = await runtime.pool.fetchval(
        "select count(*) from mail_messages where kind = 'confirmation' and status = 'sent' and role = 'invitee'"
    )
    # Ten times one, which count in the host's part of eight too: it is used up by them.
    assert sent == 10


async def make_untrusted(runtime: Runtime, user: User, clock: MovingClock) -> None:
    await runtime.pool.execute(
        "update users set plan = 'FREE', signed_up = true, created_at = $2 where id = $1", user.id, clock()
    )


def draft_by_host(user: User, email: str, kind: MailKind = MailKind.CANCELLATION) -> Draft:
    return replace(draft_of(user, kind, RecipientRole.INVITEE, email), is_public=False)


async def test_new_accounts_mail_one_person_only_so_often_whatever_they_do(
    runtime: Runtime, user: User, clock: MovingClock
) -> None:
    runtime.settings = replace(runtime.settings, limit_mail_recipient=3, allowance_mail=1000)
    await make_untrusted(runtime, user, clock)
    kinds = [MailKind.CONFIRMATION, MailKind.RESCHEDULE, MailKind.CANCELLATION, MailKind.REMINDER]
    begun = [await begin(runtime, draft_by_host(user, f"jonas+{kind}@okafor.example", kind)) for kind in kinds]

    assert begun == [True] * 3 + [False]
    why = await runtime.pool.fetchval("select error from mail_messages where status = 'failed'")
    assert why == "not sent: new accounts have set off 3 mails to this address within 24 hours"
    assert await begin(runtime, draft_by_host(user, "ana@silva.example"))
    assert not await runtime.pool.fetchval("select count(*) from allowances where bucket like '%okafor%'")


async def test_a_mail_that_is_tried_again_is_counted_once(runtime: Runtime, user: User, clock: MovingClock) -> None:
    runtime.settings = replace(runtime.settings, limit_mail_recipient=1)
    await make_untrusted(runtime, user, clock)
    draft = draft_by_host(user, "jonas@okafor.example")

    assert [await begin(runtime, draft) for _ in range(3)] == [True] * 3


async def test_trusted_accounts_mail_their_people_as_often_as_they_like(runtime: Runtime, user: User) -> None:
    runtime.settings = replace(runtime.settings, limit_mail_recipient=1)
    assert [await begin(runtime, draft_by_host(user, "jonas@okafor.example")) for _ in range(3)] == [True] * 3


async def test_who_is_not_mailed_can_be_told_so_before_and_after_the_worker_comes_by(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    first, *_ = await flood(runtime, book, clock, 10)
    last = await book(start(30), email="last@victims.example")
    before = await is_told(runtime, last)
    await work_off(runtime, clock)

    assert (before, await is_told(runtime, last), await is_told(runtime, first)) == (False, False, True)
    # Nothing is refused by it, and the next day there is room again.
    clock.pass_time(hours=26)
    later = await book(start(31), email="later@victims.example")
    await work_off(runtime, clock)
    assert await is_told(runtime, later)


async def test_an_address_that_was_mailed_enough_is_not_promised_an_email(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    runtime.settings = replace(runtime.settings, limit_mail_recipient=1)
    await book(start(0))
    await work_off(runtime, clock)
    CLIENT_ADDRESS.set(HERE)
    again = await book(start(1))

    assert not await is_told(runtime, again)
    await work_off(runtime, clock)
    assert not await is_told(runtime, again)


async def test_a_reschedule_without_an_email_is_told_too(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    made = await book(start(0))
    for number in (1, 2):
        clock.pass_time(minutes=1)
        await move(runtime, made, start(number))
        async with runtime.transaction(PUBLIC) as work:
            changed = replace(made, updated_at=work.now)
        before = await is_told(runtime, changed, MailKind.RESCHEDULE)
        await work_off(runtime, clock)
        assert await is_told(runtime, changed, MailKind.RESCHEDULE) is before is (number == 1)


async def test_nobody_is_promised_an_email_while_emails_are_stopped(runtime: Runtime, book: Book) -> None:
    made = await book(start(0))
    await stop(runtime)
    assert not await is_told(runtime, made)
    await resume(runtime)
    assert await is_told(runtime, made)


async def test_whom_the_host_books_is_promised_as_before(runtime: Runtime, user: User, book: Book) -> None:
    CLIENT_ADDRESS.set(HERE)
    actor = Actor(kind=ActorKind.SESSION, user_id=user.id)
    await book(start(0), actor=actor)

    assert await runtime.pool.fetchval("select count(*) from allowances where bucket like '%confirmations'") == 0


async def test_an_offer_is_mailed_although_strangers_have_used_up_the_part_of_wait_lists(
    runtime: Runtime, user: User, clock: MovingClock
) -> None:
    day = await offer_day(runtime, user)
    booked = await book_day(runtime, day)
    await wait_for(runtime, day, "jonas@okafor.example")
    await work_off(runtime, clock)
    for _ in range(3):
        await begin(runtime, draft_of(user, MailKind.WAIT_LIST, RecipientRole.INVITEE))

    await cancel_day(runtime, booked)
    clock.pass_time(seconds=1)
    await work_off(runtime, clock)

    offers = [each for each in await mails(runtime, "jonas@okafor.example") if "free" in each.subject.lower()]
    assert [each.status for each in offers] == [MailStatus.SENT]
    assert clock.now - offers[0].created_at < timedelta(minutes=1)


async def test_seats_of_one_group_event_leave_confirmations_to_other_event_types(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    """Nobody knows where they come from, so that only the part of the host counts."""
    course = await offer(runtime, user, "course", seats=500)
    for number in some(range(42), daily=12):
        await book_day(runtime, course, start(40), f"p{number}@victims.example")
    await work_off(runtime, clock)
    sent = await runtime.pool.fetchval(
        "select count(*) from mail_messages where kind = 'confirmation' and status = 'sent' and role = 'invitee'"
    )
    # Eight less a quarter, which is kept for the others.
    assert sent == 6

    made = [await book(start(number), email=f"jonas{number}@okafor.example") for number in range(3)]
    assert await is_told(runtime, made[0])
    assert not await is_told(runtime, await book_day(runtime, course, start(40), "last@victims.example"))
    await work_off(runtime, clock)
    states = [await told(runtime, each.invitee_email) for each in made]
    assert states == [[MailStatus.SENT], [MailStatus.SENT], [MailStatus.FAILED]]
