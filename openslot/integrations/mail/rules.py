"""Decisions about mail: how often it is tried, how much the public may cause, and when people are reminded."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from openslot.core.errors import Invalid
from openslot.i18n import Text
from openslot.integrations.mail.models import MailKind, MailPot, RecipientRole, ReminderChannel, ReminderSettings

# Ten tries over a day: greylisting takes minutes, a broken server hours.
DELAYS = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (1, 2, 4, 16)),
)
BEGUN = "the meeting has begun"
LIMIT_WINDOW = timedelta(hours=24)
POTS = {
    MailKind.CONFIRMATION: MailPot.CONFIRMATIONS,
    MailKind.LINK: MailPot.CONFIRMATIONS,
    MailKind.REQUEST: MailPot.CONFIRMATIONS,
    MailKind.LAPSE: MailPot.CONFIRMATIONS,
    MailKind.REMINDER: MailPot.REMINDERS,
    MailKind.RESCHEDULE: MailPot.RESCHEDULES,
    MailKind.CANCELLATION: MailPot.CANCELLATIONS,
}
# In percent of a host's limit, rounded down; what remains is for first confirmations.
SHARES = {MailPot.REMINDERS: 30, MailPot.GUESTS: 20, MailPot.RESCHEDULES: 5, MailPot.CANCELLATIONS: 5}

DEFAULT_REMINDERS = ReminderSettings(minutes=(24 * 60, 60))
MAX_REMINDERS = 5
EARLIEST_REMINDER, LATEST_REMINDER = 28 * 24 * 60, 5


def is_last_try(attempts: int) -> bool:
    """Return whether a mail that fails now has failed for good."""
    return attempts > len(DELAYS)


def find_pot(kind: MailKind, role: RecipientRole) -> MailPot | None:
    """Return which part of a host's limit a mail is counted in; None for mail about accounts, which has no such limit.

    Mail to guests is one part, whatever it is about.
    """
    pot = POTS.get(kind)
    return MailPot.GUESTS if pot is not None and role is RecipientRole.GUEST else pot


def size_of(pot: MailPot, host_limit: int) -> int:
    """Return how many mails of a pot the public may set off for one host within 24 hours; all add up to the limit."""
    sizes = {each: host_limit * share // 100 for each, share in SHARES.items()}
    return sizes.get(pot, host_limit - sum(sizes.values()))


def check_reminders(minutes: Sequence[int]) -> tuple[int, ...]:
    """Keep each reminder once, earliest first, or refuse invalid ones; an empty list is allowed."""
    chosen = tuple(sorted(set(minutes), reverse=True))
    if len(chosen) > MAX_REMINDERS:
        raise Invalid(details={"minutes": Text("must be at most %(max)s reminders", max=MAX_REMINDERS)})
    if any(not LATEST_REMINDER <= each <= EARLIEST_REMINDER for each in chosen):
        words = Text("must be from %(least)s to %(max)s minutes", least=LATEST_REMINDER, max=EARLIEST_REMINDER)
        raise Invalid(details={"minutes": words})
    return chosen


def check_channels(channels: Sequence[str]) -> tuple[ReminderChannel, ...]:
    """Keep each channel once, or refuse unknown ones and none at all: who wants no reminders chooses no times."""
    if not channels or any(each not in set(ReminderChannel) for each in channels):
        choices = ", ".join(ReminderChannel)
        raise Invalid(details={"channels": Text("must be one or more of %(choices)s", choices=choices)})
    return tuple(channel for channel in ReminderChannel if channel in channels)


def plan_reminders(starts_at: datetime, minutes: Sequence[int], *, now: datetime) -> dict[int, datetime]:
    """Return when each reminder is due; one whose time has passed is not sent."""
    due = {each: starts_at - timedelta(minutes=each) for each in minutes}
    return {each: moment for each, moment in due.items() if moment > now}


def find_lost_meaning(starts_at: datetime, minutes: int, wanted: Sequence[int], *, now: datetime) -> str | None:
    """Say why a reminder is no longer worth sending; None if it is."""
    if now >= starts_at:
        return BEGUN
    if minutes not in wanted:
        return "this reminder is no longer wanted"
    if any(each < minutes and starts_at - timedelta(minutes=each) <= now for each in wanted):
        return "a later reminder is due already"
    return None
