"""All SQL of bookings."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.bookings.errors import BookingNotFound
from openslot.bookings.models import Answers, Booking, Past, Payment, Ref, Status
from openslot.contacts.models import Contact
from openslot.contacts.store import CONTACT_COLUMNS, to_contact
from openslot.core.actor import Actor
from openslot.core.db import Db, Row
from openslot.core.moments import Span
from openslot.event_types.models import EventType, Location
from openslot.event_types.store import EVENT_TYPE_COLUMNS, to_event_type

COLUMNS = (
    "id",
    "host_id",
    "event_type_id",
    "contact_id",
    "claim_id",
    "seat_id",
    "status",
    "starts_at",
    "ends_at",
    "invitee_name",
    "invitee_email",
    "invitee_zone",
    "notes",
    "location",
    "answers",
    "guests",
    "payment",
    "sequence",
    "reschedule_count",
    "previous_starts_at",
    "cancelled_at",
    "cancel_reason",
    "cancelled_by",
    "created_at",
    "updated_at",
)
BOOKING_COLUMNS = ", ".join(f"b.{name} as b_{name}" for name in COLUMNS)
INSERT = f"""
insert into bookings ({", ".join(COLUMNS)}) values ({", ".join(f"${n}" for n in range(1, len(COLUMNS) + 1))})"""
# What belongs to a booking comes with it in one statement; the columns' own names tell the three apart.
WHOLE = f"""
select {BOOKING_COLUMNS}, {EVENT_TYPE_COLUMNS}, {CONTACT_COLUMNS}
from bookings b join event_types e on e.id = b.event_type_id left join contacts c on c.id = b.contact_id"""

# A list shows six fields of an event type and as many of a contact: no more is read.
MATCHING = """
from bookings where host_id = $1 and status <> 'PENDING_PAYMENT' and ($2::text is null or status = $2)
  and ($3::timestamptz is null or starts_at >= $3) and ($4::timestamptz is null or starts_at < $4)"""
LISTED = f"""
select b.id, b.starts_at, b.ends_at, b.status, b.invitee_name, b.invitee_email, b.invitee_zone, b.notes, b.location,
       b.answers, b.guests, b.payment, b.reschedule_count, b.previous_starts_at, b.cancelled_at, b.cancel_reason,
       b.cancelled_by, b.created_at, b.updated_at, e.id as event_type_id, e.name as event_type_name, e.slug,
       e.duration_minutes, e.buffer_before, e.buffer_after, c.id as contact_id, c.name as contact_name, c.email,
       c.phone, c.company, c.notes as contact_notes, t.total
from (select count(*) as total {MATCHING}) t
left join (select * {MATCHING} order by starts_at desc, id desc limit $5 offset $6) b on true
left join event_types e on e.id = b.event_type_id
left join contacts c on c.id = b.contact_id
order by b.starts_at desc, b.id desc"""

_location = msgspec.json.Decoder(Location)
_answers = msgspec.json.Decoder(Answers)
_payment = msgspec.json.Decoder(Payment)
_actor = msgspec.json.Decoder(Actor)


class Whole(Struct, frozen=True):
    """A booking with the event type and the contact that belong to it."""

    booking: Booking
    event_type: EventType
    contact: Contact | None


def to_whole(row: Row) -> Whole:
    """Make a booking and what belongs to it of a row of `WHOLE`."""
    fields: dict[str, Any] = {name: row[f"b_{name}"] for name in COLUMNS}
    fields["status"] = Status(fields["status"])
    fields["location"] = _location.decode(fields["location"])
    fields["answers"] = _answers.decode(fields["answers"])
    fields["guests"] = tuple(fields["guests"])
    fields["payment"] = _payment.decode(fields["payment"]) if fields["payment"] else None
    contact = to_contact(row) if row["b_contact_id"] else None
    return Whole(Booking(**fields), to_event_type(row), contact)


async def insert_booking(db: Db, booking: Booking) -> None:
    """Write a new booking."""
    await db.execute(INSERT, *_values(booking))


async def find_booking(db: Db, ref: Ref, *, lock: bool = False) -> Whole | None:
    """Look a booking up, and keep others from changing it until the commit where that is asked for."""
    row = await db.fetchrow(
        f"""{WHOLE} where b.id = $1 and ($2::uuid is null or b.host_id = $2) and b.status <> 'PENDING_PAYMENT'
        {"for update of b" if lock else ""}""",
        ref.id,
        ref.host_id,
    )
    return to_whole(row) if row else None


async def list_bookings(
    db: Db, host_id: UUID, *, status: Status | None, span: Span, limit: int, offset: int
) -> tuple[list[Row], int]:
    """List a host's bookings as rows of `LISTED`, newest start first, with how many there are in all."""
    rows = await db.fetch(LISTED, host_id, status, span.starts_at, span.ends_before, limit, offset)
    return [row for row in rows if row["id"] is not None], rows[0]["total"]


async def list_upcoming(db: Db, host_id: UUID, *, now: datetime) -> list[UUID]:
    """Name a host's confirmed bookings that are not over."""
    rows = await db.fetch(
        """select id from bookings where host_id = $1 and status = 'CONFIRMED' and ends_at > $2 order by id""",
        host_id,
        now,
    )
    return [row["id"] for row in rows]


async def update_cancelled(db: Db, booking: Booking) -> None:
    """Write that a booking is cancelled."""
    await db.execute(
        """update bookings set status = 'CANCELLED', cancelled_at = $2, cancel_reason = $3, cancelled_by = $4,
            sequence = $5, updated_at = $6 where id = $1""",
        booking.id,
        booking.cancelled_at,
        booking.cancel_reason,
        booking.cancelled_by,
        booking.sequence,
        booking.updated_at,
    )


async def update_moved(db: Db, booking: Booking) -> None:
    """Write that a booking takes place at another time."""
    await db.execute(
        """update bookings set starts_at = $2, ends_at = $3, claim_id = $4, seat_id = $5, sequence = $6,
            reschedule_count = $7, previous_starts_at = $8, updated_at = $9 where id = $1""",
        booking.id,
        booking.starts_at,
        booking.ends_at,
        booking.claim_id,
        booking.seat_id,
        booking.sequence,
        booking.reschedule_count,
        booking.previous_starts_at,
        booking.updated_at,
    )


async def list_past(db: Db, booking_id: UUID) -> list[Past]:
    """Tell what happened to a booking, the first first."""
    rows = await db.fetch("select type, at, actor from events where subject_id = $1 order by no", booking_id)
    return [Past(type=row["type"], at=row["at"], by=_actor.decode(row["actor"]).kind) for row in rows]


async def get_host(db: Db, host_id: UUID) -> Row:
    """Look up what an invitee may know of a host."""
    row = await db.fetchrow("select name, username, zone from users where id = $1", host_id)
    if row is None:
        raise BookingNotFound
    return row


def _values(booking: Booking) -> list[object]:
    values = {name: getattr(booking, name) for name in COLUMNS}
    for name in ("location", "answers"):
        values[name] = msgspec.json.encode(values[name]).decode()
    values["payment"] = msgspec.json.encode(booking.payment).decode() if booking.payment else None
    values["guests"] = list(booking.guests)
    return list(values.values())
