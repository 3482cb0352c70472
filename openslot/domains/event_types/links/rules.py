"""Decisions about links that can be used a number of times: the bounds of every field, and whether one is open."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from openslot.domains.event_types import errors
from openslot.domains.event_types.models import BookingLink, LinkState
from openslot.platform.core.text import is_line
from openslot.platform.core.times import FIRST_YEAR, LAST_YEAR
from openslot.platform.i18n import Text

MAX_USES = 1000
LONGEST_NOTE = 200
MAX_OPEN = 1000
"""How many open links an event type can have."""

REFUSALS: Final = {
    LinkState.USED_UP: errors.LinkUsedUp,
    LinkState.ENDED: errors.LinkEnded,
    LinkState.REVOKED: errors.LinkRevoked,
}


def find_link_faults(*, uses: int, ends_at: datetime | None, note: str | None, now: datetime) -> dict[str, str]:
    """Name every invalid field of a new link, and what is wrong with it."""
    faults: dict[str, str] = {}
    if not 1 <= uses <= MAX_USES:
        faults["uses"] = Text("must be between %(first)s and %(last)s", first=1, last=MAX_USES)
    if ends_at is not None and ends_at <= now:
        faults["endsAt"] = Text("must be in the future")
    if note and not (len(note) <= LONGEST_NOTE and is_line(note)):
        faults["note"] = Text("must be at most %(count)s characters on one line", count=LONGEST_NOTE)
    return faults


def read_end(text: str, zone: ZoneInfo) -> datetime | None:
    """Read until when a link can be used: a time, in the zone unless it has an offset, or all of a day; or None."""
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if not FIRST_YEAR <= read.year <= LAST_YEAR:
        return None
    if len(text.strip()) == len("2026-03-31"):
        read += timedelta(days=1)
    return (read if read.tzinfo else read.replace(tzinfo=zone)).astimezone(UTC)


def check_open(link: BookingLink, *, now: datetime) -> None:
    """Refuse a link through which nothing can be booked any more."""
    state = link.state(now=now)
    if state is not LinkState.OPEN:
        raise REFUSALS[state]
