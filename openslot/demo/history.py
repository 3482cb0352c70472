"""The last months of the demo's hosts: what was open then, what people have booked of it, and visits of the pages."""

from datetime import UTC, date, datetime, time, timedelta
from random import Random

from openslot.demo.past import PastDraft, Starts
from openslot.demo.past_rows import PastRows
from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import lock_host
from openslot.domains.analytics.models import PageView
from openslot.domains.analytics.operations import add_page_views, list_page_views
from openslot.domains.availability.models import BySlug
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings.operations import list_bookings
from openslot.domains.event_types.models import EventType
from openslot.platform.core.moments import Span
from openslot.platform.core.times import at_second, get_zone
from openslot.platform.core.work import Work

DAYS = 120
# Every booking window covers as many days at once.
PART = timedelta(days=21)
SOURCES = {"direct": 5, "harbor.example": 4, "search.example": 3, "newsletter": 2, "internal": 2}
"""How often each is seen on a good day, at most."""


async def has_bookings(work: Work, host: User) -> bool:
    _, total = await list_bookings(work, host, status=None, span=Span(), page=1, limit=1)
    return total > 0


async def make_past(work: Work, host: User, offered: list[EventType], *, busy: float) -> None:
    """Write the past of a host who has none yet; the first offers are the most wanted."""
    await lock_host(work.db, host.id)
    zone = get_zone(host.zone)
    last = work.now.astimezone(zone).date()
    first = last - timedelta(days=DAYS)
    chance = Random(f"{host.username} 2027")  # noqa: S311 - the same demo for everyone
    draft = PastDraft(chance, [(each, await _list_starts(work, host, each, first, last)) for each in offered], zone)
    for n in range(DAYS + 1):
        # Business grows.
        draft.add_day(first + timedelta(days=n), busy=busy * (0.7 + 0.6 * n / DAYS))
    await PastRows(work, host, chance).write(draft.meetings)


async def _list_starts(work: Work, host: User, offer: EventType, first: date, last: date) -> Starts:
    """List what was open on each day and is over by now."""
    zone, found = get_zone(host.zone), dict[date, list[datetime]]()
    over = work.now - timedelta(minutes=offer.duration_minutes)
    while first <= last:
        until = min(first + PART, last)
        then = at(work, datetime.combine(first, time.min, zone) - timedelta(days=2))
        _, slots, _ = await list_open_slots(
            then, BySlug(host.id, offer.slug), timezone=host.zone, first=first, last=until
        )
        for start in map(at_second, slots.starts):
            if start < over:
                found.setdefault(start.astimezone(zone).date(), []).append(start)
        first = until + timedelta(days=1)
    return found


def at(work: Work, now: datetime) -> Work:
    """Return the same work at another time."""
    return Work(runtime=work.runtime, actor=work.actor, db=work.db, now=now.astimezone(UTC))


async def make_visits(work: Work, host: User, offered: list[EventType]) -> None:
    """Count visits of the last months, from a few sources and fewer at weekends, if there are none yet."""
    today = work.now.astimezone(get_zone(host.zone)).date()
    if await list_page_views(work, host, first=today - timedelta(days=DAYS), last=today):
        return
    chance = Random(2027)  # noqa: S311 - the same demo for everyone
    views = dict[PageView, int]()
    for on in (today - timedelta(days=days) for days in range(DAYS)):
        for page in (None, *(each.id for each in offered)):
            for source, most in SOURCES.items():
                seen = chance.randint(0, most if on.weekday() < 5 else most // 3)
                if seen and not (page is None and source == "internal"):
                    views[PageView(username=host.username, event_type_id=page, on=on, source=source)] = seen
    await add_page_views(work, views)
