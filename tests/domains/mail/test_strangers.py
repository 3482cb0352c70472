"""Reminders that a new host has sent to people who have never booked are counted for the account."""

from datetime import timedelta

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.mail.models import MailKind, MailStatus
from openslot.domains.reminders import operations as reminders
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import Book, mails, work_off
from tests.support.clocks import MONDAY, MovingClock

START = MONDAY + timedelta(days=2, hours=3)
HOURS = (40, 30, 20, 10)


async def remind_often(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, user, None, tuple(hours * 60 for hours in HOURS))


async def reminded(runtime: Runtime, to: str) -> list[MailStatus]:
    return [each.status for each in await mails(runtime, to) if each.kind is MailKind.REMINDER]


async def pass_days(runtime: Runtime, clock: MovingClock) -> None:
    for _ in range(6):
        await work_off(runtime, clock)
        clock.pass_time(hours=9)
    await work_off(runtime, clock)


async def test_a_new_host_reminds_strangers_as_often_as_the_account_may(
    runtime: Runtime, user: User, book: Book, clock: MovingClock
) -> None:
    runtime.settings = replace(runtime.settings, allowance_mail=1)
    # A week old: two mails in 24 hours.
    await runtime.pool.execute(
        "update users set plan = 'FREE', signed_up = true, created_at = created_at - interval '2 days'"
    )
    await remind_often(runtime, user)
    await book(START, email="stranger@victims.example", actor=Actor(kind=ActorKind.SESSION, user_id=user.id))
    await book(START + timedelta(hours=1), email="jonas@okafor.example")

    await pass_days(runtime, clock)

    to_stranger = await mails(runtime, "stranger@victims.example")
    unsent = [each.error or "" for each in to_stranger if each.status is MailStatus.FAILED]
    assert MailStatus.SENT in await reminded(runtime, "stranger@victims.example")
    assert unsent
    assert all(each.startswith("not sent: Used up: emails to people who have never booked") for each in unsent)
    assert await reminded(runtime, "jonas@okafor.example") == [MailStatus.SENT] * len(HOURS)
