"""Decisions about mail: how often it is tried, how much the public may cause, and when people are reminded."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from openslot.core.errors import Invalid
from openslot.i18n import Text

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

DEFAULT_REMINDERS = (24 * 60, 60)
MOST_REMINDERS = 5
EARLIEST_REMINDER, LATEST_REMINDER = 28 * 24 * 60, 5


def is_last_try(attempts: int) -> bool:
    """Return whether a mail that fails now has failed for good."""
    return attempts > len(DELAYS)


def find_limit(*, to_recipient: int, for_host: int, recipient_limit: int, host_limit: int) -> str | None:
    """Name the limit that mail caused by the public has reached; None if one more may be sent."""
    if to_recipient >= recipient_limit:
        return f"not sent: the public has set off {recipient_limit} mails to this address within 24 hours"
    if for_host >= host_limit:
        return f"not sent: the public has set off {host_limit} mails for this host within 24 hours"
    return None


def check_reminders(minutes: Sequence[int]) -> tuple[int, ...]:
    """Keep each reminder once, earliest first, or refuse invalid ones; an empty list is allowed."""
    chosen = tuple(sorted(set(minutes), reverse=True))
    if len(chosen) > MOST_REMINDERS:
        raise Invalid(details={"minutes": Text("must be at most %(most)s reminders", most=MOST_REMINDERS)})
    if any(not LATEST_REMINDER <= each <= EARLIEST_REMINDER for each in chosen):
        words = Text("must be from %(least)s to %(most)s minutes", least=LATEST_REMINDER, most=EARLIEST_REMINDER)
        raise Invalid(details={"minutes": words})
    return chosen


def plan_reminders(starts_at: datetime, minutes: Sequence[int], *, now: datetime) -> dict[int, datetime]:
    """Return when each reminder is due; one whose time has passed is not sent."""
    due = {each: starts_at - timedelta(minutes=each) for each in minutes}
    return {each: moment for each, moment in due.items() if moment > now}


def find_lost_meaning(starts_at: datetime, minutes: int, wanted: Sequence[int], *, now: datetime) -> str | None:
    """Say why a reminder is no longer worth sending; None where it is."""
    if now >= starts_at:
        return BEGUN
    if minutes not in wanted:
        return "this reminder is no longer wanted"
    if any(each < minutes and starts_at - timedelta(minutes=each) <= now for each in wanted):
        return "a later reminder is due already"
    return None
