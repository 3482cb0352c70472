"""Meetings that are reminded of by message, and what became of the messages."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import ConsentSource, MessageConsent
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.reminders import operations as reminders
from openslot.domains.reminders.models import ReminderChannel, ReminderEntry, ReminderMoment
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import recall
from tests.support.clocks import MONDAY, MovingClock
from tests.support.effects import work_off

Numbers = dict[str, MessagingConnection]
PHONE = "+4915112345678"
AGREED = MessageConsent(phone=PHONE, text="Send me messages", source=ConsentSource.BOOKING_PAGE)
THANKS = ReminderEntry(moment=ReminderMoment.AFTER, minutes=120, channel=ReminderChannel.SMS, text="Thanks")
WEDNESDAY = MONDAY.replace(hour=10) + timedelta(days=2)


async def choose(runtime: Runtime, user: User, *channels: str, minutes: tuple[int, ...] = (60,)) -> None:
    """Choose how all meetings of a host are reminded of."""
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, user, None, minutes, channels=channels)


async def find_type(runtime: Runtime, user: User) -> EventType:
    found, _ = await event_types.list_event_types(runtime.work(OPERATOR), user, limit=10)
    return next(each for each in found if each.slug == "30min")


async def follow_up(runtime: Runtime, user: User, text: str = "Thanks, {invitee_name}! {host_name}") -> None:
    """Write to invitees two hours after all meetings of a host."""
    async with runtime.transaction(OPERATOR) as work:
        await reminders.save_reminder_entry(work, user, None, None, replace(THANKS, text=text))


async def until(runtime: Runtime, clock: MovingClock, **after: float) -> None:
    """Let time pass until so long after Wednesday's meeting begins."""
    clock.now = WEDNESDAY + timedelta(**after)
    await work_off(runtime, clock)


async def planned(runtime: Runtime) -> list[str]:
    rows = await runtime.pool.fetch(
        """select key from effects where reaction in ('messaging.remind', 'messaging.follow_up') and state = 'queued'
        order by next_try_at"""
    )
    return [row["key"].partition(":")[2] for row in rows]


async def dropped(runtime: Runtime) -> list[str]:
    """List why messages were not sent."""
    rows = await runtime.pool.fetch(
        """select last_error from effects
        where reaction in ('messaging.remind', 'messaging.follow_up') and state = 'skipped' order by no"""
    )
    return [str(recall(row["last_error"])) for row in rows]


async def kept(runtime: Runtime) -> list[tuple[Any, ...]]:
    rows = await runtime.pool.fetch("select purpose, booking_id, status, error from messages order by at, id")
    return [tuple(row.values()) for row in rows]
