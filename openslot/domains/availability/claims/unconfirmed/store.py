"""All SQL of what is taken and not confirmed: holds, unpaid bookings, requests, and offers of a wait list."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.availability.store import PENDING, UNCONFIRMED, UNCONFIRMED_SEAT
from openslot.platform.core.db import Db

# Until when what waits is kept: by itself, for its payment, or for its host.
KEPT_UNTIL = f"""(
    select max(coalesce(p.held_until, r.lapses_at)) from bookings b
    left join payments p on p.booking_id = b.id left join booking_requests r on r.booking_id = b.id
    where {PENDING} and """
OF_HOST = f"""
select c.event_type_id, c.starts_at, coalesce(c.expires_at, {KEPT_UNTIL} b.claim_id = c.id)) as kept_until
from claims c
where c.host_no = $1 and c.starts_at >= $2 and c.starts_at < $3 and c.active
  and (c.expires_at is null or c.expires_at > $4) and c.id <> $5 and {UNCONFIRMED}
union all
select c.event_type_id, c.starts_at, coalesce(t.expires_at, {KEPT_UNTIL} b.seat_id = t.id))
from claims c join claim_seats t on t.claim_id = c.id
where c.host_no = $1 and c.starts_at >= $2 and c.starts_at < $3 and c.active and c.kind = 'session'
  and t.active and (t.expires_at is null or t.expires_at > $4) and t.id <> $5 and {UNCONFIRMED_SEAT}"""
# Of each meeting the claim of its organizer, which alone has a holder, and by which its booking is found.
OF_EVENT_TYPE = f"""
select c.event_type_id, c.starts_at, coalesce(c.expires_at, {KEPT_UNTIL} b.claim_id = c.id)) as kept_until
from claims c
where c.event_type_id = $1 and c.starts_at >= $2 and c.starts_at < $3 and c.active and c.id <> $5
  and (c.kind = 'hold' and c.holder is not null and c.expires_at > $4
       or exists (select from bookings b where b.claim_id = c.id and b.seat_id is null and {PENDING}))
union all
select c.event_type_id, c.starts_at, coalesce(t.expires_at, {KEPT_UNTIL} b.seat_id = t.id))
from claims c join claim_seats t on t.claim_id = c.id
where c.event_type_id = $1 and c.starts_at >= $2 and c.starts_at < $3 and c.active and t.active and t.id <> $5
  and (t.expires_at is null or t.expires_at > $4) and {UNCONFIRMED_SEAT}"""
CLAIMS = f"""
select c.id from claims c
where c.host_no = any($1) and c.starts_at < $3 and c.ends_at > $2 and c.active and c.seats = 1
  and (c.expires_at is null or c.expires_at > $4) and {UNCONFIRMED}"""


class Unconfirmed(Struct, frozen=True, kw_only=True):
    """A time that is taken and not confirmed: a hold, an unpaid booking, a request, or an offer of a wait list."""

    event_type_id: UUID
    starts_at: datetime
    kept_until: datetime | None


async def list_unconfirmed_of_host(
    db: Db, host_no: int, *, since: datetime, until: datetime, now: datetime, without: UUID
) -> list[Unconfirmed]:
    """List what is taken of a host's time and not confirmed, without one claim or seat."""
    return [Unconfirmed(**row) for row in await db.fetch(OF_HOST, host_no, since, until, now, without)]


async def list_unconfirmed_of_event_type(
    db: Db, event_type_id: UUID, *, since: datetime, until: datetime, now: datetime, without: UUID
) -> list[Unconfirmed]:
    """List what is taken of a team's event type and not confirmed, without one claim or seat."""
    return [Unconfirmed(**row) for row in await db.fetch(OF_EVENT_TYPE, event_type_id, since, until, now, without)]


async def list_unconfirmed_claims(
    db: Db, numbers: Collection[int], *, since: datetime, until: datetime, now: datetime
) -> list[UUID]:
    """List what is taken of some hosts and not confirmed, whatever it is taken for; seats in sessions are not."""
    return [row["id"] for row in await db.fetch(CLAIMS, list(numbers), since, until, now)]
