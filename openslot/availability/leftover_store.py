"""The SQL of what holds leave behind: claims and seats that take no time and that no booking names."""

from datetime import datetime, timedelta

from openslot.core.db import Db, count_of

# An inactive claim never takes time again, so nothing here needs the host's lock. `offset 0` makes the planner look up
# each one by itself instead of reading all bookings.
DELETE_HOLDS = """
delete from claims where id = any(array(
    select id from claims c where kind = 'hold' and not active and expires_at < $1
      and not exists (select from bookings b where b.claim_id = c.id offset 0)
    order by expires_at limit $2))"""
DELETE_SEATS = """
delete from claim_seats where id = any(array(
    select id from claim_seats s where not active and expires_at is not null and expires_at < $1
      and not exists (select from bookings b where b.seat_id = s.id offset 0)
    order by expires_at limit $2))"""
# Sessions that were booked and cancelled stay with their bookings. So that these are not checked for ever, a session is
# checked only in the days after its end.
DELETE_SESSIONS = """
delete from claims where id = any(array(
    select id from claims c where kind = 'session' and not active and ends_at < $1 and ends_at >= $1 - $3::interval
      and not exists (select from bookings b where b.claim_id = c.id offset 0)
      and not exists (select from claim_seats s where s.claim_id = c.id offset 0)
    order by ends_at limit $2))"""
SESSIONS_WITHIN = timedelta(days=7)


async def delete_holds(db: Db, before: datetime, *, limit: int) -> int:
    """Remove holds that ran out or were dropped."""
    return count_of(await db.execute(DELETE_HOLDS, before, limit))


async def delete_seats(db: Db, before: datetime, *, limit: int) -> int:
    """Remove seats of sessions that were held and never booked."""
    return count_of(await db.execute(DELETE_SEATS, before, limit))


async def delete_sessions(db: Db, before: datetime, *, limit: int) -> int:
    """Remove sessions that were never booked, or whose bookings have all moved to another one."""
    return count_of(await db.execute(DELETE_SESSIONS, before, limit, SESSIONS_WITHIN))


async def delete_of_host(db: Db, host_no: int, limit: int) -> int:
    """Remove some claims and busy spans of a host whose account is deleted and who has no bookings any more."""
    # A plain comparison of the number would read the whole table: the index is on the range.
    own = "int8range(host_no, host_no, '[]') = int8range($1, $1, '[]')"
    removed = 0
    for table in ("claims", "busy_spans"):
        statement = f"delete from {table} where id = any(array(select id from {table} where {own} limit $2))"
        removed += count_of(await db.execute(statement, host_no, limit))
    return removed
