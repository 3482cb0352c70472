"""All SQL of analytics."""

from collections.abc import Mapping
from datetime import date
from uuid import UUID

from openslot.analytics.models import CountedViews, PageView
from openslot.analytics.rules import OTHER
from openslot.core.db import Db
from openslot.core.query_plans import custom_plans

# Any fixed number: writers wait for each other, so that the number of sources is exact and no two block each other.
LOCK = 5_034


async def lock_views(db: Db) -> None:
    """Wait for other writers; the lock is held until the transaction ends."""
    await db.execute("select pg_advisory_xact_lock($1)", LOCK)


async def add_views(db: Db, views: Mapping[PageView, int], *, most_sources: int) -> None:
    """Add counts; a page has a limited number of sources a day, and further ones are counted together."""
    rows = list(views.items())
    await db.execute(
        """
        with seen as (
            select u.id as host_id, v.event_type_id, coalesce(v.event_type_id, u.id) as page_id,
                v.on_day, v.source, v.views
            from unnest($1::text[], $2::uuid[], $3::date[], $4::text[], $5::bigint[])
                as v (username, event_type_id, on_day, source, views)
            join users u on lower(u.username) = lower(v.username)
            where v.event_type_id is null
                or exists (select from event_types e where e.id = v.event_type_id and e.owner_id = u.id)
        ), placed as (
            select s.*, k.source is not null as is_known,
                (select count(*) from page_views p where p.page_id = s.page_id and p.on_day = s.on_day)
                + row_number() over (partition by s.page_id, s.on_day, k.source is null order by s.source) as place
            from seen s left join page_views k
                on k.page_id = s.page_id and k.on_day = s.on_day and k.source = s.source
        )
        insert into page_views as p (host_id, event_type_id, on_day, source, views)
        select host_id, event_type_id, on_day, case when is_known or place <= $6 then source else $7 end, sum(views)
        from placed group by 1, 2, 3, 4
        on conflict (page_id, on_day, source) do update set views = p.views + excluded.views
        """,
        [view.username for view, _ in rows],
        [view.event_type_id for view, _ in rows],
        [view.on for view, _ in rows],
        [view.source for view, _ in rows],
        [count for _, count in rows],
        most_sources,
        OTHER,
    )


@custom_plans
async def list_views(db: Db, host_id: UUID, *, first: date, last: date) -> list[CountedViews]:
    """List a host's counts of some days, newest day first, the largest count of a day first."""
    rows = await db.fetch(
        """select event_type_id, on_day as "on", source, views from page_views
        where host_id = $1 and on_day between $2 and $3 order by on_day desc, views desc, source, event_type_id""",
        host_id,
        first,
        last,
    )
    return [CountedViews(**row) for row in rows]


async def delete_old_views(db: Db, *, before: date, limit: int) -> int:
    """Remove counts of days long past."""
    tag: str = await db.execute(
        "delete from page_views where ctid = any(array(select ctid from page_views where on_day < $1 limit $2))",
        before,
        limit,
    )
    return int(tag.rpartition(" ")[2])
