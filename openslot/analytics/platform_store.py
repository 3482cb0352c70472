"""All SQL of the figures about the platform."""

from datetime import date, datetime
from uuid import UUID

from openslot.analytics.models import SourceCount
from openslot.core.db import Db
from openslot.core.query_plans import custom_plans

# Bookings are found by their ids, which begin with the time; there is no index by when they were made.
DAYS = """
select kind, on_day, sum(counted)::bigint as counted from (
    select 'bookings' as kind, (created_at at time zone 'UTC')::date as on_day, count(*) as counted
    from bookings where id >= $3 and created_at >= $1 and created_at < $2 group by 2
    union all
    select case status when 'failed' then 'mail_failed' else 'mail_sent' end,
        (created_at at time zone 'UTC')::date, count(*)
    from mail_messages where created_at >= $1 and created_at < $2 and status <> 'sending' group by 1, 2
    union all
    select case when status between 200 and 299 then 'webhooks_delivered' else 'webhooks_failed' end,
        (at at time zone 'UTC')::date, count(*)
    from webhook_deliveries where at >= $1 and at < $2 group by 1, 2
    union all
    select 'spent_micros', on_date, spent_micros from agent_spend
    where agent = '*' and on_date >= ($1 at time zone 'UTC')::date and on_date < ($2 at time zone 'UTC')::date
) figures group by 1, 2"""

SOURCES = """
select source, sum(views)::bigint as views from page_views where on_day between $1 and $2
group by source order by views desc, source limit $3"""


@custom_plans
async def count_days(db: Db, *, since: datetime, until: datetime, first_id: UUID) -> dict[date, dict[str, int]]:
    """Count what happened, by day and kind."""
    found: dict[date, dict[str, int]] = {}
    for row in await db.fetch(DAYS, since, until, first_id):
        found.setdefault(row["on_day"], {})[row["kind"]] = row["counted"]
    return found


@custom_plans
async def list_sources(db: Db, *, first: date, last: date, limit: int) -> list[SourceCount]:
    """List sources of visits, most first."""
    return [SourceCount(**row) for row in await db.fetch(SOURCES, first, last, limit)]
