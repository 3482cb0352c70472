"""Decisions about reminders and follow-ups by message: when each is due, how long it is of use, why it is not sent."""

from datetime import datetime

from msgspec import Struct

from openslot.domains.conversations.models import Channel, MessagePurpose
from openslot.domains.messaging.models import BookingFacts, DropReason
from openslot.domains.reminders.models import Entries, ReminderEntry, ReminderMoment
from openslot.domains.reminders.rules import FOLLOW_UP_LASTS, find_entry, is_behind, is_to_come, list_of_channels

MOMENT_OF = {
    MessagePurpose.REMINDER: ReminderMoment.BEFORE,
    MessagePurpose.FOLLOW_UP: ReminderMoment.AFTER,
}
PURPOSE_OF = {moment: purpose for purpose, moment in MOMENT_OF.items()}


class DueMessage(Struct, frozen=True, kw_only=True):
    """A message that is planned for a booking."""

    purpose: MessagePurpose
    channel: Channel
    due_at: datetime
    valid_until: datetime
    minutes: int
    """How long before the meeting begins, or after it has ended."""


def plan_due_messages(entries: Entries, *, starts_at: datetime, ends_at: datetime, now: datetime) -> list[DueMessage]:
    """List what is due for a booking; a reminder whose time has passed is not sent."""
    return [
        DueMessage(
            purpose=PURPOSE_OF[entry.moment],
            channel=Channel(entry.channel.value),
            due_at=entry.due_at(starts_at, ends_at),
            valid_until=starts_at if entry.is_reminder else entry.due_at(starts_at, ends_at) + FOLLOW_UP_LASTS,
            minutes=entry.minutes,
        )
        for entry in list_of_channels(entries, *Channel)
        if is_to_come(entry, starts_at, ends_at, now=now)
    ]


def find_lost_meaning(
    facts: BookingFacts | None, purpose: MessagePurpose, *, valid_until: datetime, now: datetime
) -> DropReason | None:
    """Say why a message about a booking must not be sent, or no longer; None if it may."""
    if facts is None or not facts.is_confirmed:
        return DropReason.CANCELLED
    is_reminder = purpose is MessagePurpose.REMINDER
    # A reminder is of use until the meeting begins, and a follow-up comes after it.
    if facts.starts_at != valid_until if is_reminder else facts.ends_at > now:
        return DropReason.MOVED
    if not facts.is_agreed:
        return DropReason.NOT_AGREED
    if now >= valid_until:
        return DropReason.TOO_LATE
    return DropReason.NO_SHOW if facts.no_show else None


def find_wanted_entry(
    entries: Entries, purpose: MessagePurpose, channel: Channel, minutes: int | None
) -> ReminderEntry | None:
    """Find what a message that was planned before says now; None if the host does not want it any more."""
    return find_entry(entries, MOMENT_OF[purpose], minutes, channel.value)


def find_unwanted_reason(
    entry: ReminderEntry | None, entries: Entries, *, starts_at: datetime, now: datetime
) -> DropReason | None:
    """Say why the host does not want a message that was planned before; None if it is wanted."""
    if entry is None:
        return DropReason.NOT_WANTED
    return DropReason.LATER_DUE if is_behind(entry, entries, starts_at, now=now) else None
