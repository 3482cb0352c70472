"""What hosts have chosen before there were entries holds, and so does what the last release writes beside us."""

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.reminders.models import Audience, ReminderChannel, ReminderEntry, ReminderMoment
from openslot.domains.reminders.operations import get_reminders, save_reminder_entry
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.migrate import former_migrations
from openslot.platform.core.work import Runtime
from tests.support.host import clock, stranger, user

__all__ = ["clock", "stranger", "user"]

MIGRATION = former_migrations()["0053_reminder_entries.sql"]
BEFORE = """
alter table reminder_settings drop column entries,
    add column channels text[] not null default '{email}';
create table message_follow_ups (event_type_id uuid primary key references event_types on delete cascade,
    channels text[] not null, hours_after integer not null, text text not null, updated_at timestamptz not null)"""
SMS, BOTH = ReminderChannel.SMS, Audience.BOTH


@pytest.mark.own_database
async def test_what_was_chosen_before_holds(runtime: Runtime, user: User, stranger: User) -> None:
    found, _ = await event_types.list_event_types(runtime.work(OPERATOR), user, limit=1)
    db, intro = runtime.pool, found[0]
    await db.execute(BEFORE)
    await db.execute(
        """insert into reminder_settings (id, host_id, event_type_id, minutes_before, channels, updated_at)
        values (gen_random_uuid(), $1, null, '{60}', '{sms}', now())""",
        user.id,
    )
    await db.execute(
        "insert into message_follow_ups values ($1, '{sms}', 2, 'Bye {name} {host} {event}', now())", intro.id
    )
    await db.execute("insert into notification_choices values ($1, 'reminder', true, now())", stranger.id)
    await db.execute(MIGRATION)

    work = runtime.work(OPERATOR)
    by_sms = ReminderEntry(minutes=60, channel=SMS)
    thanks = ReminderEntry(
        moment=ReminderMoment.AFTER,
        minutes=120,
        channel=SMS,
        text="Bye {invitee_name} {host_name} {event_name}",
    )
    assert await get_reminders(work, user.id) == (by_sms,)
    assert await get_reminders(work, user.id, intro.id) == (by_sms, thanks)
    assert await get_reminders(work, stranger.id) == (
        ReminderEntry(minutes=1440, to=BOTH),
        ReminderEntry(minutes=60, to=BOTH),
    )
    assert await db.fetchval("select minutes_before from reminder_settings where event_type_id is null limit 1") == []


async def test_times_that_the_last_release_saves_keep_words_and_follow_ups(runtime: Runtime, user: User) -> None:
    mine = ReminderEntry(minutes=60, text="Mine", to=BOTH)
    thanks = ReminderEntry(moment=ReminderMoment.AFTER, minutes=120)
    async with runtime.transaction(OPERATOR) as work:
        await save_reminder_entry(work, user, None, "before-60-email", mine)
        await save_reminder_entry(work, user, None, None, thanks)
    assert await runtime.pool.fetchval("select minutes_before from reminder_settings") == [1440, 60]
    await runtime.pool.execute("update reminder_settings set minutes_before = '{60,15}', updated_at = now()")

    read = await get_reminders(runtime.work(OPERATOR), user.id)
    assert read == (mine, ReminderEntry(minutes=15), thanks)
