"""SQL that reads the bookings of all hosts together."""

from functools import cache

from openslot.bookings.agenda_store import BELONGINGS, ENTRY_COLUMNS, to_entries
from openslot.bookings.models import BookingEntry, Status
from openslot.core.db import Db
from openslot.core.moments import Span

# The page is found in the index alone, and only its bookings are read. The first `offset 0` keeps the total from being
# counted twice.
LISTED = f"""
select t.total, p.* from (select ({{count}}) as total offset 0) t left join lateral (
    select {ENTRY_COLUMNS}
    from (select b.id from {{matching}} and t.total > ${{offset}}
          order by b.starts_at desc, b.id desc limit ${{limit}} offset ${{offset}}) page
    join lateral (select * from bookings where id = page.id offset 0) b on true
    {BELONGINGS}
    order by b.starts_at desc, b.id desc
) p on true"""
MATCHING = "bookings b where b.status <> 'PENDING_PAYMENT'"
# The planner takes a status for so rare that it would rather sort all bookings that have it; `case` tells it nothing.
BY_STATUS = "case when b.status = ${place} then true else false end"
FILTERS = (BY_STATUS, "b.starts_at >= ${place}", "b.starts_at < ${place}")
# The counts of all hosts are added up; only a range of time has to be counted, in the index alone.
KEPT_COUNTS = {
    (): "select coalesce(sum(n.bookings), 0)::bigint from booking_counts n where n.status <> 'PENDING_PAYMENT'",
    (BY_STATUS,): """
    select coalesce(sum(n.bookings), 0)::bigint from booking_counts n
    where n.status = $1 and n.status <> 'PENDING_PAYMENT'""",
}


async def list_bookings(
    db: Db, *, status: Status | None, span: Span, limit: int, offset: int
) -> tuple[list[BookingEntry], int]:
    """List the bookings of all hosts, newest start first, with how many there are in all."""
    wished = dict(zip(FILTERS, (status, span.starts_at, span.ends_before), strict=True))
    given = {filter_: value for filter_, value in wished.items() if value is not None}
    rows = await db.fetch(_write_list(tuple(given)), *given.values(), limit, offset)
    return to_entries(rows), rows[0]["total"]


@cache
def _write_list(filters: tuple[str, ...]) -> str:
    matching = " and ".join([MATCHING, *(each.format(place=place) for place, each in enumerate(filters, 1))])
    count = KEPT_COUNTS.get(filters, f"select count(*) from {matching}")
    free = len(filters) + 1
    return LISTED.format(count=count, matching=matching, limit=free, offset=free + 1)
