"""A host's overview of event types: what is offered, what is archived, and what is booked of each."""

from uuid import UUID

from openslot.accounts.models import User
from openslot.core.db import Row
from openslot.core.work import Work
from openslot.event_types import overview_store
from openslot.event_types.errors import EventTypeNotFound
from openslot.event_types.models import EventTypeOverview, OverviewPage, SealedToken
from openslot.event_types.operations import find_token
from openslot.event_types.store import to_event_type


async def list_overview(work: Work, owner: User, *, active: bool, page: int, limit: int) -> OverviewPage:
    """Read one page of a host's event types that are offered or archived, and how many there are of both."""
    rows = await overview_store.list_rows(
        work.db, owner.id, active=active, now=work.now, limit=limit, offset=(page - 1) * limit
    )
    entries = tuple(_to_overview(work, row) for row in rows if row["id"] is not None)
    return OverviewPage(entries=entries, offered=rows[0]["offered"], archived=rows[0]["archived"])


async def get_overview(work: Work, owner: User, event_type_id: UUID) -> EventTypeOverview:
    """Read one of a host's event types, offered or archived."""
    row = await overview_store.find_row(work.db, owner.id, event_type_id, now=work.now)
    if row is None:
        raise EventTypeNotFound
    return _to_overview(work, row)


def _to_overview(work: Work, row: Row) -> EventTypeOverview:
    return EventTypeOverview(
        event_type=to_event_type(row),
        upcoming=row["upcoming"],
        was_booked=row["was_booked"],
        token=_find_token(work, row),
    )


def _find_token(work: Work, row: Row) -> str | None:
    if row["private_token"] is None:
        return None
    stored = SealedToken(row["private_hash"], row["private_sealed"]) if row["private_sealed"] else row["private_token"]
    return find_token(work, row["id"], stored)
