"""The SQL of busy spans."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from openslot.availability.intervals import Interval
from openslot.core.db import Db
from openslot.core.zones import floor_second

UPSERT_SOURCE = """
insert into busy_sources (id, host_no, name) select $1, u.no, $3 from users u where u.id = $2
on conflict (id) do update set name = excluded.name where busy_sources.name <> excluded.name"""
RENAME_SPANS = "update busy_spans set source = $2 where source_id = $1 and source <> $2"
# Unchanged spans are not written: most changes of an event do not affect its times.
REPLACE_SPANS = """
with wanted as (
    select * from unnest($3::text[], $4::bigint[], $5::bigint[], $6::uuid[])
        as w (uid, start_second, end_second, of_claim)
), deleted as (
    delete from busy_spans b where b.source_id = $1 and b.uid = any($2::text[])
      and not exists (select from wanted w
                      where (w.uid, w.start_second, w.end_second) = (b.uid, b.start_second, b.end_second)
                        and w.of_claim is not distinct from b.of_claim)
)
insert into busy_spans (host_no, source_id, source, uid, during, of_claim)
select s.host_no, s.id, s.name, w.uid, tstzrange(to_timestamp(w.start_second), to_timestamp(w.end_second)), w.of_claim
from wanted w join busy_sources s on s.id = $1
where not exists (select from busy_spans b where b.source_id = $1 and b.uid = w.uid
                  and (b.start_second, b.end_second) = (w.start_second, w.end_second)
                  and b.of_claim is not distinct from w.of_claim)"""


async def upsert_source(db: Db, source_id: UUID, *, host_id: UUID, name: str) -> None:
    """Add a source, or rename it."""
    await db.execute(UPSERT_SOURCE, source_id, host_id, name)
    await db.execute(RENAME_SPANS, source_id, name)


async def delete_sources(db: Db, source_ids: Sequence[UUID]) -> None:
    """Remove sources; their spans go with them."""
    await db.execute("delete from busy_sources where id = any($1::uuid[])", source_ids)


async def update_closing(db: Db, source_ids: Sequence[UUID], at: datetime | None) -> None:
    """Write from when on sources close their host."""
    await db.execute("update busy_sources set closes_at = $2 where id = any($1::uuid[])", source_ids, at)


async def replace_spans(
    db: Db, source_id: UUID, spans: Mapping[str, Iterable[Interval]], of_claims: Mapping[str, UUID]
) -> None:
    """Write the spans of some events of a source."""
    rows = [(uid, start, end, of_claims.get(uid)) for uid, each in spans.items() for start, end in dict.fromkeys(each)]
    columns = ([row[place] for row in rows] for place in range(4))
    await db.execute(REPLACE_SPANS, source_id, list(spans), *columns)


async def delete_past(db: Db, source_id: UUID, *, before: datetime) -> None:
    """Remove spans that are over."""
    await db.execute("delete from busy_spans where source_id = $1 and end_second < $2", source_id, floor_second(before))
