"""All SQL of group sessions: the claims of their hosts, and the seats at the claim of the one host or the organizer.

The session of one host is a claim of that kind, which is freed with its last seat. That of chosen hosts has no kind of
its own. Its claims are those of a booking, or those of a hold until the last of its held seats expires; they are known
by having more than one seat. An event type has one session at a start.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from openslot.domains.access.door import network_of
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import WAIT_LIST, ClaimedHost, GroupSession, OtherSeats
from openslot.domains.teams.models import HostRole
from openslot.platform.core.db import Db, Row
from openslot.platform.core.events import Change
from openslot.platform.core.ids import new_id

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

# Seats are at the claim of the organizer alone.
SESSIONS = """
select date_part('epoch', c.starts_at)::bigint as start, date_part('epoch', max(c.ends_at))::bigint as until,
       date_part('epoch', min(lower(c.during)))::bigint as blocked_from,
       date_part('epoch', max(upper(c.during)))::bigint as blocked_until,
       array_agg(c.host_no) as host_nos,
       (array_agg(c.id order by exists (select from claim_seats t where t.claim_id = c.id) desc))[1] as id,
       (select count(*) from claim_seats t
        where t.claim_id = any(array_agg(c.id)) and t.active and (t.expires_at is null or t.expires_at > $4)
          and t.id is distinct from $5) as sitting
from claims c
where c.event_type_id = $1 and c.seats > 1 and c.active and (c.expires_at is null or c.expires_at > $4)
  and c.starts_at > $2 and c.starts_at < $3 and c.id <> all($6::uuid[])
group by c.starts_at"""
_REACH = timedelta(hours=40)

# Who has it: those of its bookings if there are any, or of those that wait, or else those for whom it is held.
HOSTS = """
select h.user_id, u.no as host_no, u.name, h.claim_id, h.group_id, h.role from (
    select h.user_id, h.claim_id, h.group_id, h.role from booking_hosts h where h.booking_id = (
        select b.id from bookings b join claim_seats t on t.id = b.seat_id and t.active
        where b.claim_id = $1 and b.status in ('CONFIRMED', 'PENDING_CONFIRMATION') order by b.id limit 1)
    union all
    select d.user_id, d.claim_id, d.group_id, case when d.claim_id = d.hold_id then 'organizer' else 'host' end
    from held_hosts d where d.hold_id = $1) h
join users u on u.id = h.user_id order by h.role = 'host', u.no"""
# What is booked does not expire.
JOIN_HOSTS = """
update claims set seats = greatest(seats, $2), kind = case when $3::timestamptz is null then 'booking' else kind end,
    expires_at = case when $3::timestamptz is not null and kind = 'hold' then greatest(expires_at, $3) end
where id = any($1::uuid[]) and active"""
FORGET_HELD = "delete from held_hosts where claim_id = any($1::uuid[])"
DROP_SEAT = """
update claim_seats set active = false, expires_at = $2
where id = $1 and active and holder is not null and expires_at > $2"""
OTHERS = """
select count(*) filter (where holder is null) as booked, max(expires_at) filter (where holder is not null) as held_until
from claim_seats where claim_id = $1 and id <> $2 and active and (expires_at is null or expires_at > $3)"""
HOLD_UNTIL = "update claims set kind = 'hold', expires_at = $2 where id = any($1::uuid[]) and active"
KEEP_HELD = """
insert into held_hosts (claim_id, hold_id, user_id, group_id)
select w.claim_id, $1::uuid, w.user_id, g.id
from unnest($2::uuid[], $3::uuid[], $4::uuid[]) as w (claim_id, user_id, group_id)
join host_groups g on g.id = w.group_id
on conflict do nothing"""
FREE = """
update claims set active = false, expires_at = case when kind = 'hold' then $2::timestamptz end
where id = any($1::uuid[]) and active"""


async def list_sessions(
    db: Db,
    event_type_id: UUID,
    *,
    seats: int,
    since: datetime,
    until: datetime,
    now: datetime,
    without: UUID | None,
    changing: Sequence[UUID],
) -> dict[int, GroupSession]:
    """List the sessions around some starts, by their own, without a seat or claims that are about to change."""
    rows = await db.fetch(SESSIONS, event_type_id, since - _REACH, until + _REACH, now, without, list(changing))
    return {
        row["start"]: GroupSession(
            id=row["id"],
            hosts=frozenset(row["host_nos"]),
            taken_from=row["blocked_from"],
            taken_until=row["blocked_until"],
            end=row["until"],
            seats_left=max(seats - row["sitting"], 0),
        )
        for row in rows
    }


async def list_hosts(db: Db, session_id: UUID) -> tuple[ClaimedHost, ...]:
    """List who hosts a session, the organizer first."""
    rows = await db.fetch(HOSTS, session_id)
    return tuple(map(to_claimed_host, rows))


def to_claimed_host(row: Row) -> ClaimedHost:
    return ClaimedHost(
        user_id=row["user_id"],
        host_no=row["host_no"],
        name=row["name"],
        claim_id=row["claim_id"],
        group_id=row["group_id"],
        role=HostRole(row["role"]),
    )


def join_session(claim_id: UUID, *, seats: int, now: datetime) -> tuple[Change, ...]:
    """Keep a session open for one more seat, and deactivate its expired seats."""
    joined = Change(JOIN_SESSION, (claim_id, seats), lost=SlotUnavailable)
    return joined, Change(EXPIRE_SEATS, (claim_id, now))


def join_hosts(hosts: Sequence[ClaimedHost], *, seats: int, expires_at: datetime | None) -> tuple[Change, ...]:
    """Keep the time of chosen hosts for one more seat of their session: until its hold expires, or for a booking."""
    claim_ids = [each.claim_id for each in hosts]
    joined = Change(JOIN_HOSTS, (claim_ids, seats, expires_at), lost=SlotUnavailable)
    return (joined,) if expires_at else (joined, Change(FORGET_HELD, (claim_ids,)))


def insert_seat(
    claim_id: UUID, *, expires_at: datetime | None, holder: str | None, now: datetime
) -> tuple[UUID, Change]:
    seat_id = new_id()
    return seat_id, Change(INSERT_SEAT, (seat_id, claim_id, expires_at, holder, _network_of(holder), now))


def _network_of(holder: str | None) -> str | None:
    return None if holder in {None, WAIT_LIST} else network_of(str(holder))


def keep_seat(seat_id: UUID) -> Change:
    return Change(KEEP_SEAT, (seat_id,), lost=SlotUnavailable)


def confirm_seat(seat_id: UUID) -> Change:
    return Change(CONFIRM_SEAT, (seat_id,), lost=SlotUnavailable)


def free_seat(seat_id: UUID) -> tuple[Change, ...]:
    """Give a seat back, and the session's time with the last one."""
    return Change(FREE_SEAT, (seat_id,)), Change(LEAVE_SESSION, (seat_id,))


def free_offered_seat(seat_id: UUID) -> tuple[Change, ...]:
    """Free a seat that is offered to the wait list; one that was booked meanwhile stays booked."""
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


async def drop_seat(db: Db, seat_id: UUID, *, now: datetime) -> bool:
    """Give a held seat back; False if it is no longer held."""
    return await db.execute(DROP_SEAT, seat_id, now) == "UPDATE 1"


async def free_seat_of_chosen(db: Db, seat_id: UUID) -> None:
    """Give the seat of a booking back; what becomes of its session is decided afterwards."""
    await db.execute(FREE_SEAT, seat_id)


async def find_others(db: Db, session_id: UUID, seat_id: UUID, *, now: datetime) -> OtherSeats:
    row = await db.fetchrow(OTHERS, session_id, seat_id, now)
    return OtherSeats(row["booked"], row["held_until"]) if row else OtherSeats(0, None)


async def hold_until(db: Db, hosts: Sequence[ClaimedHost], expires_at: datetime) -> None:
    """Keep a session that nobody has booked any more for those who hold a seat."""
    claim_ids = [each.claim_id for each in hosts]
    await db.execute(HOLD_UNTIL, claim_ids, expires_at)
    columns = ([getattr(each, name) for each in hosts] for name in ("claim_id", "user_id", "group_id"))
    await db.execute(KEEP_HELD, hosts[0].claim_id, *columns)


async def free(db: Db, hosts: Sequence[ClaimedHost], *, now: datetime) -> None:
    """Free the time of all hosts of a session in which nobody sits."""
    await db.execute(FREE, [each.claim_id for each in hosts], now)
