"""Periodic jobs of calendars: readings that nobody has planned, and events that still have the invitee's link."""

from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.integrations.calendars import event_store, operations, store

MOST, MOST_EVENTS = 1_000, 200


async def plan_forgotten(work: Work) -> str:
    """Plan the reading of calendar connections that are due and have no planned effect."""
    forgotten = await store.list_forgotten(work.db, operations.READ, now=work.now, limit=MOST)
    for connection_id in forgotten:
        await operations.plan_sync(work, connection_id)
    return f"{len(forgotten)} calendar connections planned"


async def plan_unlinking(work: Work) -> str:
    """Plan to take the invitee's link out of upcoming events, each once."""
    found = await event_store.take_linked(work.db, now=work.now, limit=MOST_EVENTS)
    for target, owner_id in found:
        await work.plan(event_store.UNLINK, target, due_at=work.now, tenant_id=owner_id, target=target)
    return f"{len(found)} calendar events planned"


CALENDAR_JOBS = (
    Periodic(name="calendars.plan", expression="* * * * *", run=plan_forgotten),
    Periodic(name="calendars.plan_unlinking", expression="* * * * *", run=plan_unlinking),
)
