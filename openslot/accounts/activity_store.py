"""SQL of users' activity."""

from functools import cache
from uuid import UUID

import msgspec

from openslot.accounts.models import Activity
from openslot.core.actor import Actor
from openslot.core.db import Db, Row
from openslot.core.moments import Span
from openslot.core.query_plans import custom_plans

FILTERS = ("v.at >=", "v.at <")
MATCHING = "events v where v.tenant_id = $1"
LISTED = """
select t.total, p.* from (select count(*) as total from {matching}) t left join lateral (
    select v.id, v.type, v.at, v.actor, v.subject_kind, v.subject_id, v.no
    from {matching} order by v.no desc limit ${limit} offset ${offset}
) p on true order by p.no desc"""

_actor = msgspec.json.Decoder(Actor)


@custom_plans
async def list_activity(db: Db, user_id: UUID, *, span: Span, limit: int, offset: int) -> tuple[list[Activity], int]:
    """List what happened to a user's account and all that belongs to it, newest first, with how many there are."""
    wished = dict(zip(FILTERS, (span.starts_at, span.ends_before), strict=True))
    given = {filter_: value for filter_, value in wished.items() if value is not None}
    rows = await db.fetch(_write_list(tuple(given)), user_id, *given.values(), limit, offset)
    return [_to_activity(row) for row in rows if row["id"] is not None], rows[0]["total"]


@cache
def _write_list(filters: tuple[str, ...]) -> str:
    matching = " and ".join([MATCHING, *(f"{each} ${place}" for place, each in enumerate(filters, 2))])
    free = len(filters) + 2
    return LISTED.format(matching=matching, limit=free, offset=free + 1)


def _to_activity(row: Row) -> Activity:
    return Activity(
        id=row["id"],
        type=row["type"],
        at=row["at"],
        actor=_actor.decode(row["actor"]),
        subject_type=row["subject_kind"],
        subject_id=row["subject_id"],
    )
