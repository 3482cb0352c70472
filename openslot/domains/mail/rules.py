"""Decisions about mail: how often it is tried, and how much the public may cause."""

from datetime import timedelta

from openslot.domains.mail.models import CountedMail, MailKind, MailPot, RecipientRole

# Ten tries over a day: greylisting takes minutes, a broken server hours.
DELAYS = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (1, 2, 4, 16)),
)
LIMIT_WINDOW = timedelta(hours=24)
POTS = {
    MailKind.CONFIRMATION: MailPot.CONFIRMATIONS,
    MailKind.LINK: MailPot.CONFIRMATIONS,
    MailKind.REQUEST: MailPot.CONFIRMATIONS,
    MailKind.LAPSE: MailPot.CONFIRMATIONS,
    MailKind.REMINDER: MailPot.REMINDERS,
    MailKind.FOLLOW_UP: MailPot.REMINDERS,
    MailKind.RESCHEDULE: MailPot.RESCHEDULES,
    MailKind.CANCELLATION: MailPot.CANCELLATIONS,
    MailKind.WAIT_LIST: MailPot.WAIT_LIST,
}
# In percent of a host's limit, rounded down; what remains is for first confirmations.
SHARES = {
    MailPot.REMINDERS: 25,
    MailPot.GUESTS: 20,
    MailPot.RESCHEDULES: 5,
    MailPot.CANCELLATIONS: 5,
    MailPot.WAIT_LIST: 5,
}
# In percent: of the first confirmations so many are kept for the event types that are booked less.
KEPT_FOR_OTHERS = 25


def is_last_try(attempts: int) -> bool:
    """Return whether a mail that fails now has failed for good."""
    return attempts > len(DELAYS)


def find_pot(kind: MailKind, role: RecipientRole) -> MailPot | None:
    """Return which part of a host's limit a mail is counted in; None for mail about accounts, which has no such limit.

    Mail to guests is one part, whatever it is about.
    """
    pot = POTS.get(kind)
    return MailPot.GUESTS if pot is not None and role is RecipientRole.GUEST else pot


def list_counted(kind: MailKind) -> list[str]:
    """List the kinds that are counted together: reminders and follow-ups share their part."""
    together = (MailKind.REMINDER, MailKind.FOLLOW_UP)
    return list(together if kind in together else (kind,))


def size_of(pot: MailPot, host_limit: int) -> int:
    """Return how many mails of a pot the public may set off for one host within 24 hours; all add up to the limit."""
    sizes = {each: host_limit * share // 100 for each, share in SHARES.items()}
    return sizes.get(pot, host_limit - sum(sizes.values()))


def has_room(pot: MailPot, counted: CountedMail, size: int) -> bool:
    """Return whether one more mail is within its pot; one event type does not use up the first confirmations alone."""
    if pot is not MailPot.CONFIRMATIONS or counted.of_own is None:
        return sum(counted.by_event_type) < size
    most = size - size * KEPT_FOR_OTHERS // 100
    return counted.of_own < most and sum(min(each, most) for each in counted.by_event_type) < size
