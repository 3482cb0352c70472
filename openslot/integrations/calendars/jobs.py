"""Periodic jobs of calendars: a reading is planned again for each connection that is due and has none planned."""

from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.integrations.calendars import operations, store

MOST = 1_000


async def plan_forgotten(work: Work) -> str:
    """Plan the reading of calendar connections that are due and have no planned effect."""
    forgotten = await store.list_forgotten(work.db, operations.READ, now=work.now, limit=MOST)
    for connection_id in forgotten:
        await operations.plan_sync(work, connection_id)
    return f"{len(forgotten)} calendar connections planned"


CALENDAR_JOBS = (Periodic(name="calendars.plan", expression="* * * * *", run=plan_forgotten),)
