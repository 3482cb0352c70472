"""Decisions about reminders and follow-ups: when each is due, until when it is of use, and why one is not sent."""

import re
from datetime import datetime, timedelta

from msgspec import Struct

from openslot.conversations.models import Channel, MessagePurpose
from openslot.core.errors import Invalid
from openslot.core.text import EMPTY, NOT_ALLOWED, at_most_characters, is_prose
from openslot.i18n import Text
from openslot.messaging.models import BookingFacts, DropReason, FollowUp, MessageSettings

# A follow-up that could not be sent for so long is not sent any more.
FOLLOW_UP_LASTS = timedelta(hours=24)
LONGEST_WAIT = 336
"""In hours."""
LONGEST_TEXT = 480
VARIABLES = ("name", "host", "event")
NO_VARIABLE = Text("must not have %(word)s: only {name}, {host} and {event} are filled in")
HOURS = Text("must be from 1 to %(max)s hours", max=LONGEST_WAIT)
NO_CHANNEL = Text("must be at least one channel")

_BRACES = re.compile(r"\{[^{}]*\}")


class DueMessage(Struct, frozen=True, kw_only=True):
    """A message that is planned for a booking."""

    purpose: MessagePurpose
    channel: Channel
    due_at: datetime
    valid_until: datetime
    minutes: int | None = None
    """How long before the meeting; None: a follow-up."""


def plan_messages(
    settings: MessageSettings, *, starts_at: datetime, ends_at: datetime, now: datetime
) -> list[DueMessage]:
    """List what is due for a booking; a reminder whose time has passed is not sent."""
    reminders = [
        DueMessage(
            purpose=MessagePurpose.REMINDER, channel=channel, due_at=due_at, valid_until=starts_at, minutes=minutes
        )
        for minutes in settings.minutes
        for channel in settings.channels
        if (due_at := starts_at - timedelta(minutes=minutes)) > now
    ]
    follow_up = settings.follow_up
    if follow_up is None:
        return reminders
    due_at = ends_at + timedelta(hours=follow_up.hours_after)
    valid_until = due_at + FOLLOW_UP_LASTS
    purpose = MessagePurpose.FOLLOW_UP
    return reminders + [
        DueMessage(purpose=purpose, channel=channel, due_at=due_at, valid_until=valid_until)
        for channel in follow_up.channels
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


def find_unwanted(
    settings: MessageSettings, channel: Channel, minutes: int | None, *, starts_at: datetime, now: datetime
) -> DropReason | None:
    """Say why the host does not want a message that was planned before; None if it is wanted."""
    if minutes is None:
        is_wanted = settings.follow_up is not None and channel in settings.follow_up.channels
        return None if is_wanted else DropReason.NOT_WANTED
    if minutes not in settings.minutes or channel not in settings.channels:
        return DropReason.NOT_WANTED
    is_behind = any(each < minutes and starts_at - timedelta(minutes=each) <= now for each in settings.minutes)
    return DropReason.LATER_DUE if is_behind else None


def check_follow_up(follow_up: FollowUp) -> FollowUp:
    """Refuse a follow-up that can't be sent, and name everything that is wrong with it."""
    faults: dict[str, str] = {}
    if not follow_up.channels:
        faults["channels"] = NO_CHANNEL
    if not 1 <= follow_up.hours_after <= LONGEST_WAIT:
        faults["hours"] = HOURS
    if fault := _find_text_fault(follow_up.text):
        faults["text"] = fault
    if faults:
        raise Invalid(details=faults)
    return follow_up


def _find_text_fault(text: str) -> str | None:
    if not text.strip():
        return EMPTY
    if len(text) > LONGEST_TEXT:
        return at_most_characters(LONGEST_TEXT)
    if not is_prose(text):
        return NOT_ALLOWED
    known = {f"{{{name}}}" for name in VARIABLES}
    unknown = next((word for word in _BRACES.findall(text) if word not in known), None)
    return NO_VARIABLE.fill(word=unknown) if unknown else None
