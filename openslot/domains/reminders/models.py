"""The nouns: when people are reminded of a meeting or written to after it, how, and in which words."""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct


class ReminderMoment(StrEnum):
    BEFORE = "before"
    """A reminder before the meeting begins."""
    AFTER = "after"
    """A follow-up after the meeting has ended."""


class ReminderChannel(StrEnum):
    """How people are written to; by message only invitees who have agreed to it."""

    EMAIL = "email"
    SMS = "sms"
    WHATSAPP = "whatsapp"


class Audience(StrEnum):
    """Who is written to. Guests are reminded by email like the invitee, and get no follow-ups."""

    INVITEE = "invitee"
    HOST = "host"
    BOTH = "both"


class ReminderEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reminder or a follow-up, as a host wants it for each meeting."""

    moment: ReminderMoment = ReminderMoment.BEFORE
    minutes: int
    channel: ReminderChannel = ReminderChannel.EMAIL
    to: Audience = Audience.INVITEE
    subject: str = ""
    """The subject of an email, with placeholders; empty if it is ours, in the reader's language."""
    text: str = ""
    """The text, with placeholders; empty if it is ours, in the reader's language."""

    @property
    def name(self) -> str:
        """What tells it from the others of the same host or event type."""
        return f"{self.moment}-{self.minutes}-{self.channel}"

    @property
    def is_reminder(self) -> bool:
        return self.moment is ReminderMoment.BEFORE

    @property
    def is_for_host(self) -> bool:
        return self.to is not Audience.INVITEE

    @property
    def is_for_invitee(self) -> bool:
        return self.to is not Audience.HOST

    def due_at(self, starts_at: datetime, ends_at: datetime) -> datetime:
        """Return when it is sent for a meeting at this time."""
        distance = timedelta(minutes=self.minutes)
        return starts_at - distance if self.is_reminder else ends_at + distance


Entries = tuple[ReminderEntry, ...]
