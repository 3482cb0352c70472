"""All SQL of the sliding logs and of wrong passwords: how many there were, and how long the next try has to wait."""

from collections.abc import Mapping
from datetime import timedelta

from openslot.platform.core.db import Db, Row

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
    return {row["bucket"]: row for row in await db.fetch(TAKE_MANY, list(wanted), list(wanted.values()), limit)}


async def forget_old_logs(db: Db, *, behind: str, limit: int) -> tuple[int, str | None]:
    """Look at so many logs behind a name and remove those in which nothing counts any more; return the last name."""
    row = await db.fetchrow(FORGET, behind, limit)
    assert row is not None  # noqa: S101 - an aggregate
    return row["deleted"], row["last"] if row["looked_at"] == limit else None


FREE_TRIES = 5
FIRST_PAUSE_SECONDS = 30
LONGEST_PAUSE_SECONDS = 900
FORGOTTEN_AFTER = timedelta(days=1)

# Folded as in PostgreSQL's look-up of the user, so that two spellings of one address are one subject.
SUBJECT = "sha256(convert_to(lower($1), 'UTF8'))"
PAUSE = f"""make_interval(secs => case when p.failures < {FREE_TRIES} then 0
    else least({FIRST_PAUSE_SECONDS} * 2 ^ least(p.failures - {FREE_TRIES}, 20), {LONGEST_PAUSE_SECONDS}) end)"""
# The clock is read after the row is locked, as in `limit_store.decide`. A try that has to wait changes nothing. A pause
# that seems longer than the longest began before the clock was set back, and is over.
COUNT = f"""
(failures, taken, free_at, failed_at) = (
    select p.failures, p.is_free,
           case when p.is_free then p.now + {PAUSE} else x.free_at end,
           case when p.is_free then p.now else x.failed_at end
    from (select t.now, t.is_free,
                 case when t.now >= x.failed_at + interval '{FORGOTTEN_AFTER.days} day' then 0 else x.failures end
                     + t.is_free::int as failures
          from (select c.now, x.free_at not between c.now and c.now + interval '{LONGEST_PAUSE_SECONDS} seconds'
                       or x.free_at = c.now as is_free
                from (select clock_timestamp() as now offset 0) c offset 0) t offset 0) p)"""
# Every statement locks the address first, so that two rows are always locked in the same order.
COUNT_TRY = f"""
with address as (
    insert into rate_log as x (bucket, stamps, taken) select $2, array[{NOW}], 1 where $2::text is not null
    on conflict (bucket) do update set {decide("$3::int")}
    returning {verdict_columns("$3::int")}
), subject as (
    insert into wrong_passwords as x (subject, failures, taken, free_at, failed_at)
    select {SUBJECT}, 1, true, clock_timestamp(), clock_timestamp()
    where not exists (select from address where taken = 0)
    on conflict (subject) do update set {COUNT}
    returning taken, (date_part('epoch', free_at) * 1000000)::bigint as free_at
)
select taken = 1 as taken, free_at, {NOW} as now from address where taken = 0
union all select taken, free_at, {NOW} from subject"""
GIVE_BACK = """
with address as (
    update rate_log set stamps = stamps[:cardinality(stamps) - 1] where bucket = $2::text returning bucket
)"""
FORGIVE_TRIES = f"""{GIVE_BACK}
delete from wrong_passwords where subject = {SUBJECT} and (select count(*) from address) >= 0"""
# The try was accepted, so no pause was running before it. A try that was never checked leaves no row behind.
TAKE_TRY_BACK = f"""{GIVE_BACK}, first as (
    delete from wrong_passwords
    where subject = {SUBJECT} and failures <= 1 and (select count(*) from address) >= 0
)
update wrong_passwords set failures = failures - 1, free_at = clock_timestamp()
where subject = {SUBJECT} and failures > 1 and (select count(*) from address) >= 0"""


async def count_try(db: Db, *, subject: str, log: str | None, limit: int) -> Row:
    """Count a try for a subject and for an address's log, unless either has to wait: which, and until when."""
    row = await db.fetchrow(COUNT_TRY, subject, log, limit)
    assert row is not None  # noqa: S101 - the address refuses, or the subject is written
    return row


async def forgive_tries(db: Db, *, subject: str, log: str | None) -> None:
    """Forget all that was counted for a subject, and one try of an address."""
    await db.execute(FORGIVE_TRIES, subject, log)


async def take_try_back(db: Db, *, subject: str, log: str | None) -> None:
    await db.execute(TAKE_TRY_BACK, subject, log)
