"""All SQL of requests: bookings that their host confirms or declines."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.accounts.store import LOCK_HOST
from openslot.bookings.models import (
    BookingDetails,
    BookingRef,
    BookingRequest,
    FoundRequest,
    Host,
)
from openslot.bookings.store import BOOKINGS, to_host
from openslot.core.db import Db, Row
from openslot.core.events import Change
from openslot.core.rows import Rows
from openslot.event_types.store import EVENT_TYPES

REQUESTS = Rows(BookingRequest, "booking_requests r", prefix="r_")
INSERT = REQUESTS.insert()
# What was asked for has no contact; once it is confirmed, it is read as a booking.
COLUMNS = f"{REQUESTS.columns}, {BOOKINGS.columns}, {EVENT_TYPES.columns}"
TABLES = """
booking_requests r join bookings b on b.id = r.booking_id
join lateral (select * from event_types where id = b.event_type_id offset 0) e on true"""
OWN = "r.booking_id = $1 and ($2::uuid is null or r.host_id = $2)"
FIND = f"select {COLUMNS} from {TABLES} where {OWN}"
WITH_HOST = f"""
select {COLUMNS}, u.name as host_name, u.username as host_username, u.zone as host_zone
from {TABLES} join users u on u.id = r.host_id where r.booking_id = $1"""
# As every statement that changes a booking, it locks the host first.
LOCK = f"""
select {COLUMNS}, {LOCK_HOST} from {TABLES} join users u on u.id = r.host_id
where {OWN} for no key update of b, r"""
WAITING = f"select {COLUMNS} from {TABLES} where r.host_id = $1 and r.state = 'waiting' order by b.starts_at, b.id"
# It repeats what the host's lock assures: whoever forgets the lock must not answer twice.
END = """
update booking_requests set state = $2, reason = $3, ended_at = $4 where booking_id = $1 and state = 'waiting'"""


def insert_request(request: BookingRequest) -> Change:
    return Change(INSERT, REQUESTS.values(request))


def end_request(request: BookingRequest) -> Change:
    return Change(END, (request.booking_id, request.state, request.reason, request.ended_at))


async def find_request(db: Db, ref: BookingRef) -> FoundRequest | None:
    row = await db.fetchrow(FIND, ref.id, ref.host_id)
    return _to_found(row) if row else None


async def find_with_host(db: Db, booking_id: UUID) -> tuple[BookingRequest, BookingDetails, Host] | None:
    row = await db.fetchrow(WITH_HOST, booking_id)
    if row is None:
        return None
    found = _to_found(row)
    return found.request, found.details, to_host(row)


async def lock_request(db: Db, ref: BookingRef) -> FoundRequest | None:
    """Look a request up and keep others from changing it, or any of its host's time, until the commit."""
    row = await db.fetchrow(LOCK, ref.id, ref.host_id)
    return _to_found(row) if row else None


async def list_waiting(db: Db, host_id: UUID, *, limit: int | None) -> list[FoundRequest]:
    return [_to_found(row) for row in await db.fetch(f"{WAITING} limit $2", host_id, limit)]


async def list_due(db: Db, *, now: datetime, limit: int) -> Sequence[Row]:
    statement = """select booking_id, host_id from booking_requests where state = 'waiting' and lapses_at <= $1
        order by lapses_at limit $2"""
    return await db.fetch(statement, now, limit)


async def delete_ended(db: Db, *, before: datetime, limit: int) -> list[tuple[UUID, UUID | None]]:
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
        select claim_id, seat_id from gone"""
    return [(row["claim_id"], row["seat_id"]) for row in await db.fetch(statement, before, limit)]


def _to_found(row: Row) -> FoundRequest:
    return FoundRequest(REQUESTS.read(row), BookingDetails(BOOKINGS.read(row), EVENT_TYPES.read(row), None))
