"""The order in which a transaction may lock what many change, as a check in the database: a step down is an error.

From below: networks, event types of teams, hosts, and then the rows of `ROWS`, which no turn may follow. Within one
kind, numbers rise. PostgreSQL knows which locks a transaction has, and those of a savepoint that was rolled back no
more, so nothing is written down for it, and the product has nothing to do.
"""

import asyncpg

ROWS = ("organizations", "contacts", "lanes")
FALL = "a step down the ladder of locks"
RUNG = "case {kind} when 2 then 0 when 3 then 1 else 2 end"
OWN = "l.pid = pg_backend_pid() and l.granted"
# Tests may do one thing after the other in a transaction, so rows count only in that of a web request. Nobody waits
# for a host who was added in the same transaction.
CHECK = f"""
declare
    above text;
begin
    select string_agg(coalesce(l.relation::regclass::text, format('turn %s %s', l.classid, l.objid)), ', ') into above
    from pg_locks l where {OWN} and (
        l.locktype = 'relation' and l.mode in ('RowShareLock', 'RowExclusiveLock')
            and l.relation::regclass::text = any(array['{"', '".join(ROWS)}'])
            and current_setting('openslot.turns', true) = 'refuse'
        or l.locktype = 'advisory' and l.objsubid = 2 and l.classid in (1, 2, 3) and kind in (1, 3)
            and ({RUNG.format(kind="l.classid::bigint")}, l.objid::bigint) > ({RUNG.format(kind="kind")}, no::bigint));
    if above is not null
        and not exists (
            select from pg_locks l where {OWN} and l.locktype = 'advisory' and l.objsubid = 2
            and l.classid::bigint = kind and l.objid::bigint = no::bigint & 4294967295)
        and not exists (
            select from users u where kind = 1 and u.no = take_turn.no and u.updated_at = u.created_at
            and pg_xact_status(u.xmin::text::xid8) = 'in progress')
    then
        raise exception '{FALL}: turn % % after %', kind, no, above;
    end if;
{{body}};
end
"""


# Another can wait for a lane that was there before. Those of one target, which have an `@`, come last: whoever expands
# an effect joins them after leaving its own.
CHECK_LANES = f"""
create function watch_lanes() returns trigger language plpgsql as $$
declare
    above text;
begin
    select min(lane) into above from lanes l where (l.lane like '%@%', l.lane) > (new.lane like '%@%', new.lane)
        and pg_xact_status(l.xmin::text::xid8) = 'in progress';
    if above is not null and exists (
        select from lanes l where l.lane = new.lane and pg_xact_status(l.xmin::text::xid8) <> 'in progress')
    then
        raise exception '{FALL}: % after %', new.lane, above;
    end if;
    return new;
end
$$;
create trigger watch_lanes before insert on lanes for each row execute function watch_lanes();
"""


async def put_up_ladder(url: str) -> None:
    """Let the function that takes turns look at the locks that its transaction has already."""
    connection = await asyncpg.connect(url)
    body = await connection.fetchval("select prosrc from pg_proc where proname = 'take_turn'")
    watching = CHECK.format(body=body.rstrip())
    await connection.execute(
        f"create or replace function take_turn(kind int, no int) returns void language plpgsql as $${watching}$$"
    )
    await connection.execute(CHECK_LANES)
    await connection.close()


async def take_down_ladder(url: str) -> None:
    """Remove what is of the tests alone from a database in which a restore looks for what it does not know."""
    connection = await asyncpg.connect(url)
    await connection.execute("drop function watch_lanes cascade")
    await connection.close()
