"""Four months of visits of the demo host's pages, from a few sources, fewer at weekends."""

from datetime import timedelta
from random import Random

from openslot.accounts.models import User
from openslot.analytics import operations as analytics
from openslot.analytics.models import PageView
from openslot.core.times import get_zone
from openslot.core.work import Work
from openslot.event_types.models import EventType

DAYS = 120
SOURCES = {"direct": 5, "harbor.example": 4, "search.example": 3, "newsletter": 2, "internal": 2}
"""How often each is seen on a good day, at most."""


async def make_visits(work: Work, host: User, offered: list[EventType]) -> None:
    """Count visits of the last months, if there are none yet."""
    today = work.now.astimezone(get_zone(host.zone)).date()
    if await analytics.list_views(work, host, first=today - timedelta(days=DAYS), last=today):
        return
    chance = Random(2027)  # noqa: S311 - the same demo for everyone
    views = dict[PageView, int]()
    for on in (today - timedelta(days=days) for days in range(DAYS)):
        for page in (None, *(each.id for each in offered)):
            for source, most in SOURCES.items():
                seen = chance.randint(0, most if on.weekday() < 5 else most // 3)
                if seen and not (page is None and source == "internal"):
                    views[PageView(username=host.username, event_type_id=page, on=on, source=source)] = seen
    await analytics.add_views(work, views)
