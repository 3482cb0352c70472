"""Email is stopped while 200 mails are due, workers are killed, and it is resumed: each goes out once, in order."""

from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.reminders.rules import BEGUN
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock, Runtime, system_clock
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches import operations as switches
from tests.domains.mail import mail_worker
from tests.domains.mail.conftest import Book, move, read_message
from tests.support.forked import Forked
from tests.support.smtp_server import ScriptedServer, smtp_server
from tests.support.worker_process import stop_kill_and_resume

pytestmark = [pytest.mark.own_database, pytest.mark.rest("kills a worker: one test in make test does")]

BOOKINGS, REMINDERS = 50, 20
MAILS = BOOKINGS * 2 * 2
UNFINISHED = """
select count(*) from effects where reaction in ('mail.fan_out', 'mail.send') and state not in ('done', 'skipped')
or reaction = 'mail.remind' and payload is not null and created_at < now() and next_try_at < now() + interval '2 days'
and state not in ('done', 'skipped')"""
# Reminders of some meetings become due too, and half of these meetings begin before email is resumed.
DUE_REMINDERS = """
update effects set next_try_at = now() where id in (
    select id from effects where reaction = 'mail.remind' and key like '%:60:%' order by no limit $1)
returning id, (payload ->> 'booking_id')::uuid as booking_id"""
BEGIN_MEETINGS = """
update bookings set starts_at = now() - interval '5 minutes', ends_at = now() + interval '1 hour'
where id = any($1)"""


@pytest.fixture
def clock() -> Clock:
    """The clock of the workers."""
    return system_clock


async def book_and_move(runtime: Runtime, book: Book) -> None:
    """Cause two mails in each of the lanes of an invitee and the host."""
    day = runtime.clock().replace(hour=9, minute=0, second=0, microsecond=0) + timedelta(days=7)
    day += timedelta(days=(7 - day.weekday()) % 7)
    for number in range(BOOKINGS):
        starts_at = day + timedelta(days=number // 10, minutes=30 * (number % 10))
        booking = await book(starts_at, email=f"booker{number}@okafor.example", actor=OPERATOR)
        await move(runtime, booking, starts_at + timedelta(weeks=1), actor=OPERATOR)


def start_worker(settings: Settings, server: ScriptedServer) -> Forked:
    return Forked(mail_worker.run, settings.database_url or "", str(settings.data_dir), str(server.port))


async def test_each_of_200_mails_goes_out_once_or_is_dropped_for_a_reason(
    settings: Settings, runtime: Runtime, book: Book, user: User
) -> None:
    await book_and_move(runtime, book)
    async with smtp_server() as server:
        begun: list[UUID] = []

        def start() -> Forked:
            return start_worker(settings, server)

        async def count_received() -> int:
            return len(server.received)

        async def count_unfinished() -> int:
            return int(await runtime.pool.fetchval(UNFINISHED))

        async def let_reminders_be_due() -> None:
            assert len(server.received) < MAILS
            rows = await runtime.pool.fetch(DUE_REMINDERS, REMINDERS)
            begun.extend(row["booking_id"] for row in rows[: REMINDERS // 2])

        async def let_meetings_begin() -> None:
            await runtime.pool.execute(BEGIN_MEETINGS, begun)

        held = await stop_kill_and_resume(
            runtime,
            OutgoingChannel.EMAIL,
            start=start,
            count_sent=count_received,
            count_unfinished=count_unfinished,
            when_stopped=let_reminders_be_due,
            before_resuming=let_meetings_begin,
        )
        assert held > REMINDERS

        messages = [(each.recipient, read_message(each.content)) for each in server.received]
        assert set(Counter(str(each["Message-ID"]) for _, each in messages).values()) == {1}
        dropped = await switches.list_dropped(runtime.work(OPERATOR))
        assert [each.reason for each in dropped] == [BEGUN.code] * len(begun)
        assert len(messages) == MAILS + REMINDERS - len(begun)
        for number in range(BOOKINGS):
            to_one = [str(each["Subject"]) for to, each in messages if to == f"booker{number}@okafor.example"]
            kinds = [subject.partition(":")[0] for subject in to_one if not subject.startswith("Reminder")]
            assert kinds == ["Confirmed", "Rescheduled"]
