"""All SQL of what holds leave behind: they are switched off when they expire, and deleted later."""

from datetime import datetime, timedelta

from openslot.platform.core.db import Db, count_of

# Expired holds are found by their expiry, however many claims a host has had. Empty sessions are searched only among
# those whose seats have just expired and those that may still be booked.
EXPIRE = """
with seats as (
    update claim_seats t set active = false from claims c
    where c.id = t.claim_id and c.host_no = $1 and t.active and t.holder is not null and t.expires_at <= $2
    returning t.id, t.claim_id
), holds as (
    update claims set active = false
    where host_no = $1 and active and kind in ('hold', 'offer') and expires_at <= $2
    returning id
), sessions as (
    update claims c set active = false
    where c.active and c.id in (
        select claim_id from seats
        union
        select id from claims where host_no = $1 and active and kind = 'session'
          and starts_at > $2::timestamptz - interval '2 days')
      and not exists (select from claim_seats t
                      where t.claim_id = c.id and t.active and t.id not in (select id from seats))
)
select (select count(*) from seats) + (select count(*) from holds)"""

HOSTS_WITH_EXPIRED_HOLDS = """
select host_no from claims where active and kind in ('hold', 'offer') and expires_at <= $1
union
select c.host_no from claim_seats t join claims c on c.id = t.claim_id
where t.active and t.holder is not null and t.expires_at <= $1
order by host_no limit $2"""

# An inactive claim never takes time again, so nothing here needs the host's lock. `offset 0` makes the planner look up
# each one by itself instead of reading all bookings.
DELETE_HOLDS = """
delete from claims where id = any(array(
    select id from claims c where kind = 'hold' and not active and expires_at < $1
      and not exists (select from bookings b where b.claim_id = c.id offset 0)
      and not exists (select from booking_hosts h where h.claim_id = c.id offset 0)
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


async def expire_holds(db: Db, host_no: int, *, now: datetime) -> int:
    """Deactivate a host's expired holds and empty sessions, because the constraint does not consider the time."""
    return int(await db.fetchval(EXPIRE, host_no, now))


async def list_hosts_with_expired_holds(db: Db, *, now: datetime, limit: int) -> list[int]:
    return [row["host_no"] for row in await db.fetch(HOSTS_WITH_EXPIRED_HOLDS, now, limit)]


async def delete_holds(db: Db, before: datetime, *, limit: int) -> int:
    return count_of(await db.execute(DELETE_HOLDS, before, limit))


async def delete_seats(db: Db, before: datetime, *, limit: int) -> int:
    """Remove seats of sessions that were held and never booked."""
    return count_of(await db.execute(DELETE_SEATS, before, limit))


async def delete_sessions(db: Db, before: datetime, *, limit: int) -> int:
    """Remove sessions that were never booked, or whose bookings have all moved to another one."""
    return count_of(await db.execute(DELETE_SESSIONS, before, limit, SESSIONS_WITHIN))
