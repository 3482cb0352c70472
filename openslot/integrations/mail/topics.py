"""What a host can be told by mail, and what they are told unless they choose otherwise."""

from collections.abc import Mapping
from enum import StrEnum

from openslot.integrations.mail.models import MailKind


class MailTopic(StrEnum):
    """A kind of mail to a host that can be switched on and off."""

    BOOKED = "booked"
    RESCHEDULED = "rescheduled"
    CANCELLED = "cancelled"
    REMINDER = "reminder"
    CALENDAR = "calendar"
    WEBHOOK = "webhook"


# A host has a calendar, so that reminders are for those who ask for them.
DEFAULT_TOPICS = frozenset(MailTopic) - {MailTopic.REMINDER}
TOPICS_OF_MEETINGS = {
    MailKind.CONFIRMATION: MailTopic.BOOKED,
    MailKind.RESCHEDULE: MailTopic.RESCHEDULED,
    MailKind.CANCELLATION: MailTopic.CANCELLED,
    MailKind.REMINDER: MailTopic.REMINDER,
}
UNWANTED = "the host has switched these mails off"


def decide_topics(choices: Mapping[str, bool]) -> frozenset[MailTopic]:
    """Return which mails a host gets, from what they have chosen."""
    return frozenset(topic for topic in MailTopic if choices.get(topic, topic in DEFAULT_TOPICS))


def list_choices(wanted: frozenset[MailTopic]) -> dict[str, bool]:
    """Keep only what differs from the default, so that a default which changes later holds for everyone else."""
    return {topic: topic in wanted for topic in MailTopic if (topic in wanted) != (topic in DEFAULT_TOPICS)}
