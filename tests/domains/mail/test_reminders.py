"""Reminders, on a clock that tests move: sent once, moved, dropped, and never for a meeting that has begun."""

from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.mail.models import MailKind, MailStatus
from openslot.domains.reminders.models import ReminderMoment
from openslot.domains.reminders.operations import set_reminders
from openslot.domains.reminders.rules import (
    BEGUN,
    DEFAULT_REMINDERS,
    LATER_DUE,
    UNWANTED_ENTRY,
    find_entry,
    find_lost_meaning,
    is_to_come,
)
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.effects import take_effects
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import CodedReason
from tests.domains.mail.conftest import Book, cancel, mails, messages, move, part, work_off
from tests.support.clocks import MONDAY, MovingClock

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
WEDNESDAY = MONDAY.replace(hour=10) + timedelta(days=2)


async def reminders(runtime: Runtime, to: str = JONAS) -> int:
    return sum(each.kind is MailKind.REMINDER and each.status is MailStatus.SENT for each in await mails(runtime, to))


async def planned(runtime: Runtime) -> list[str]:
    rows = await runtime.pool.fetch(
        "select key from effects where reaction = 'mail.remind' and state = 'queued' order by next_try_at"
    )
    return [row["key"].split(":")[1] for row in rows]


async def at(runtime: Runtime, clock: MovingClock, **before: float) -> int:
    """Let time pass until so long before Wednesday's meeting, and count what Jonas was reminded of."""
    clock.now = WEDNESDAY - timedelta(**before)
    await work_off(runtime, clock)
    return await reminders(runtime)


async def test_a_reminder_a_day_and_an_hour_before(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await book(WEDNESDAY, guests=(LI,))
    assert await at(runtime, clock, hours=24, seconds=1) == 0
    assert await at(runtime, clock, hours=24) == 1
    assert await at(runtime, clock, hours=23) == 1
    assert await at(runtime, clock, hours=1, seconds=1) == 1
    assert await at(runtime, clock, hours=1) == 2
    assert await at(runtime, clock, hours=-5) == 2
    assert await reminders(runtime, LI) == 2
    assert await reminders(runtime, MARA) == 0
    reminder = (await messages(runtime, JONAS))[1]
    assert reminder["Subject"].startswith("Reminder: ")
    assert "/manage/" in part(reminder, "text/plain")
    assert [each.get_content_type() for each in reminder.walk()] == ["multipart/alternative", "text/plain", "text/html"]


async def test_reminders_move_with_the_booking(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    booking = await book(WEDNESDAY)
    await work_off(runtime, clock)
    await move(runtime, booking, WEDNESDAY + timedelta(hours=2))
    await work_off(runtime, clock)
    assert await planned(runtime) == ["1440", "60"]
    assert await at(runtime, clock, hours=24) == 0
    assert await at(runtime, clock, hours=22) == 1
    assert await at(runtime, clock, hours=1) == 1
    assert await at(runtime, clock, hours=-1) == 2


async def test_reminders_are_dropped_with_the_booking(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    booking = await book(WEDNESDAY)
    await work_off(runtime, clock)
    assert await planned(runtime) == ["1440", "60"]
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert await planned(runtime) == []
    assert await at(runtime, clock, hours=0) == 0


async def test_a_reminder_that_comes_before_the_news_of_a_change_is_not_sent(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book(WEDNESDAY)
    await work_off(runtime, clock)
    clock.now = WEDNESDAY - timedelta(hours=24)
    await cancel(runtime, booking)
    await runtime.pool.execute(
        "update effects set next_try_at = next_try_at + interval '1 hour' where reaction = 'mail.fan_out'"
    )
    await work_off(runtime, clock)
    assert await reminders(runtime) == 0
    assert await planned(runtime) == ["60"]
    unsent = "select last_error from effects where reaction = 'mail.remind' and state = 'skipped'"
    assert await runtime.pool.fetchval(unsent) == "mail.cancelled"


async def test_a_reminder_of_an_earlier_time_is_not_sent_whatever_was_chosen_meanwhile(
    runtime: Runtime, clock: MovingClock, book: Book, user: User
) -> None:
    async def choose(*minutes: int) -> None:
        async with runtime.transaction(OPERATOR) as work:
            await set_reminders(work, user, None, minutes)

    await choose(120)
    booking = await book(WEDNESDAY)
    await work_off(runtime, clock)
    await choose(60)
    await move(runtime, booking, WEDNESDAY + timedelta(hours=4))
    await work_off(runtime, clock)
    await choose(120, 60)
    assert await at(runtime, clock, hours=2) == 0
    assert await at(runtime, clock, hours=-3) == 1


async def test_a_worker_that_starts_late_sends_only_what_still_makes_sense(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    assert await at(runtime, clock, minutes=30) == 1


async def test_a_worker_that_starts_after_the_beginning_sends_no_reminder(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    assert await at(runtime, clock, seconds=0) == 0


async def test_a_booking_at_short_notice_has_the_reminders_that_are_still_to_come(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    clock.now = WEDNESDAY - timedelta(hours=5)
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    assert await planned(runtime) == ["60"]


async def test_the_hosts_choice_holds_when_the_reminder_is_due(
    runtime: Runtime, clock: MovingClock, book: Book, user: User
) -> None:
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        await set_reminders(work, user, None, (60,))
    assert await at(runtime, clock, hours=24) == 0
    assert await at(runtime, clock, hours=1) == 1


async def test_no_reminders_where_the_host_wants_none(
    runtime: Runtime, clock: MovingClock, book: Book, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await set_reminders(work, user, None, ())
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    assert await planned(runtime) == []


async def test_planned_reminders_are_no_mail_yet(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    booking = await book(WEDNESDAY)
    await work_off(runtime, clock)
    assert {each.kind for each in await mails(runtime, booking_id=booking.id)} == {MailKind.CONFIRMATION}


async def test_a_worker_takes_a_reminder_in_time(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await book(WEDNESDAY)
    await work_off(runtime, clock)
    due_at = WEDNESDAY - timedelta(hours=24)
    assert await take_effects(runtime.pool, new_id(), now=due_at - timedelta(seconds=1), limit=9) == ([], due_at)
    (reminder,), _ = await take_effects(runtime.pool, new_id(), now=due_at, limit=9)
    assert reminder.reaction == "mail.remind"


@pytest.mark.parametrize(
    ("minutes", "before", "lost"),
    [
        (1440, timedelta(hours=24), None),
        (1440, timedelta(hours=2), None),
        (1440, timedelta(hours=1), LATER_DUE),
        (60, timedelta(hours=1), None),
        (60, timedelta(seconds=1), None),
        (60, timedelta(), BEGUN),
        (30, timedelta(minutes=30), UNWANTED_ENTRY),
    ],
)
def test_when_a_reminder_has_lost_its_meaning(minutes: int, before: timedelta, lost: CodedReason | None) -> None:
    entry = find_entry(DEFAULT_REMINDERS, ReminderMoment.BEFORE, minutes, "email")
    assert find_lost_meaning(entry, DEFAULT_REMINDERS, WEDNESDAY, WEDNESDAY, now=WEDNESDAY - before) == lost


def test_reminders_whose_time_has_passed_are_not_planned() -> None:
    now = WEDNESDAY - timedelta(hours=24)
    assert [is_to_come(each, WEDNESDAY, WEDNESDAY, now=now) for each in DEFAULT_REMINDERS] == [False, True]
