"""What people have booked with a host of the demo in the last months, drawn up and not written."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from openslot.demo.guests import GUESTS, Guest
from openslot.domains.event_types.models import EventType

HOURS = {8: 1, 9: 3, 10: 7, 11: 6, 12: 1, 13: 2, 14: 6, 15: 5, 16: 3, 17: 1}
"""How popular each hour of the host's day is; the others hardly are."""
WEEKDAYS = (0.8, 1.15, 1.1, 1.0, 0.9, 0.5, 0.5)
KEPT, CANCELLED, MOVED, MISSED = "kept", "cancelled", "moved", "missed"
FATES = {KEPT: 74, CANCELLED: 11, MOVED: 9, MISSED: 6}
SEATS_TAKEN = 4
"""The most seats taken in one group session."""
LONGEST_LEAD = timedelta(days=13)
A_DAY = timedelta(days=1)

Starts = Mapping[date, Sequence[datetime]]


class PastMeeting(Struct, frozen=True, kw_only=True):
    """A time that was booked; a group session has several guests, each with a moment of booking."""

    offer: EventType
    starts_at: datetime
    guests: tuple[tuple[Guest, datetime], ...]
    """The guests, each with the moment at which they have booked."""
    fate: str = KEPT
    previous_starts_at: datetime | None = None


class PastDraft:
    """The meetings of one host, one day after the other, none of which overlap."""

    def __init__(self, chance: Random, offered: Sequence[tuple[EventType, Starts]], zone: ZoneInfo) -> None:
        self._chance = chance
        self._offered = offered
        self._zone = zone
        self._taken: list[tuple[datetime, datetime]] = []
        self.meetings: list[PastMeeting] = []

    def add_day(self, on: date, *, busy: float) -> None:
        """Draw up the meetings of one day, about as many as the day is busy."""
        wanted = self._chance.gauss(busy * WEEKDAYS[on.weekday()], 0.8)
        # The first offers are the most wanted.
        weights = range(len(self._offered), 0, -1)
        for offer, open_ in self._chance.choices(self._offered, weights, k=max(0, round(wanted))):
            starts = open_.get(on, ())
            starts_at = None if self._is_limited(offer, on) else self._choose(offer, starts)
            if starts_at is not None:
                self.meetings.append(self._meet(offer, starts_at, starts))

    def _is_limited(self, offer: EventType, on: date) -> bool:
        """Keep one a day of what has a limit: a week then never has too many."""
        limited = offer.limits.per_day is not None or offer.seats > 1
        return limited and any(
            each.offer is offer and each.starts_at.astimezone(self._zone).date() == on for each in self.meetings
        )

    def _choose(self, offer: EventType, starts: Sequence[datetime]) -> datetime | None:
        """Choose a free start, rather at a popular hour, and take its time."""
        near = [(begin, end) for begin, end in self._taken[-30:] if end > starts[0] - A_DAY] if starts else []
        free = [start for start in starts if _is_free(*during(offer, start), near)]
        if not free:
            return None
        chosen = self._chance.choices(free, [HOURS.get(start.astimezone(self._zone).hour, 0.2) for start in free])[0]
        self._taken.append(during(offer, chosen))
        return chosen

    def _meet(self, offer: EventType, starts_at: datetime, starts: Sequence[datetime]) -> PastMeeting:
        if offer.seats > 1:
            guests = self._chance.sample(GUESTS, self._chance.randint(2, SEATS_TAKEN))
            booked = tuple((guest, self._book(offer, starts_at)) for guest in guests)
            return PastMeeting(offer=offer, starts_at=starts_at, guests=booked)
        fate = self._chance.choices(list(FATES), list(FATES.values()))[0]
        # Some come again and again.
        guest = GUESTS[min(int(self._chance.expovariate(1 / 8)), len(GUESTS) - 1)]
        previous = self._choose(offer, starts) if fate == MOVED else None
        booked_at = self._book(offer, min(starts_at, previous or starts_at))
        meeting = PastMeeting(offer=offer, starts_at=starts_at, guests=((guest, booked_at),), fate=fate)
        return replace(meeting, previous_starts_at=previous, fate=fate if previous or fate != MOVED else KEPT)

    def _book(self, offer: EventType, starts_at: datetime) -> datetime:
        """Choose when somebody has booked a start: with enough notice, by day, and rather soon before it."""
        ahead = timedelta(minutes=offer.min_notice_minutes + 30, days=self._chance.expovariate(1 / 3.5))
        booked_at = (starts_at - min(ahead, LONGEST_LEAD)).replace(second=self._chance.randrange(60), microsecond=0)
        return booked_at - timedelta(hours=9) if booked_at.astimezone(self._zone).hour < 7 else booked_at


def during(offer: EventType, starts_at: datetime) -> tuple[datetime, datetime]:
    """Return the time that a meeting takes, with its buffers."""
    ends_at = starts_at + timedelta(minutes=offer.duration_minutes)
    return starts_at - timedelta(minutes=offer.buffer_before), ends_at + timedelta(minutes=offer.buffer_after)


def _is_free(begins: datetime, ends: datetime, taken: Sequence[tuple[datetime, datetime]]) -> bool:
    return all(end <= begins or ends <= begin for begin, end in taken)
