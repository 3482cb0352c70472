"""All SQL of claims: rows that take time, written only under the host's lock, and what holds leave behind."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.door import network_of
from openslot.domains.accounts.store import LOCK_TIME
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import EventTypeRef, SlotInputs
from openslot.domains.availability.store import PENDING, UNCONFIRMED, UNCONFIRMED_SEAT, WAIT_LIST, condition_of
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.errors import Refusal
from openslot.platform.core.events import Change
from openslot.platform.core.ids import new_id

# The first of the two numbers of an advisory lock, beside that of hosts.
ADDRESSES = 2

REFUSALS: dict[str, type[Refusal]] = {"claims_never_overlap": SlotUnavailable}

# Each change repeats in its own `where` what it assumes: the host's lock is a convention, and whoever forgets it must
# not take a booked time away.
INSERT_CLAIM = """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, expires_at, holder,
    holder_network, created_at)
values ($1, $2, $3, $4, $5, $6, tstzrange($7, $8), $9, $10, $11, $12, $13)"""
INSERT_CLAIMS = """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, created_at)
select w.id, $1::bigint, 'booking', $2::uuid, w.starts_at, w.ends_at, tstzrange(w.before, w.after), 1, $3::timestamptz
from unnest($4::uuid[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[], $8::timestamptz[])
    as w (id, starts_at, ends_at, before, after)"""
MOVE_CLAIM = """
update claims set starts_at = $2, ends_at = $3, during = tstzrange($4, $5)
where id = $1 and active and kind not in ('hold', 'offer')"""
KEEP_CLAIM = """
update claims set kind = $2, expires_at = null, holder = null, holder_network = null, ends_at = $3,
    during = tstzrange($4, $5)
where id = $1 and active and kind in ('hold', 'offer')"""
CONFIRM_CLAIM = "update claims set kind = 'booking' where id = $1 and active and kind in ('payment', 'request')"
FREE_CLAIM = "update claims set active = false where id = $1 and active and kind not in ('hold', 'offer')"
FREE_OFFER = "update claims set active = false where id = $1 and active and kind = 'offer'"
FREE_CLAIMS = """
update claims set active = false where id = any($1::uuid[]) and active and kind not in ('hold', 'offer')"""

# A session has as many seats as its event type has when someone joins.
JOIN_SESSION = "update claims set seats = $2 where id = $1 and active and kind = 'session'"
INSERT_SEAT = """
insert into claim_seats (id, claim_id, expires_at, holder, holder_network, created_at)
values ($1, $2, $3, $4, $5, $6)"""
MOVE_SEAT = "update claim_seats set claim_id = $2 where id = $1 and active and holder is null"
KEEP_SEAT = """
update claim_seats t set expires_at = null, holder = null, holder_network = null
where t.id = $1 and t.active and t.holder is not null
  and exists (select from claims c where c.id = t.claim_id and c.active)"""
CONFIRM_SEAT = "update claim_seats set expires_at = null where id = $1 and active and holder is null"
FREE_SEAT = "update claim_seats set active = false where id = $1 and active and holder is null"
FREE_OFFERED_SEAT = f"update claim_seats set active = false where id = $1 and active and holder = '{WAIT_LIST}'"
EXPIRE_SEATS = """
update claim_seats set active = false where claim_id = $1 and active and holder is not null and expires_at <= $2"""
# The session's time is freed with its last seat.
LEAVE_SESSION = """
update claims c set active = false
where c.id = (select claim_id from claim_seats where id = $1) and c.active
  and not exists (select from claim_seats t where t.claim_id = c.id and t.active and t.id <> $1)"""

HOLD = """
select c.id as claim_id, null::uuid as seat_id, c.event_type_id, c.starts_at, c.ends_at from claims c
where c.id = $1 and c.active and c.kind in ('hold', 'offer') and c.expires_at > $2
union all
select c.id, t.id, c.event_type_id, c.starts_at, c.ends_at from claim_seats t join claims c on c.id = t.claim_id
where t.id = $1 and t.active and t.holder is not null and t.expires_at > $2 and c.active"""

# Of a team's hold the event type is locked, and the hosts are not.
LOCK_HOLD = f"""
select e.team_id is not null as is_team, {LOCK_TIME} from (
    select c.host_no, c.event_type_id from claims c where c.id = $1
    union all
    select c.host_no, c.event_type_id from claim_seats t join claims c on c.id = t.claim_id where t.id = $1) held
join users u on u.no = held.host_no join event_types e on e.id = held.event_type_id"""

# A dropped hold has expired: nobody asks which of the two it was.
DROP_HOLD = f"""
with held as (
    update claims set active = false, expires_at = $2
    where id = $1 and active and kind = 'hold' and expires_at > $2
    returning id
), seat as (
    update claim_seats set active = false, expires_at = $2
    where id = $1 and active and holder is not null and holder <> '{WAIT_LIST}' and expires_at > $2
    returning claim_id
), session as (
    update claims c set active = false from seat where c.id = seat.claim_id and c.active
      and not exists (select from claim_seats t where t.claim_id = c.id and t.active and t.id <> $1)
)
select (select count(*) from held) + (select count(*) from seat)"""

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

COUNT_HOLDS = """
select count(*) filter (where holder = $1) as of_address, count(*) as of_network from (
    select holder from claims
    where (holder = $1 or holder_network = $2) and holder is not null and active and expires_at > $3
    union all
    select holder from claim_seats
    where (holder = $1 or holder_network = $2) and holder is not null and active and expires_at > $3) held"""
LAST_HOLD = """
select max(expires_at) from (
    select c.expires_at from claims c
    where c.holder = $1 and c.kind = 'hold' and c.host_no = $2 and c.starts_at < $4 and c.ends_at > $3
    union all
    select t.expires_at from claim_seats t join claims c on c.id = t.claim_id
    where t.holder = $1 and c.host_no = $2 and c.starts_at < $4 and c.ends_at > $3) held"""
# Until when what waits is kept: by itself, for its payment, or for its host.
KEPT_UNTIL = f"""(
    select max(coalesce(p.held_until, r.lapses_at)) from bookings b
    left join payments p on p.booking_id = b.id left join booking_requests r on r.booking_id = b.id
    where {PENDING} and """
LIST_UNCONFIRMED = f"""
select c.event_type_id, c.starts_at, coalesce(c.expires_at, {KEPT_UNTIL} b.claim_id = c.id)) as kept_until
from claims c
where c.host_no = $1 and c.starts_at >= $2 and c.starts_at < $3 and c.active
  and (c.expires_at is null or c.expires_at > $4) and c.id <> $5 and {UNCONFIRMED}
union all
select c.event_type_id, c.starts_at, coalesce(t.expires_at, {KEPT_UNTIL} b.seat_id = t.id))
from claims c join claim_seats t on t.claim_id = c.id
where c.host_no = $1 and c.starts_at >= $2 and c.starts_at < $3 and c.active and c.kind = 'session'
  and t.active and (t.expires_at is null or t.expires_at > $4) and t.id <> $5 and {UNCONFIRMED_SEAT}"""

HOSTS_WITH_EXPIRED_HOLDS = """
select host_no from claims where active and kind in ('hold', 'offer') and expires_at <= $1
union
select c.host_no from claim_seats t join claims c on c.id = t.claim_id
where t.active and t.holder is not null and t.expires_at <= $1
order by host_no limit $2"""


class Held(Struct, frozen=True, kw_only=True):
    """A live hold: the claim, the seat in it, and which time it holds."""

    claim_id: UUID
    seat_id: UUID | None
    event_type_id: UUID
    starts_at: datetime
    ends_at: datetime


class Unconfirmed(Struct, frozen=True, kw_only=True):
    """A time that is taken and not confirmed: a hold, an unpaid booking, a request, or an offer of a wait list."""

    event_type_id: UUID
    starts_at: datetime
    kept_until: datetime | None


class Locked(NamedTuple):
    """An event type whose host is locked; one of a team is locked itself, and its hosts are not."""

    event_type_id: UUID
    is_team: bool


async def lock_time_of(db: Db, which: EventTypeRef) -> Locked | None:
    """Take the lock of an event type's host, or of a team's event type; None where there is no such event type."""
    condition, arguments = condition_of(which, first=1)
    statement = f"""select e.id, e.team_id is not null as is_team, {LOCK_TIME}
        from event_types e join users u on u.id = e.owner_id where u.disabled_at is null and {condition}"""
    found = await db.fetchrow(statement, *arguments)
    return Locked(found["id"], found["is_team"]) if found else None


async def lock_hold(db: Db, hold_id: UUID) -> bool:
    """Take the lock of a hold's host, or of the team's event type that it holds; return whether it is a team's."""
    return bool(await db.fetchval(LOCK_HOLD, hold_id))


async def lock_network(db: Db, network: str) -> None:
    """Make holds from one address, or one IPv6 network, wait for each other."""
    await db.execute("select take_turn($1::int, hashtext($2))", ADDRESSES, network)


async def expire_holds(db: Db, host_no: int, *, now: datetime) -> int:
    """Deactivate a host's expired holds and empty sessions, because the constraint does not consider the time."""
    return int(await db.fetchval(EXPIRE, host_no, now))


async def list_hosts_with_expired_holds(db: Db, *, now: datetime, limit: int) -> list[int]:
    return [row["host_no"] for row in await db.fetch(HOSTS_WITH_EXPIRED_HOLDS, now, limit)]


def insert_claim(
    inputs: SlotInputs,
    starts_at: datetime,
    *,
    host_no: int,
    kind: str,
    expires_at: datetime | None,
    holder: str | None,
    now: datetime,
) -> tuple[UUID, Change]:
    """Take time; the constraint refuses what overlaps."""
    claim_id, event_type = new_id(), inputs.event_type
    ends_at, before, after = span_of(inputs, starts_at)
    taken = (claim_id, host_no, kind, event_type.id, starts_at, ends_at, before, after, event_type.seats)
    network = _network_of(holder)
    return claim_id, Change(INSERT_CLAIM, (*taken, expires_at, holder, network, now), REFUSALS)


def insert_claims(
    inputs: SlotInputs, starts: Sequence[datetime], *, host_no: int, now: datetime
) -> tuple[list[UUID], Change]:
    """Take several times for bookings; the constraint refuses what overlaps."""
    claim_ids = [new_id() for _ in starts]
    spans = zip(*(span_of(inputs, start) for start in starts), strict=True)
    about = (host_no, inputs.event_type.id, now)
    return claim_ids, Change(INSERT_CLAIMS, (*about, claim_ids, list(starts), *map(list, spans)), REFUSALS)


def move_claim(claim_id: UUID, inputs: SlotInputs, starts_at: datetime) -> Change:
    """Take other time with the same claim; the constraint refuses what overlaps."""
    return Change(MOVE_CLAIM, (claim_id, starts_at, *span_of(inputs, starts_at)), REFUSALS, lost=SlotUnavailable)


def keep_claim(claim_id: UUID, inputs: SlotInputs, starts_at: datetime, *, kind: str) -> Change:
    """Turn a hold into what it was held for, as long as that is to be."""
    return Change(KEEP_CLAIM, (claim_id, kind, *span_of(inputs, starts_at)), REFUSALS, lost=SlotUnavailable)


def confirm_claim(claim_id: UUID) -> Change:
    return Change(CONFIRM_CLAIM, (claim_id,), lost=SlotUnavailable)


def confirm_seat(seat_id: UUID) -> Change:
    return Change(CONFIRM_SEAT, (seat_id,), lost=SlotUnavailable)


def free_claim(claim_id: UUID) -> Change:
    return Change(FREE_CLAIM, (claim_id,))


def free_claims(claim_ids: Sequence[UUID]) -> Change:
    return Change(FREE_CLAIMS, (list(claim_ids),))


def join_session(claim_id: UUID, *, seats: int, now: datetime) -> tuple[Change, ...]:
    """Keep a session open for one more seat, and deactivate its expired seats."""
    joined = Change(JOIN_SESSION, (claim_id, seats), lost=SlotUnavailable)
    return joined, Change(EXPIRE_SEATS, (claim_id, now))


def insert_seat(
    claim_id: UUID, *, expires_at: datetime | None, holder: str | None, now: datetime
) -> tuple[UUID, Change]:
    seat_id = new_id()
    return seat_id, Change(INSERT_SEAT, (seat_id, claim_id, expires_at, holder, _network_of(holder), now))


def _network_of(holder: str | None) -> str | None:
    return None if holder in {None, WAIT_LIST} else network_of(str(holder))


def keep_seat(seat_id: UUID) -> Change:
    return Change(KEEP_SEAT, (seat_id,), lost=SlotUnavailable)


def free_seat(seat_id: UUID) -> tuple[Change, ...]:
    """Give a seat back, and the session's time with the last one."""
    return Change(FREE_SEAT, (seat_id,)), Change(LEAVE_SESSION, (seat_id,))


def free_offer(claim_id: UUID, seat_id: UUID | None) -> tuple[Change, ...]:
    """Free what is offered to the wait list; what was booked meanwhile stays booked."""
    if seat_id is None:
        return (Change(FREE_OFFER, (claim_id,)),)
    is_offered = f"exists (select from claim_seats o where o.id = $1 and o.holder = '{WAIT_LIST}')"
    return Change(FREE_OFFERED_SEAT, (seat_id,)), Change(f"{LEAVE_SESSION} and {is_offered}", (seat_id,))


def move_seat(seat_id: UUID, claim_id: UUID) -> tuple[Change, ...]:
    """Change to another session; the old one's time is given back with its last seat."""
    left = Change(f"{LEAVE_SESSION} and c.id <> $2", (seat_id, claim_id))
    return Change(MOVE_SEAT, (seat_id, claim_id), lost=SlotUnavailable), left


async def has_only_seat(db: Db, seat_id: UUID, *, now: datetime) -> bool:
    statement = """
        select count(*) from claim_seats mine join claim_seats t on t.claim_id = mine.claim_id and t.id <> mine.id
        where mine.id = $1 and t.active and (t.expires_at is null or t.expires_at > $2)"""
    others = await db.fetchval(statement, seat_id, now)
    return bool(others == 0)


async def find_hold(db: Db, hold_id: UUID, *, now: datetime) -> Held | None:
    row = await db.fetchrow(HOLD, hold_id, now)
    return Held(**row) if row else None


async def drop_hold(db: Db, hold_id: UUID, *, now: datetime) -> bool:
    """Free what a live hold holds; False if the hold is no longer live."""
    return bool(await db.fetchval(DROP_HOLD, hold_id, now))


async def count_holds(db: Db, holder: str, network: str, *, now: datetime) -> tuple[int, int]:
    """Count what an address holds, and what all of its network hold."""
    row = await db.fetchrow(COUNT_HOLDS, holder, network, now)
    return (row["of_address"], row["of_network"]) if row else (0, 0)


async def find_last_hold(
    db: Db, holder: str, host_no: int, *, starts_at: datetime, ends_at: datetime
) -> datetime | None:
    """Return until when an address has held any of this time; None if it never did or has booked it."""
    found: datetime | None = await db.fetchval(LAST_HOLD, holder, host_no, starts_at, ends_at)
    return found


async def list_unconfirmed(
    db: Db, host_no: int, *, since: datetime, until: datetime, now: datetime, without: UUID
) -> list[Unconfirmed]:
    """List what is taken of a host's time and not confirmed, without one claim or seat."""
    return [Unconfirmed(**row) for row in await db.fetch(LIST_UNCONFIRMED, host_no, since, until, now, without)]


def span_of(inputs: SlotInputs, starts_at: datetime) -> tuple[datetime, datetime, datetime]:
    """Return a meeting's end, and from when to when it blocks its host."""
    event_type, ends_at = inputs.event_type, starts_at + inputs.duration
    before = starts_at - timedelta(minutes=event_type.buffer_before)
    return ends_at, before, ends_at + timedelta(minutes=event_type.buffer_after)


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


async def delete_holds(db: Db, before: datetime, *, limit: int) -> int:
    return count_of(await db.execute(DELETE_HOLDS, before, limit))


async def delete_seats(db: Db, before: datetime, *, limit: int) -> int:
    """Remove seats of sessions that were held and never booked."""
    return count_of(await db.execute(DELETE_SEATS, before, limit))


async def delete_sessions(db: Db, before: datetime, *, limit: int) -> int:
    """Remove sessions that were never booked, or whose bookings have all moved to another one."""
    return count_of(await db.execute(DELETE_SESSIONS, before, limit, SESSIONS_WITHIN))


async def delete_freed(db: Db, claim_ids: Sequence[UUID], seat_ids: Sequence[UUID]) -> None:
    """Remove seats and times that are free, and that no booking has."""
    seats = """delete from claim_seats t where t.id = any($1) and not t.active
        and not exists (select from bookings b where b.seat_id = t.id)"""
    claims = """delete from claims k where k.id = any($1) and not k.active
        and not exists (select from bookings b where b.claim_id = k.id)
        and not exists (select from booking_hosts h where h.claim_id = k.id)"""
    await db.execute(seats, seat_ids)
    await db.execute(claims, claim_ids)


async def delete_claims_of_host(db: Db, host_no: int, limit: int) -> int:
    # A plain comparison of the number would read the whole table: the index is on the range.
    own = "int8range(host_no, host_no, '[]') = int8range($1, $1, '[]')"
    removed = 0
    for table in ("claims", "busy_spans"):
        statement = f"delete from {table} where id = any(array(select id from {table} where {own} limit $2))"
        removed += count_of(await db.execute(statement, host_no, limit))
    return removed
