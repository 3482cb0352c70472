"""All SQL of requests: bookings that their host confirms or declines."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.domains.availability.models import ClaimedHost
from openslot.domains.bookings.errors import RequestNotOpen
from openslot.domains.bookings.models import BookingDetails, BookingRef, BookingRequest, FoundRequest, Host
from openslot.domains.bookings.rules import name_hosts
from openslot.domains.bookings.store import BOOKINGS, HOSTS, LOCK_OF, TAKEN, to_host, to_hosts, to_taken
from openslot.domains.event_types.store import EVENT_TYPES
from openslot.domains.teams.store import is_colleague, is_managed
from openslot.platform.core.db import Db, Row
from openslot.platform.core.events import Change
from openslot.platform.core.rows import Rows

REQUESTS = Rows(BookingRequest, "booking_requests r", prefix="r_")
INSERT = REQUESTS.insert()
# What was asked for has no contact; once it is confirmed, it is read as a booking.
_COLUMNS = f"""
{REQUESTS.columns}, {BOOKINGS.columns}, {EVENT_TYPES.columns},
(select a.name from users a where a.id = r.answered_by) as answered_by"""
COLUMNS = f"{_COLUMNS}, {HOSTS} as hosts"
TABLES = """
booking_requests r join bookings b on b.id = r.booking_id
join lateral (select * from event_types where id = b.event_type_id offset 0) e on true"""
# Of a team the caller checks who may answer, once it is known who hosts it.
OWN = "r.booking_id = $1 and ($2::uuid is null or r.host_id = $2 or e.team_id is not null)"
FIND = f"select {COLUMNS} from {TABLES} where {OWN}"
WITH_HOST = f"""
select {COLUMNS}, u.name as host_name, coalesce('team/' || t.slug, u.username) as host_username,
    coalesce(t.zone, u.zone) as host_zone
from {TABLES} join users u on u.id = r.host_id left join teams t on t.id = e.team_id where r.booking_id = $1"""
LOCKED = f"select {_COLUMNS}, {TAKEN} as taken from {TABLES} where {OWN} for no key update of b, r"
# What waits for somebody: as the owner, or as a host of a team who has not left. `offset 0` keeps the planner from
# reading the bookings of all hosts for that.
WAITS_FOR = f"""
r.state = 'waiting' and (
    r.host_id = $1 or r.booking_id in (select h.booking_id from booking_hosts h where h.user_id = $1) and exists (
        select from bookings x join event_types e on e.id = x.event_type_id
        where x.id = r.booking_id and {is_colleague("$1")} offset 0))"""
WAITING = f"select {COLUMNS} from {TABLES} where {WAITS_FOR} order by b.starts_at, b.id limit $2"
OF_EVENT_TYPE = f"""
select {COLUMNS} from {TABLES}
where b.event_type_id = $1 and r.state = 'waiting' and r.lapses_at > $3
  and (r.host_id = $2 or {is_managed("$2")})
order by b.starts_at, b.id limit $4"""
OWNED = "select booking_id from booking_requests where host_id = $1 and state = 'waiting' order by booking_id limit $2"
# It repeats what the lock assures: whoever forgets the lock must not answer twice.
END = """
update booking_requests set state = $2, reason = $3, ended_at = $4, answered_by = $5
where booking_id = $1 and state = 'waiting'"""


def insert_request(request: BookingRequest) -> Change:
    return Change(INSERT, REQUESTS.values(request))


def end_request(request: BookingRequest) -> Change:
    values = (request.booking_id, request.state, request.reason, request.ended_at, request.answered_by)
    return Change(END, values, lost=RequestNotOpen)


async def find_request(db: Db, ref: BookingRef) -> FoundRequest | None:
    row = await db.fetchrow(FIND, ref.id, ref.host_id)
    return _to_found(row) if row else None


async def find_with_host(db: Db, booking_id: UUID) -> tuple[BookingRequest, BookingDetails, Host] | None:
    row = await db.fetchrow(WITH_HOST, booking_id)
    if row is None:
        return None
    found = _to_found(row)
    return found.request, found.details, to_host(row, found.details)


async def lock_request(db: Db, ref: BookingRef) -> FoundRequest | None:
    """Look a request up and keep others from changing it, or any of its host's time, until the commit."""
    await db.execute(LOCK_OF, ref.id)
    row = await db.fetchrow(LOCKED, ref.id, ref.host_id)
    return _to_found(row, to_taken(row["taken"])) if row else None


async def list_waiting(db: Db, user_id: UUID, *, limit: int) -> list[FoundRequest]:
    return [_to_found(row) for row in await db.fetch(WAITING, user_id, limit)]


async def list_of_event_type(
    db: Db, event_type_id: UUID, *, reader_id: UUID, now: datetime, limit: int
) -> list[FoundRequest]:
    return [_to_found(row) for row in await db.fetch(OF_EVENT_TYPE, event_type_id, reader_id, now, limit)]


async def list_owned(db: Db, host_id: UUID, *, limit: int | None) -> list[UUID]:
    """List what waits and belongs to somebody."""
    return [row["booking_id"] for row in await db.fetch(OWNED, host_id, limit)]


async def list_ends_of_requests(db: Db, booking_ids: Sequence[UUID]) -> dict[UUID, datetime]:
    """Read until when each of some requests can be answered."""
    statement = "select booking_id, lapses_at from booking_requests where booking_id = any($1)"
    return {row["booking_id"]: row["lapses_at"] for row in await db.fetch(statement, booking_ids)}


async def list_due(db: Db, *, now: datetime, limit: int) -> Sequence[Row]:
    statement = """select booking_id, host_id from booking_requests where state = 'waiting' and lapses_at <= $1
        order by lapses_at limit $2"""
    return await db.fetch(statement, now, limit)


async def delete_ended_requests(db: Db, *, before: datetime, limit: int) -> list[tuple[list[UUID], UUID | None]]:
    """Delete bookings that were never confirmed and whose request has ended, and return their claims and seats."""
    statement = """
        with gone as (
            delete from bookings where status = 'PENDING_CONFIRMATION' and id = any(array(
                select booking_id from booking_requests
                where state not in ('waiting', 'confirmed') and ended_at < $1 order by ended_at limit $2))
            returning id, claim_id, seat_id
        ), agreed as (
            delete from message_consents c using gone where c.booking_id = gone.id
        )
        select claim_id || array(select h.claim_id from booking_hosts h where h.booking_id = gone.id) as claim_ids,
               seat_id from gone"""
    return [(row["claim_ids"], row["seat_id"]) for row in await db.fetch(statement, before, limit)]


def _to_found(row: Row, taken: tuple[ClaimedHost, ...] = ()) -> FoundRequest:
    """Read a request; who hosts it is another column if it is read for a change."""
    hosts = name_hosts(taken) if taken else to_hosts(row.get("hosts"))
    details = BookingDetails(BOOKINGS.read(row), EVENT_TYPES.read(row), None, hosts, taken)
    return FoundRequest(REQUESTS.read(row), details, answered_by=row["answered_by"])
