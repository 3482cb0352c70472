"""All SQL of the sliding logs."""

from collections.abc import Mapping

from openslot.core.db import Db, Row

WINDOW = 60_000_000
# As a float, which holds microseconds exactly for another two centuries and costs a fraction of a decimal number.
NOW = "(date_part('epoch', clock_timestamp()) * 1000000)::bigint"


def live(stamps: str, now: str) -> str:
    """Write the part of a log that still counts; logs are in order, so that it is found by halving.

    What lies further ahead than the window was written before the clock was set back, and does not count.
    """
    return f"{stamps}[width_bucket({now} - {WINDOW}, {stamps}) + 1:width_bucket({now} + {WINDOW}, {stamps})]"


def decide(limit: str) -> str:
    """Write the update that prunes, gives as many of the places asked for as are free, and keeps how many these were.

    It reads the clock after the row is locked: a clock read before the lock lets more than the limit through.
    `offset 0` keeps the planner from reading and pruning again for every use of the result.
    """
    return f"""
    (stamps, taken) = (
        select p.live || array_fill(greatest(p.now, p.live[cardinality(p.live)]), array[p.given]), p.given
        from (select l.now, l.live,
                     greatest(0, least(cardinality(excluded.stamps), {limit} - cardinality(l.live))) as given
              from (select t.now, {live("x.stamps", "t.now")} as live
                    from (select {NOW} as now offset 0) t offset 0) l
              offset 0) p)"""


def verdict_columns(limit: str) -> str:
    """Write the columns of a verdict: how many were taken just now, when the next gets free, how many are used."""
    return f"""taken, stamps[greatest(1, cardinality(stamps) - {limit} + 1)] + {WINDOW} as free_at,
        cardinality(stamps) as used"""


TAKE = f"""
insert into rate_log as x (bucket, stamps, taken) values ($1, array[{NOW}], 1)
on conflict (bucket) do update set {decide("$2")}
returning {verdict_columns("$2")}, {NOW} as now"""

# Rows are locked in the order of their names, so that two statements never wait for each other.
TAKE_MANY = f"""
insert into rate_log as x (bucket, stamps, taken)
select bucket, array_fill({NOW}, array[places]), places
from unnest($1::text[], $2::int[]) as asked (bucket, places) order by bucket
on conflict (bucket) do update set {decide("$3")}
returning bucket, {verdict_columns("$3")}, {NOW} as now"""

# Logs are visited in the order of their names, because an index by time would have to be written at every request.
FORGET = f"""
with looked_at as (
    select bucket from rate_log where bucket > $1 order by bucket limit $2
), gone as (
    delete from rate_log r using looked_at l
    where r.bucket = l.bucket
      and coalesce(r.stamps[cardinality(r.stamps)], 0) not between {NOW} - {WINDOW} * 2 and {NOW} + {WINDOW}
    returning r.bucket
)
select count(*) as looked_at, max(bucket) as last, (select count(*) from gone) as deleted from looked_at"""


async def take_one(db: Db, bucket: str, limit: int) -> Row:
    """Take a place in a bucket's log, if one is free, and return the verdict's columns."""
    row = await db.fetchrow(TAKE, bucket, limit)
    assert row is not None  # noqa: S101 - an insert that returns
    return row


async def take_some(db: Db, wanted: Mapping[str, int], limit: int) -> dict[str, Row]:
    """Take as many places in each of these logs as are wanted and free, and return the verdicts' columns by bucket."""
    rows = await db.fetch(TAKE_MANY, list(wanted), list(wanted.values()), limit)
    return {row["bucket"]: row for row in rows}


async def forget_old_logs(db: Db, *, behind: str, limit: int) -> tuple[int, str | None]:
    """Look at so many logs behind a name and remove those in which nothing counts any more; return the last name."""
    row = await db.fetchrow(FORGET, behind, limit)
    assert row is not None  # noqa: S101 - an aggregate
    return row["deleted"], row["last"] if row["looked_at"] == limit else None
