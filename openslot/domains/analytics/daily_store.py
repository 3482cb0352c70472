"""SQL of the platform's figures by day: what counts, what is kept of closed days, and sums of both."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from uuid import UUID

from openslot.domains.analytics.models import DailySum, RetainedHosts
from openslot.platform.core.db import Db
from openslot.platform.core.query_plans import custom_plans

# Any fixed number: days are counted by one process at a time.
LOCK = 5_035


def _during(moment: str) -> str:
    """Write that a moment lies in the day of `open_days d`, so that an index of the moment is used."""
    begins, ends = (f"{day}::timestamp at time zone 'UTC'" for day in ("d.on_day", "(d.on_day + 1)"))
    return f"{moment} >= {begins} and {moment} < {ends}"


# The one definition of every figure, for the days of `open_days d`; docs/analytics.md has it in words. Each day is
# looked up by an index, one after the other: a join could be turned around, and would then read all there is.
def _write_bookings(only: str = "") -> str:
    return f"""
select d.on_day, 'bookings' as name, f.key, f.amount from open_days d cross join lateral (
    select coalesce(b.source, '') as key, count(*) as amount from bookings b
    where {_during("b.created_at")} and b.status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION') {only}
    group by 1) f
union all select d.on_day, 'cancellations', '', f.amount from open_days d cross join lateral (
    select count(*) as amount from bookings b where {_during("b.cancelled_at")} {only}) f
union all select d.on_day, m.name, '', m.amount from open_days d cross join lateral (
    select count(*) as meetings, count(*) filter (where b.no_show) as no_shows from bookings b
    where {_during("b.starts_at")} and b.status = 'CONFIRMED' {only}) f
cross join lateral (values ('meetings', f.meetings), ('no_shows', f.no_shows)) m (name, amount)"""


COUNTED = f"""
select * from (
    {_write_bookings()}
    union all select d.on_day, 'sign_ups', '', f.amount from open_days d cross join lateral (
        select count(*) as amount from users u where {_during("u.created_at")}) f
    union all select d.on_day, 'visits', f.source, f.amount from open_days d cross join lateral (
        select v.source, sum(v.views)::bigint as amount from page_views v where v.on_day = d.on_day group by 1) f
    union all select d.on_day, m.name, f.key, m.amount from open_days d cross join lateral (
        select r.currency || ' ' || r.mode as key, sum(r.received)::bigint as received,
            sum(r.refunded)::bigint as refunded, sum(r.payments)::bigint as payments
        from revenue r where r.day = d.on_day group by 1) f
    cross join lateral (values ('received', f.received), ('refunded', f.refunded), ('payments', f.payments))
        m (name, amount)
) counted where amount <> 0"""
# Days that are not kept, or of which something has changed since, are counted by the statement that reads.
DAYS = """
days as materialized (
    select g.on_day::date as on_day, exists (select from kept_days k where k.on_day = g.on_day::date)
        and not exists (select from stale_days s where s.on_day = g.on_day::date) as is_kept
    from generate_series($1::date, $2::date, interval '1 day') g (on_day)
), open_days as materialized (select on_day from days where not is_kept)"""
SUMS = f"""
with {DAYS}, figures as (
    select f.on_day, f.name, f.key, f.amount from days d cross join lateral (
        select * from daily_figures k where k.on_day = d.on_day and k.name = any($3::text[]) offset 0) f
    where d.is_kept
    union all select * from ({COUNTED}) c where c.name = any($3::text[])
)
select width_bucket(on_day, $4::date[]) as index, name, case when name = any($5::text[]) then key else '' end as key,
    sum(amount)::bigint as amount
from figures where name <> 'visits' or key <> 'internal' or name = any($5::text[])
group by 1, 2, 3 order by 1, 2, 4 desc, 3"""
# Hosts are the bits of blocks, so that a day of a thousand hosts is one row, and each host of some days counts once.
BLOCK = 1_024
AS_BITS = f"bit_or(set_bit(b'0'::bit({BLOCK}), (u.no % {BLOCK})::integer, 1))"
HOSTS = f"""
select d.on_day, f.block, f.hosts from open_days d cross join lateral (
    select u.no / {BLOCK} as block, {AS_BITS} as hosts from (
        select distinct b.host_id from bookings b
        where {_during("b.created_at")} and b.status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION')) h
    join users u on u.id = h.host_id group by 1) f"""
ACTIVE = f"""
with {DAYS}, active as (
    select width_bucket(on_day, $3::date[]) as index, block, bit_or(hosts) as hosts from (
        select d.on_day, a.block, a.hosts from days d cross join lateral (
            select block, hosts from active_hosts k where k.on_day = d.on_day offset 0) a
        where d.is_kept
        union all {HOSTS}
    ) a group by 1, 2
)"""
COUNT_HOSTS = f"""
insert into active_hosts (on_day, block, hosts)
with open_days as materialized (select $1::date as on_day) {HOSTS}"""


async def sum_figures(
    db: Db, first: date, last: date, *, names: Sequence[str], starts: Sequence[date], keyed: Collection[str] = ()
) -> list[DailySum]:
    """Sum figures up from each of some days to the next, those that are `keyed` by their key.

    Visits that come from another page of the same host count only by their source.
    """
    rows = await db.fetch(SUMS, first, last, list(names), list(starts), list(keyed))
    return [DailySum(index=row["index"] - 1, name=row["name"], key=row["key"], amount=row["amount"]) for row in rows]


async def count_active_hosts(db: Db, first: date, last: date, *, starts: Sequence[date]) -> dict[int, int]:
    """Count the hosts with whom bookings were made from each of some days to the next."""
    statement = f"{ACTIVE} select index - 1 as index, sum(bit_count(hosts))::bigint as hosts from active group by 1"
    return {row["index"]: row["hosts"] for row in await db.fetch(statement, first, last, list(starts))}


async def list_retained(db: Db, first: date, last: date, *, starts: Sequence[date], ends: date) -> list[RetainedHosts]:
    """Count users by when they signed up, and of each group those with whom bookings were made later, by when."""
    statement = f"""{ACTIVE}, cohorts as materialized (
            select width_bucket(utc_day(u.created_at), $3::date[]) as cohort, u.no / {BLOCK} as block,
                {AS_BITS} as hosts from users u
            where u.created_at >= $1::date::timestamp at time zone 'UTC'
                and u.created_at < ($4::date + 1)::timestamp at time zone 'UTC'
            group by 1, 2
        )
        select cohort - 1 as cohort, null::int as index, sum(bit_count(hosts))::bigint as hosts from cohorts group by 1
        union all select u.cohort - 1, a.index - 1, sum(bit_count(u.hosts & a.hosts))::bigint
        from cohorts u join active a on a.block = u.block and a.index >= u.cohort group by 1, 2
        having sum(bit_count(u.hosts & a.hosts)) > 0"""
    rows = await db.fetch(statement, first, last, list(starts), ends)
    return [RetainedHosts(cohort=row["cohort"], index=row["index"], hosts=row["hosts"]) for row in rows]


@custom_plans
async def sum_event_type(
    db: Db, event_type_id: UUID, first: date, last: date, *, starts: Sequence[date]
) -> list[DailySum]:
    """Sum up the figures of one event type's bookings from each of some days to the next."""
    counted = _write_bookings("and b.event_type_id = $4")
    statement = f"""
        with open_days as (select g::date as on_day from generate_series($1::date, $2::date, interval '1 day') g)
        select width_bucket(on_day, $3::date[]) as index, name, sum(amount)::bigint as amount
        from ({counted}) c group by 1, 2"""
    rows = await db.fetch(statement, first, last, list(starts), event_type_id)
    return [DailySum(index=row["index"] - 1, name=row["name"], key="", amount=row["amount"]) for row in rows]


async def lock_days(db: Db) -> None:
    """Wait for another process that counts; the lock is held until the transaction ends."""
    await db.execute("select pg_advisory_xact_lock($1)", LOCK)


async def list_uncounted(db: Db, *, until: date, limit: int) -> list[date]:
    """List closed days to count, the newest first: those that are not kept yet, and those that have changed.

    A day is closed once no transaction is left that began on it: it may have written what is not seen yet.
    """
    statement = """
        with first as (
            select least((select min(created_at) from users), (select min(created_at) from bookings),
                (select min(cancelled_at) from bookings), (select min(starts_at) from bookings),
                (select min(on_day) from page_views)::timestamp at time zone 'UTC',
                (select min(day) from revenue)::timestamp at time zone 'UTC') as at
        )
        select on_day from (
            select g::date as on_day from first, generate_series(utc_day(first.at), $1::date, interval '1 day') g
            where not exists (select from kept_days k where k.on_day = g::date)
            union select on_day from stale_days where on_day <= $1
        ) d where not exists (
            select from pg_stat_activity a where a.datname = current_database() and a.backend_type = 'client backend'
                and a.xact_start < (d.on_day + 1)::timestamp at time zone 'UTC')
        order by on_day desc limit $2"""
    return [row["on_day"] for row in await db.fetch(statement, until, limit)]


async def count_day(db: Db, on: date, *, now: datetime) -> None:
    """Count a day anew, in a transaction: what is committed later marks the day again."""
    await db.execute("delete from stale_days where on_day = $1", on)
    await db.execute("delete from kept_days where on_day = $1", on)
    await db.execute("insert into kept_days (on_day, counted_at) values ($1, $2)", on, now)
    only = "with open_days as materialized (select $1::date as on_day)"
    await db.execute(f"insert into daily_figures (on_day, name, key, amount) {only} {COUNTED}", on)
    await db.execute(COUNT_HOSTS, on)


async def read_beginnings(db: Db, numbers: Sequence[str]) -> tuple[date, dict[str, date]]:
    """Tell on which day the first migration was applied, and each of these; a newer database began with them."""
    statement = """
        select left(name, 4) as number, utc_day(applied_at) as on_day from migrations where left(name, 4) = any($1)
        union all select '', utc_day(min(applied_at)) from migrations"""
    applied = {row["number"]: row["on_day"] for row in await db.fetch(statement, list(numbers))}
    return applied.pop(""), applied
