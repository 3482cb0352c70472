"""Email that is stopped: it waits, goes out in order when it is resumed, and is dropped only for a stated reason."""

from datetime import timedelta

import pytest

from openslot.domains.access.resets import operations as resets
from openslot.domains.accounts.models import User
from openslot.domains.mail import notices, operations
from openslot.domains.mail.models import MailStatus
from openslot.domains.mail.ports import MailRefused
from openslot.domains.reminders.rules import BEGUN
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.effects import LOOK_EVERY, take_effects
from openslot.platform.core.holding import LOOK_AGAIN_AFTER
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.platform.flags.switches import operations as switches
from openslot.platform.jobs.housekeeping import tidy_planned
from tests.domains.mail.conftest import TEN, Book, cancel, mails, messages, move, work_off
from tests.support.clocks import MONDAY, MovingClock
from tests.support.switches import resume, stop, waiting

JONAS, MARA = "jonas@okafor.example", "mara@lindqvist.example"
WEDNESDAY = MONDAY.replace(hour=10) + timedelta(days=2)


async def sent(runtime: Runtime, to: str = JONAS) -> list[str]:
    found = sorted((each for each in await mails(runtime, to) if each.sent_at), key=lambda each: str(each.sent_at))
    return [each.kind for each in found]


async def dropped(runtime: Runtime) -> list[tuple[str | None, str]]:
    return [(each.recipient, each.reason) for each in await switches.list_dropped(runtime.work(OPERATOR))]


async def test_mail_waits_while_email_is_stopped_and_is_sent_afterwards(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await stop(runtime)
    await book()
    await work_off(runtime, clock)
    assert await sent(runtime) == []
    assert await waiting(runtime) == 2

    clock.pass_time(minutes=30)
    await resume(runtime)
    await work_off(runtime, clock)
    assert await sent(runtime) == ["confirmation"]
    assert await sent(runtime, MARA) == ["confirmation"]
    assert await waiting(runtime) == 0
    assert await dropped(runtime) == []


async def test_other_channels_do_not_stop_email(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await stop(runtime, "all")
    await book()
    await work_off(runtime, clock)
    assert await sent(runtime) == ["confirmation"]


async def test_mail_about_one_booking_keeps_its_order(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await stop(runtime)
    booking = await book(WEDNESDAY)
    await work_off(runtime, clock)
    clock.pass_time(minutes=1)
    await move(runtime, booking, WEDNESDAY + timedelta(hours=1))
    await work_off(runtime, clock)
    clock.pass_time(minutes=1)
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    # Only the first of each person's lane was tried.
    assert await waiting(runtime) == 2

    await resume(runtime)
    await work_off(runtime, clock)
    assert [each["Subject"].partition(":")[0] for each in await messages(runtime, JONAS)] == [
        "Confirmed",
        "Rescheduled",
        "Cancelled",
    ]


async def test_what_waited_is_taken_in_the_order_in_which_it_was_due(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await stop(runtime)
    names = [f"booker{number}@okafor.example" for number in range(5)]
    for number, name in enumerate(names):
        await book(TEN + timedelta(hours=number), email=name)
        await work_off(runtime, clock)
        clock.pass_time(minutes=1)
    await resume(runtime)

    taken, _ = await take_effects(runtime.pool, new_id(), now=clock.now, limit=20)
    to_bookers = [each.lane for each in taken if each.lane and "booker" in each.lane]
    assert len([each for each in taken if each.reaction == "mail.send"]) == 10
    assert [name for lane in to_bookers for name in names if lane.endswith(name)] == names


async def test_waiting_uses_up_no_try_and_does_not_spin(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await stop(runtime)
    await book(WEDNESDAY + timedelta(days=26))
    for _ in range(20):
        await work_off(runtime, clock)
        clock.pass_time(seconds=LOOK_EVERY.total_seconds())
    rows = await runtime.pool.fetch("select attempts, round, next_try_at from effects where reaction = 'mail.send'")
    assert {(row["attempts"], row["round"]) for row in rows} == {(0, 1)}
    assert min(row["next_try_at"] for row in rows) >= MONDAY + LOOK_AGAIN_AFTER

    for day in range(25):
        clock.now = MONDAY + timedelta(days=day, minutes=1)
        await work_off(runtime, clock)
    rows = await runtime.pool.fetch("select attempts, state from effects where reaction = 'mail.send'")
    assert {(row["attempts"], row["state"]) for row in rows} == {(0, "queued")}
    due = await runtime.pool.fetch("select due_at from held_effects h join effects e on e.id = h.effect_id")
    assert {row["due_at"] for row in due} >= {MONDAY}

    await resume(runtime)
    await work_off(runtime, clock)
    assert "confirmation" in await sent(runtime)


async def test_a_reminder_for_a_past_meeting_is_dropped_and_listed(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    await stop(runtime)
    clock.now = WEDNESDAY - timedelta(hours=1)
    await work_off(runtime, clock)
    assert await waiting(runtime) == 1

    clock.now = WEDNESDAY + timedelta(minutes=5)
    await resume(runtime)
    await work_off(runtime, clock)
    assert await sent(runtime) == ["confirmation"]
    assert await dropped(runtime) == [(JONAS, BEGUN.code)]
    assert [each.status for each in await mails(runtime, JONAS)] == [MailStatus.SENT, MailStatus.FAILED]


async def test_a_reminder_whose_booking_is_rescheduled_meanwhile_comes_at_its_new_time(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book(WEDNESDAY)
    await work_off(runtime, clock)
    await stop(runtime)
    clock.now = WEDNESDAY - timedelta(hours=24)
    await work_off(runtime, clock)
    assert await waiting(runtime) == 1
    await move(runtime, booking, WEDNESDAY + timedelta(days=1))
    await work_off(runtime, clock)
    # The reminder has another time; what waits is the mail about the change.
    assert await waiting(runtime) == 2

    await resume(runtime)
    await work_off(runtime, clock)
    assert await sent(runtime) == ["confirmation", "reschedule"]
    clock.now = WEDNESDAY
    await work_off(runtime, clock)
    assert await sent(runtime) == ["confirmation", "reschedule", "reminder"]
    assert await dropped(runtime) == []


async def test_a_reminder_that_waits_is_dropped_with_its_booking(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book(WEDNESDAY)
    await work_off(runtime, clock)
    await stop(runtime)
    clock.now = WEDNESDAY - timedelta(hours=24)
    await work_off(runtime, clock)
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert (JONAS, "mail.cancelled") in await dropped(runtime)


async def test_mail_that_fails_after_it_waited_is_listed(
    runtime: Runtime, clock: MovingClock, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stop(runtime)
    await book()
    await work_off(runtime, clock)
    await resume(runtime)

    async def refuse(*_: object) -> None:
        raise MailRefused("no such mailbox")

    monkeypatch.setattr(operations.Mailbox, "send", refuse)
    await work_off(runtime, clock)
    found = await switches.list_dropped(runtime.work(OPERATOR))
    assert {(each.recipient, each.reason, each.has_failed) for each in found} == {
        (JONAS, "no such mailbox", True),
        (MARA, "no such mailbox", True),
    }


async def test_mail_to_sign_in_and_about_security_is_sent_all_the_same(
    runtime: Runtime, clock: MovingClock, user: User
) -> None:
    await stop(runtime)
    async with runtime.transaction(PUBLIC) as work:
        await resets.request_reset(work, user.email)
    await work_off(runtime, clock)
    assert [each["Subject"] for each in await messages(runtime, MARA)] == ["Choose a new password"]


def test_which_notices_are_sent_all_the_same() -> None:
    assert {notice.event.__name__ for notice in notices.LETTERS if notice.is_security} == {
        "UserDeletionBegun",
        "UserDeletionEnding",
        "TwoFactorTurnedOn",
        "TwoFactorTurnedOff",
        "RecoveryCodeUsed",
        "RecoveryCodesRenewed",
        "IdentityConnected",
        "IdentityDisconnected",
        "PaymentAccountChanged",
        "HostNumberChanged",
    }


async def test_what_was_sent_after_it_waited_is_forgotten(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await stop(runtime)
    await book()
    await work_off(runtime, clock)
    await resume(runtime)
    await work_off(runtime, clock)
    assert await runtime.pool.fetchval("select count(*) from held_effects") == 2
    await tidy_planned(runtime.work(OPERATOR))
    assert await runtime.pool.fetchval("select count(*) from held_effects") == 0
