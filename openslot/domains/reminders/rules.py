"""Decisions about reminders and follow-ups: which may be chosen, when each is due, and why one is not sent."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from openslot.domains.reminders.models import Entries, ReminderChannel, ReminderEntry, ReminderMoment
from openslot.domains.reminders.placeholders import PLACEHOLDERS, find_unknown
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import NOT_ALLOWED, at_most_characters, is_line, is_prose, is_visible
from openslot.platform.i18n import CodedReason, Text

DEFAULT_REMINDERS = (ReminderEntry(minutes=24 * 60), ReminderEntry(minutes=60))
# Of one channel before the meeting, and of one after it.
MAX_REMINDERS = 5
CLOSEST = 5
FURTHEST = {ReminderMoment.BEFORE: 28 * 24 * 60, ReminderMoment.AFTER: 14 * 24 * 60}
LONGEST_SUBJECT, LONGEST_TEXT = 200, 5000
# A message is sent in at most four parts.
LONGEST_MESSAGE = 480
# A follow-up that could not be sent for so long is not sent any more.
FOLLOW_UP_LASTS = timedelta(hours=24)

NO_PLACEHOLDER = Text("must not have %(word)s. These are filled in: %(known)s")
BEGUN = CodedReason("reminders.begun", "the meeting has begun")
TOO_LATE = CodedReason("reminders.too_late", "it would have arrived too late")
UNWANTED_ENTRY = CodedReason(
    "reminders.unwanted", "you have deleted it since", said="this reminder is no longer wanted"
)
LATER_DUE = CodedReason(
    "reminders.later_due", "a later reminder was due already", said="a later reminder is due already"
)
# Marks that turn the direction of what follows them, beyond the text itself.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")


def check_entries(entries: Iterable[ReminderEntry]) -> Entries:
    """Refuse entries that can't be sent, and return the rest in the order in which they are due."""
    chosen = sort_entries(check_entry(each) for each in entries)
    if len({each.name for each in chosen}) < len(chosen):
        raise Invalid(details={"minutes": Text("must be another time: there is one at this time already")})
    for each in chosen:
        if sum(_is_alike(each, other) for other in chosen) > MAX_REMINDERS:
            raise Invalid(details={"minutes": Text("must be at most %(max)s reminders", max=MAX_REMINDERS)})
    return chosen


def _is_alike(one: ReminderEntry, other: ReminderEntry) -> bool:
    return (one.moment, one.channel) == (other.moment, other.channel)


def sort_entries(entries: Iterable[ReminderEntry]) -> Entries:
    """Put entries in the order in which they are due, channels of the same time in their own order."""
    channels = list(ReminderChannel)
    return tuple(
        sorted(
            entries,
            key=lambda each: (-each.minutes if each.is_reminder else each.minutes + 1, channels.index(each.channel)),
        )
    )


def check_entry(entry: ReminderEntry) -> ReminderEntry:
    """Refuse an entry that can't be sent, and name everything that is wrong with it."""
    is_email = entry.channel is ReminderChannel.EMAIL
    faults: dict[str, str] = {}
    if not CLOSEST <= entry.minutes <= FURTHEST[entry.moment]:
        bounds = {"least": CLOSEST, "max": FURTHEST[entry.moment]}
        faults["minutes"] = Text("must be from %(least)s to %(max)s minutes", **bounds)
    if entry.is_for_host and not is_email:
        faults["to"] = Text("must be the invitee: messages go to those who have agreed to them")
    entry = replace(entry, subject=entry.subject.strip(), text=entry.text.strip().replace("\r\n", "\n"))
    if fault := _find_subject_fault(entry.subject, is_email=is_email):
        faults["subject"] = fault
    if fault := _find_text_fault(entry.text, longest=LONGEST_TEXT if is_email else LONGEST_MESSAGE):
        faults["text"] = fault
    if faults:
        raise Invalid(details=faults)
    return entry


def _find_subject_fault(subject: str, *, is_email: bool) -> str | None:
    if subject and not is_email:
        return Text("must be empty: only an email has a subject")
    if not is_line(subject):
        return NOT_ALLOWED
    return _find_words_fault(subject, longest=LONGEST_SUBJECT)


def _find_text_fault(text: str, *, longest: int) -> str | None:
    return _find_words_fault(text, longest=longest) if is_prose(text) else NOT_ALLOWED


def _find_words_fault(text: str, *, longest: int) -> str | None:
    if len(text) > longest:
        return at_most_characters(longest)
    if _OVERRIDES.search(text):
        return NOT_ALLOWED
    if text and not is_visible(text):
        return Text("must contain visible characters")
    unknown = find_unknown(text)
    known = " ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    return NO_PLACEHOLDER.fill(word=unknown, known=known) if unknown else None


def check_channels(channels: Sequence[str]) -> tuple[ReminderChannel, ...]:
    """Keep each channel once, or refuse unknown ones and none at all: who wants no reminders chooses no times."""
    if not channels or any(each not in set(ReminderChannel) for each in channels):
        choices = ", ".join(ReminderChannel)
        raise Invalid(details={"channels": Text("must be one or more of %(choices)s", choices=choices)})
    return tuple(channel for channel in ReminderChannel if channel in channels)


def with_times(entries: Entries, minutes: Iterable[int], channels: Collection[ReminderChannel]) -> Entries:
    """Remind people at these times by these channels; entries that stay keep their words, and so do follow-ups."""
    known = {each.name: each for each in entries}
    wanted = [ReminderEntry(minutes=each, channel=channel) for each in set(minutes) for channel in channels]
    after = [each for each in entries if not each.is_reminder]
    return sort_entries([*(known.get(each.name, each) for each in wanted), *after])


def with_email_times(entries: Entries, minutes: Iterable[int]) -> Entries:
    """Remind people by email at these times; all else stays as it is."""
    rest = tuple(each for each in entries if not _is_email_reminder(each))
    own = tuple(each for each in entries if _is_email_reminder(each))
    return sort_entries([*with_times(own, minutes, [ReminderChannel.EMAIL]), *rest])


def _is_email_reminder(entry: ReminderEntry) -> bool:
    return entry.is_reminder and entry.channel is ReminderChannel.EMAIL


def list_email_times(entries: Entries) -> list[int]:
    return [each.minutes for each in entries if _is_email_reminder(each)]


def list_of_channels(entries: Entries, *channels: str) -> Entries:
    return tuple(each for each in entries if each.channel in channels)


def find_entry(entries: Entries, moment: ReminderMoment, minutes: int | None, channel: str) -> ReminderEntry | None:
    """Find what was planned among what is wanted now; without minutes the first of its kind."""
    return next(
        (
            each
            for each in entries
            if each.moment is moment and each.channel == channel and minutes in {None, each.minutes}
        ),
        None,
    )


def is_to_come(entry: ReminderEntry, starts_at: datetime, ends_at: datetime, *, now: datetime) -> bool:
    """Return whether an entry is planned for a meeting; a reminder whose time has passed is not sent."""
    return entry.due_at(starts_at, ends_at) > now


def is_behind(entry: ReminderEntry, entries: Entries, starts_at: datetime, *, now: datetime) -> bool:
    """Return whether a later reminder by the same channel is due already, so that this one is not needed."""
    return entry.is_reminder and any(
        _is_alike(each, entry) and each.minutes < entry.minutes and each.due_at(starts_at, starts_at) <= now
        for each in entries
    )


def find_lost_meaning(
    entry: ReminderEntry | None, entries: Entries, starts_at: datetime, ends_at: datetime, *, now: datetime
) -> CodedReason | None:
    """Say why an entry is no longer worth sending; None if it is."""
    if entry is None:
        return UNWANTED_ENTRY
    if entry.is_reminder and now >= starts_at:
        return BEGUN
    if not entry.is_reminder and now >= entry.due_at(starts_at, ends_at) + FOLLOW_UP_LASTS:
        return TOO_LATE
    return LATER_DUE if is_behind(entry, entries, starts_at, now=now) else None
