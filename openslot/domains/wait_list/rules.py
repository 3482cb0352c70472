"""Decisions about the wait list: what is full, how long an offer lasts, and which free time fits whom."""

from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from openslot.domains.allowances.rules import find_mail_domain
from openslot.domains.availability.models import Days, SlotInputs, Slots
from openslot.domains.availability.slots import spans_of
from openslot.domains.event_types.models import EventType
from openslot.domains.wait_list.models import Offer, WaitListEntry
from openslot.platform.core.times import at_second, floor_second, get_zone

DEFAULT_MINUTES = 120
MAX_OF_DAY = 50
"""How many can wait for a day who have confirmed their address."""
MAX_OF_DOMAIN = 20
"""How many of them at one mail domain that is not a large provider's."""
MAX_UNPROVEN = 500
"""How many more may not have confirmed their address; beyond that, the oldest are forgotten."""
MAX_OF_ADDRESS = 5
PROVEN_WITHIN = timedelta(hours=24)
ASKED_AGAIN_AFTER = timedelta(minutes=10)
KEPT_FOR = timedelta(days=30)
"""How long an entry is kept after its day."""

HANDING_ON = timedelta(minutes=1)
"""How much longer than people are told a time is kept, so that nobody else takes it before it is handed on."""
SHORTEST = timedelta(minutes=10)
"""A time that could be kept only shorter than this is not offered: whoever comes first gets it."""


def is_full(starts_at: datetime | None, *, open_starts: list[int], taken: list[int]) -> bool:
    """Return whether a day, or one session of it, has no free time because others have taken all."""
    if starts_at is None:
        return bool(taken) and not open_starts
    return floor_second(starts_at) in taken


def has_room(email: str, waiting: Collection[str]) -> bool:
    """Return whether one more can wait for a day for which these have confirmed their addresses."""
    domain = find_mail_domain(email)
    of_domain = sum(find_mail_domain(each) == domain for each in waiting) if domain else 0
    return len(waiting) < MAX_OF_DAY and of_domain < MAX_OF_DOMAIN


def list_full_sessions(inputs: SlotInputs, taken: Iterable[int]) -> list[int]:
    """List the starts of group sessions that have no seat left."""
    full = {start for start, each in inputs.sessions.items() if each.seats_left < 1}
    return [start for start in taken if start in full]


def end_of(day: date, starts_at: datetime | None, zone: ZoneInfo) -> datetime:
    """Return when there is nothing more to wait for."""
    return starts_at or at_second(spans_of(Days(day, day), zone)[-1][1])


def plan_offer(event_type: EventType, starts_at: datetime, *, now: datetime) -> tuple[datetime, datetime] | None:
    """Return until when a time is kept and until when it can be taken; None if that would be too short.

    It is never kept longer than the host has said, nor beyond the minimum notice.
    """
    if event_type.wait_list_minutes is None:
        return None
    latest = starts_at - timedelta(minutes=event_type.min_notice_minutes)
    kept_until = min(now + timedelta(minutes=event_type.wait_list_minutes), latest)
    told_until = (kept_until - HANDING_ON).replace(second=0, microsecond=0)
    return (kept_until, told_until) if told_until - now >= SHORTEST else None


def choose_start(entry: WaitListEntry, slots: Slots, earlier: Iterable[Offer]) -> datetime | None:
    """Choose the first open start that the entry waits for and that shares no time with what it was offered before."""
    wanted = None if entry.starts_at is None else floor_second(entry.starts_at)
    of_day = spans_of(Days(entry.day, entry.day), get_zone(entry.zone))
    known = [(floor_second(each.starts_at), floor_second(each.ends_at)) for each in earlier]
    for start in slots.starts:
        is_wanted = wanted in {None, start} and any(since <= start < until for since, until in of_day)
        if is_wanted and all(start >= end or start + slots.duration <= begin for begin, end in known):
            return at_second(start)
    return None


def days_around(*times: tuple[datetime, datetime]) -> frozenset[date]:
    """Return the days on which some times are, in whichever time zone somebody waits for them."""
    return frozenset(
        first + timedelta(days=count)
        for starts_at, ends_at in times
        for first in (starts_at.date() - timedelta(days=1),)
        for count in range((ends_at.date() - first).days + 2)
    )
