"""All SQL of claims: the host's lock, and the rows that take time."""

from datetime import datetime, timedelta
from uuid import UUID

from openslot.availability.errors import TimeTaken
from openslot.availability.store import Which, condition_of
from openslot.core.changes import Change
from openslot.core.db import Db
from openslot.core.errors import Refusal
from openslot.core.ids import new_id
from openslot.event_types.models import EventType

# Two advisory spaces, so that an address never waits for a host of the same number.
HOSTS, ADDRESSES = 1, 2

# A column that lets one change of a host's time happen after the other: worked out for the row that is found and for no
# other, whatever the plan. What the others left behind is seen by the next statement only: this one looks at the
# database as it was before the wait.
LOCK_HOST = f"pg_advisory_xact_lock({HOSTS}, u.no::int)"

REFUSALS: dict[str, type[Refusal]] = {"claims_never_overlap": TimeTaken}

INSERT_CLAIM = """
insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, expires_at, holder, created_at)
values ($1, $2, $3, $4, $5, $6, tstzrange($7, $8), $9, $10, $11, $12)"""
MOVE_CLAIM = "update claims set starts_at = $2, ends_at = $3, during = tstzrange($4, $5) where id = $1"
KEEP_CLAIM = "update claims set kind = $2, expires_at = $3, holder = null where id = $1"
FREE_CLAIM = "update claims set active = false where id = $1"

INSERT_SEAT = "insert into claim_seats (id, claim_id, expires_at, holder, created_at) values ($1, $2, $3, $4, $5)"
MOVE_SEAT = "update claim_seats set claim_id = $2 where id = $1"
KEEP_SEAT = "update claim_seats set expires_at = $2, holder = null where id = $1"
FREE_SEAT = "update claim_seats set active = false where id = $1"
# The session's time is given back with its last seat.
LEAVE_SESSION = """
update claims c set active = false
where c.id = (select claim_id from claim_seats where id = $1)
  and not exists (select 1 from claim_seats t where t.claim_id = c.id and t.active and t.id <> $1)"""


async def lock_host(db: Db, which: Which) -> int | None:
    """Let one change of a host's time happen after the other; None where there is no such event type."""
    condition, arguments = condition_of(which, first=1)
    number: int | None = await db.fetchval(
        f"""select u.no, {LOCK_HOST} from event_types e join users u on u.id = e.owner_id
        where u.disabled_at is null and {condition}""",
        *arguments,
    )
    return number


async def lock_host_of(db: Db, claim_id: UUID) -> None:
    """Let one change of a claim's host's time happen after the other."""
    await db.execute(f"select {LOCK_HOST} from claims c join users u on u.no = c.host_no where c.id = $1", claim_id)


async def lock_address(db: Db, address: str) -> None:
    """Let one hold from an address be made after the other."""
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext($2))", ADDRESSES, address)


async def expire(db: Db, host_no: int, *, now: datetime) -> None:
    """Switch a host's expired claims off, and sessions that nobody sits in: the constraint knows no clock."""
    await db.execute(
        """update claims c set active = false
        where int8range(host_no, host_no, '[]') = int8range($1, $1, '[]') and active and (
            expires_at <= $2 or kind = 'session' and not exists (
                select 1 from claim_seats t
                where t.claim_id = c.id and t.active and (t.expires_at is null or t.expires_at > $2)))""",
        host_no,
        now,
    )


async def expire_all(db: Db, *, now: datetime) -> int:
    """Switch every expired claim and seat off, and sessions that nobody sits in."""
    await db.execute("update claim_seats set active = false where active and expires_at <= $1", now)
    tag = await db.execute("update claims set active = false where active and expires_at <= $1", now)
    await db.execute(
        """update claims c set active = false where kind = 'session' and active
        and not exists (select 1 from claim_seats t where t.claim_id = c.id and t.active)"""
    )
    return int(tag.rpartition(" ")[2])


def insert_claim(
    event_type: EventType,
    starts_at: datetime,
    *,
    host_no: int,
    kind: str,
    expires_at: datetime | None,
    holder: str | None,
    now: datetime,
) -> tuple[UUID, Change]:
    """Take time; the constraint refuses what overlaps."""
    claim_id = new_id()
    ends_at, before, after = span_of(event_type, starts_at)
    taken = (claim_id, host_no, kind, event_type.id, starts_at, ends_at, before, after, event_type.seats)
    return claim_id, Change(INSERT_CLAIM, (*taken, expires_at, holder, now), REFUSALS)


def move_claim(claim_id: UUID, event_type: EventType, starts_at: datetime) -> Change:
    """Take other time with the same claim; the constraint refuses what overlaps."""
    return Change(MOVE_CLAIM, (claim_id, starts_at, *span_of(event_type, starts_at)), REFUSALS)


def insert_seat(
    claim_id: UUID, *, expires_at: datetime | None, holder: str | None, now: datetime
) -> tuple[UUID, Change]:
    """Sit down in a session."""
    seat_id = new_id()
    return seat_id, Change(INSERT_SEAT, (seat_id, claim_id, expires_at, holder, now))


def keep_hold(claim_id: UUID, seat_id: UUID | None, *, kind: str, expires_at: datetime | None) -> Change:
    """Turn a hold into what it was held for."""
    if seat_id is not None:
        return Change(KEEP_SEAT, (seat_id, expires_at))
    return Change(KEEP_CLAIM, (claim_id, kind, expires_at))


def free_claim(claim_id: UUID) -> tuple[Change, ...]:
    """Give time back."""
    return (Change(FREE_CLAIM, (claim_id,)),)


def free_seat(seat_id: UUID) -> tuple[Change, ...]:
    """Give a seat back, and the session's time with the last one."""
    return Change(FREE_SEAT, (seat_id,)), Change(LEAVE_SESSION, (seat_id,))


def move_seat(seat_id: UUID, claim_id: UUID) -> tuple[Change, ...]:
    """Change to another session; the old one's time is given back with its last seat."""
    left = Change(f"{LEAVE_SESSION} and c.id <> $2", (seat_id, claim_id))
    return Change(MOVE_SEAT, (seat_id, claim_id)), left


async def sits_alone(db: Db, seat_id: UUID, *, now: datetime) -> bool:
    """Tell whether nobody else sits in a seat's session."""
    others = await db.fetchval(
        """select count(*) from claim_seats mine join claim_seats t on t.claim_id = mine.claim_id and t.id <> mine.id
        where mine.id = $1 and t.active and (t.expires_at is null or t.expires_at > $2)""",
        seat_id,
        now,
    )
    return bool(others == 0)


async def find_hold(db: Db, hold_id: UUID, *, now: datetime) -> tuple[UUID, UUID | None, UUID, datetime] | None:
    """Look a live hold up: claim, seat, event type and start."""
    row = await db.fetchrow(
        """select c.id as claim_id, null::uuid as seat_id, c.event_type_id, c.starts_at from claims c
        where c.id = $1 and c.kind = 'hold' and c.active and c.expires_at > $2
        union all
        select c.id, t.id, c.event_type_id, c.starts_at
        from claim_seats t join claims c on c.id = t.claim_id
        where t.id = $1 and t.active and t.expires_at > $2""",
        hold_id,
        now,
    )
    if row is None:
        return None
    return row["claim_id"], row["seat_id"], row["event_type_id"], row["starts_at"]


async def count_holds(db: Db, holder: str, *, now: datetime) -> int:
    """Count what an address holds."""
    found: int = await db.fetchval(
        """select (select count(*) from claims where holder = $1 and active and expires_at > $2)
             + (select count(*) from claim_seats where holder = $1 and active and expires_at > $2)""",
        holder,
        now,
    )
    return found


def span_of(event_type: EventType, starts_at: datetime) -> tuple[datetime, datetime, datetime]:
    """Tell a meeting's end, and from when to when it blocks its host."""
    ends_at = starts_at + timedelta(minutes=event_type.duration_minutes)
    before = starts_at - timedelta(minutes=event_type.buffer_before)
    return ends_at, before, ends_at + timedelta(minutes=event_type.buffer_after)
