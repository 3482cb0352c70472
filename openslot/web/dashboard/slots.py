"""Open slots as choices of a form: some days at a time, each with its starts."""

from datetime import date, datetime, timedelta
from itertools import groupby

from msgspec import Struct

from openslot.accounts.models import User
from openslot.availability import operations as availability
from openslot.availability.models import EventTypeRef
from openslot.bookings.models import Booking
from openslot.core.instants import iso
from openslot.core.work import Work
from openslot.core.zones import at_second, get_zone
from openslot.i18n import Text
from openslot.web import words
from openslot.web.dashboard import phrases
from openslot.web.dates import Weekday

DAYS = 7


class SlotChoice(Struct, frozen=True, kw_only=True):
    """A start that can be chosen."""

    value: str
    time: object


class DayOfSlots(Struct, frozen=True, kw_only=True):
    """The starts of one day."""

    heading: Text | Weekday
    slots: tuple[SlotChoice, ...]


class SlotPage(Struct, frozen=True, kw_only=True):
    """A week of open slots, and where the weeks around it are."""

    first: date
    last: date
    earlier: date | None
    later: date
    days: tuple[DayOfSlots, ...]


async def list_choices(
    work: Work, user: User, which: EventTypeRef, *, first: date | None, moved: Booking | None = None
) -> SlotPage:
    """List the open slots of a week from a day on, in the host's zone, among them those that a moved booking leaves.

    Days that are over are not asked for.
    """
    without = (moved.seat_id or moved.claim_id) if moved else None
    today = words.day(work.now, user.zone)
    begin = max(first or today, today)
    last = begin + timedelta(days=DAYS - 1)
    _, slots, _ = await availability.list_open(work, which, timezone=user.zone, first=begin, last=last, without=without)
    own = moved.starts_at if moved else None
    starts = [start for each in slots.starts if (start := at_second(each)) != own]
    return SlotPage(
        first=begin,
        last=last,
        earlier=max(begin - timedelta(days=DAYS), today) if begin > today else None,
        later=last + timedelta(days=1),
        days=tuple(
            DayOfSlots(heading=phrases.day_heading(on, today=today), slots=tuple(_choice(each, user) for each in group))
            for on, group in groupby(starts, key=lambda start: words.day(start, user.zone))
        ),
    )


def _choice(start: datetime, user: User) -> SlotChoice:
    return SlotChoice(value=iso(start), time=start.astimezone(get_zone(user.zone)).time())
