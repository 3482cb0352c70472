"""SQL of a host's own figures: one statement for their page, and one for the first screen."""

from datetime import datetime
from uuid import UUID

from openslot.domains.analytics.models import HostFigures, HostOverview, HostPeriod
from openslot.platform.core.db import Db
from openslot.platform.core.times import ceil_second, floor_second

# A booking counts on the day on which it was made, a meeting on the day on which it begins, both in the host's zone. Of
# the page of one event type all visits count; of all pages together those that come from another page do not.
# To find the day in a zone takes long, so that bookings of before all of the days are left out first, and so are starts
# after them. What several figures are sums of is summed up once. `date_part` is quicker than `extract`.
FIGURES = """
with b as materialized (
    select event_type_id, source, status = 'CONFIRMED' as is_kept, no_show,
        (created_at at time zone $2)::date as made_on,
        case when starts_at < ($5::date + 2)::timestamp at time zone 'UTC' then starts_at at time zone $2 end as starts,
        date_part('epoch', starts_at - created_at) as ahead
    from bookings where host_id = $1 and status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION') {bookings}
        and greatest(created_at, starts_at) >= ($3::date - 1)::timestamp at time zone 'UTC'
), made as materialized (
    select made_on, event_type_id, source, count(*) as bookings from b where made_on between $3 and $5 group by 1, 2, 3
), met as (select *, starts::date as met_on from b where starts::date between $3 and $5
), seen as (
    select on_day, event_type_id, source, grouping(source) = 0 as is_source,
        case when grouping(on_day) = 0 then sum(views) else sum(views) filter (where on_day >= $4) end::bigint as views
    from page_views where host_id = $1 and on_day between $3 and $5 and {visits}
    group by grouping sets ((on_day), (event_type_id), (source))
)
select 'made' as kind, made_on as on_day, null::uuid as event_type_id, null::text as name,
    sum(bookings)::bigint as counted from made group by made_on
union all select case when is_kept then 'kept' else 'cancelled' end, met_on, null, null, count(*) from met group by 1, 2
union all select 'no_shows', met_on, null, null, count(*) from met where is_kept and no_show group by 2
union all select 'made', null, event_type_id, null, sum(bookings)::bigint from made where made_on >= $4 group by 3
union all select case when is_kept then 'kept' else 'cancelled' end, null, event_type_id, null, count(*)
from met where met_on >= $4 group by 1, 3
union all select case when is_source then 'source' else 'visits' end, on_day, event_type_id, source, views
from seen where views is not null and num_nonnulls(on_day, event_type_id, source) > 0
union all select 'booked', null, null, source, sum(bookings)::bigint
from made where made_on >= $4 and source is not null group by 4
union all select 'since', (min(greatest(created_at)) at time zone $2)::date, null, null, null from bookings
where host_id = $1 and source is not null {bookings}
union all select 'hour', null, null, (24 * date_part('isodow', starts) + date_part('hour', starts) - 24)::int::text,
    count(*) from met where met_on >= $4 and is_kept group by 4
union all select case when made_on >= $4 then 'ahead' else 'ahead_before' end, null, null, null,
    percentile_cont(0.5) within group (order by ahead)::bigint from b where made_on between $3 and $5 group by 1"""
# Each has a plan that is kept: to plan it takes as long as a fifth of what it does.
ALL_FIGURES = FIGURES.format(bookings="", visits="source <> 'internal'")
FIGURES_OF_ONE = FIGURES.format(bookings="and event_type_id = $6", visits="event_type_id = $6")


async def read_figures(
    db: Db, host_id: UUID, period: HostPeriod, *, zone: str, event_type_id: UUID | None
) -> HostFigures:
    figures = HostFigures()
    asked = host_id, zone, period.before.first, period.first, period.last
    rows = db.fetch(FIGURES_OF_ONE, *asked, event_type_id) if event_type_id else db.fetch(ALL_FIGURES, *asked)
    for row in await rows:
        kind, on_day, counted_type, name, counted = row.values()
        if kind == "since":
            figures.sources_since = on_day
        elif on_day is not None:
            figures.days.setdefault(kind, {})[on_day] = counted
        elif counted_type is not None:
            figures.event_types.setdefault(counted_type, {})[kind] = counted
        elif kind == "source":
            figures.sources[name] = counted
        elif kind == "booked":
            figures.booked[name] = counted
        elif kind == "hour":
            figures.hours[divmod(int(name), 24)] = counted
        else:
            figures.ahead[kind] = counted
    return figures


# What a host has is found by the host: `greatest` keeps plans from the index that has all bookings by their day.
OVERVIEW = """
select seen.*, made.*, busy.* from users u
cross join lateral (
    select array_agg(on_day) as days, array_agg(views) as views from (
        select on_day, sum(views)::bigint as views from page_views
        where host_id = u.id and on_day between $2 and $3 and source <> 'internal' group by on_day) v) seen
cross join lateral (
    select count(*) as bookings from bookings
    where host_id = u.id and status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION')
      and greatest(created_at) >= $4) made
cross join lateral (
    select array_agg(b.start_second) as busy_from, array_agg(b.end_second) as busy_until
    from busy_spans b where b.host_no = u.no and b.end_second > $5 and b.start_second < $6) busy
where u.id = $1"""


async def read_overview(
    db: Db, host_id: UUID, period: HostPeriod, *, since: datetime, begins: datetime, ends: datetime
) -> HostOverview:
    spans = floor_second(begins), ceil_second(ends)
    [row] = await db.fetch(OVERVIEW, host_id, period.first, period.last, since, *spans)
    return HostOverview(
        visits=dict(zip(row["days"] or (), row["views"] or (), strict=True)),
        bookings=row["bookings"],
        busy=list(zip(row["busy_from"] or (), row["busy_until"] or (), strict=True)),
    )
