"""All SQL of bookings."""

from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.accounts.host_lock import LOCK_HOST
from openslot.bookings.errors import BookingNotFound
from openslot.bookings.models import Answers, Booking, BookingRef, HistoryEntry, Payment, Status
from openslot.contacts.models import Contact
from openslot.contacts.store import CONTACT_COLUMNS, to_contact
from openslot.core.actor import Actor
from openslot.core.changes import Change
from openslot.core.db import Db, Row, count_of
from openslot.core.instants import iso_of
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
    "invitee_locale",
)
BOOKING_COLUMNS = ", ".join(f"b.{name} as b_{name}" for name in COLUMNS)
INSERT = f"""
insert into bookings ({", ".join(COLUMNS)}) values ({", ".join(f"${n}" for n in range(1, len(COLUMNS) + 1))})"""
CANCEL = """
update bookings set status = 'CANCELLED', cancelled_at = $2, cancel_reason = $3, cancelled_by = $4, sequence = $5,
    updated_at = $6 where id = $1"""
MOVE = """
update bookings set starts_at = $2, ends_at = $3, claim_id = $4, seat_id = $5, sequence = $6, reschedule_count = $7,
    previous_starts_at = $8, updated_at = $9 where id = $1"""
# What belongs to a booking comes with it in one statement; the columns' own names tell the three apart.
DETAIL_COLUMNS = f"{BOOKING_COLUMNS}, {EVENT_TYPE_COLUMNS}, {CONTACT_COLUMNS}"
# `offset 0` has each looked up by its id: the planner does not know how few bookings a page has, and would read all.
BELONGINGS = """
join lateral (select * from event_types where id = b.event_type_id offset 0) e on true
left join lateral (select * from contacts where id = b.contact_id offset 0) c on true"""
DETAIL_TABLES = f"bookings b {BELONGINGS}"
OWN = "b.id = $1 and ($2::uuid is null or b.host_id = $2) and b.status <> 'PENDING_PAYMENT'"
DETAILS = f"select {DETAIL_COLUMNS} from {DETAIL_TABLES} where {OWN}"
# First the host, then the booking, everywhere: in turns, two would wait for each other for ever.
LOCKED = f"""
select {DETAIL_COLUMNS}, {LOCK_HOST} from {DETAIL_TABLES} join users u on u.id = b.host_id
where {OWN} for no key update of b"""

# What is shown has six fields of an event type and as many of a contact: no more is read.
SHOWN_COLUMNS = f"""
b.id, {iso_of("b.starts_at")} as start_time, {iso_of("b.ends_at")} as end_time, b.status, b.invitee_name,
b.invitee_email, b.invitee_zone, b.notes, b.location, b.answers, b.guests, b.payment, b.reschedule_count,
{iso_of("b.previous_starts_at")} as previous_start_time, {iso_of("b.cancelled_at")} as cancelled_at, b.cancel_reason,
b.cancelled_by, {iso_of("b.created_at")} as created_at, {iso_of("b.updated_at")} as updated_at, e.id as event_type_id,
e.name as event_type_name, e.slug, e.duration_minutes, e.buffer_before, e.buffer_after, c.id as contact_id,
c.name as contact_name, c.email, c.phone, c.company, c.notes as contact_notes"""
SHOWN = f"select {SHOWN_COLUMNS} from {DETAIL_TABLES} where {OWN}"
# The total comes along also where the page is empty. Beside one row a sorted list stays sorted: to sort it once more
# took a sixth of the statement.
LISTED = f"""
select t.total, p.* from (select ({{count}}) as total) t left join lateral (
    select {SHOWN_COLUMNS}
    from (select * from {{matching}} order by b.starts_at desc, b.id desc limit ${{limit}} offset ${{offset}}) b
    {BELONGINGS}
    order by b.starts_at desc, b.id desc
) p on true"""
MATCHING = "bookings b where b.host_id = $1 and b.status <> 'PENDING_PAYMENT'"
BY_STATUS = "b.status ="
FILTERS = (BY_STATUS, "b.starts_at >=", "b.starts_at <")
# Kept by the database itself; a range of time has to be counted.
KEPT_COUNTS = {
    (): """
    select coalesce(sum(n.bookings), 0)::bigint from booking_counts n
    where n.host_id = $1 and n.status <> 'PENDING_PAYMENT'""",
    (BY_STATUS,): """
    select coalesce(sum(n.bookings), 0)::bigint from booking_counts n
    where n.host_id = $1 and n.status = $2 and n.status <> 'PENDING_PAYMENT'""",
}
# Of events that are too old to be kept, what is told here stays.
HISTORY = """
select type, at, actor from (
    select no, type, at, actor from booking_history where booking_id = $1
    union all select no, type, at, actor from events where subject_id = $1
) e order by no"""

# What releases up to 0.1.0 have kept of facts, and what is made today when it is shown: the text keeps the order of its
# fields, and a quote inside of any other value is written with a backslash.
REMOVE_LINKS = r"""
update events set fact = (fact || '{"manage_url": ""}') #- '{event_type,private_token}',
    public = regexp_replace(public::text, '"manageUrl":\s*"[^"\\]*"', '"manageUrl":""')::json
where no = any(array(select no from events where fact ->> 'manage_url' <> '' order by no limit $1))
  and fact ->> 'manage_url' <> ''"""

# What is still on its way, or planned for later, is not told of.
EMAILS = f"""
select id, kind, recipient, subject, status, {iso_of("sent_at")} as sent_at, error from mail_messages
where booking_id = $1 and status <> 'sending' order by created_at, id limit 500"""

_location = msgspec.json.Decoder(Location)
_answers = msgspec.json.Decoder(Answers)
_payment = msgspec.json.Decoder(Payment)
_actor = msgspec.json.Decoder(Actor)


class BookingDetails(Struct, frozen=True):
    """A booking with the event type and the contact that belong to it."""

    booking: Booking
    event_type: EventType
    contact: Contact | None


def to_details(row: Row) -> BookingDetails:
    """Make a booking and what belongs to it of a row of `DETAILS`."""
    fields: dict[str, Any] = {name: row[f"b_{name}"] for name in COLUMNS}
    fields["status"] = Status(fields["status"])
    fields["location"] = _location.decode(fields["location"])
    fields["answers"] = _answers.decode(fields["answers"])
    fields["guests"] = tuple(fields["guests"])
    fields["payment"] = _payment.decode(fields["payment"]) if fields["payment"] else None
    contact = to_contact(row) if row["b_contact_id"] else None
    return BookingDetails(Booking(**fields), to_event_type(row), contact)


def insert_booking(booking: Booking) -> Change:
    """Write a new booking."""
    return Change(INSERT, _values(booking))


async def find_booking(db: Db, ref: BookingRef) -> BookingDetails | None:
    """Look a booking up."""
    row = await db.fetchrow(DETAILS, ref.id, ref.host_id)
    return to_details(row) if row else None


async def lock_booking(db: Db, ref: BookingRef) -> BookingDetails | None:
    """Look a booking up and keep others from changing it, or any of its host's time, until the commit."""
    row = await db.fetchrow(LOCKED, ref.id, ref.host_id)
    return to_details(row) if row else None


async def find_shown(db: Db, ref: BookingRef) -> Row | None:
    """Look a booking up as a row that has `SHOWN_COLUMNS`."""
    return await db.fetchrow(SHOWN, ref.id, ref.host_id)


async def list_shown(
    db: Db, host_id: UUID, *, status: Status | None, span: Span, limit: int, offset: int
) -> tuple[list[Row], int]:
    """List a host's bookings as rows that have `SHOWN_COLUMNS`, newest start first, with how many there are in all."""
    wished = dict(zip(FILTERS, (status, span.starts_at, span.ends_before), strict=True))
    given = {filter_: value for filter_, value in wished.items() if value is not None}
    rows = await db.fetch(_write_list(tuple(given)), host_id, *given.values(), limit, offset)
    return [row for row in rows if row["id"] is not None], rows[0]["total"]


@cache
def _write_list(filters: tuple[str, ...]) -> str:
    """Write a list and its count with the filters that are given: each is checked for every booking of the host."""
    matching = " and ".join([MATCHING, *(f"{each} ${place}" for place, each in enumerate(filters, 2))])
    count = KEPT_COUNTS.get(filters, f"select count(*) from {matching}")
    free = len(filters) + 2
    return LISTED.format(count=count, matching=matching, limit=free, offset=free + 1)


async def list_upcoming(db: Db, host_id: UUID, *, now: datetime) -> list[UUID]:
    """Name a host's confirmed bookings that are not over."""
    rows = await db.fetch(
        """select id from bookings where host_id = $1 and status = 'CONFIRMED' and ends_at > $2 order by id""",
        host_id,
        now,
    )
    return [row["id"] for row in rows]


def update_cancelled(booking: Booking) -> Change:
    """Write that a booking is cancelled."""
    return Change(
        CANCEL,
        (
            booking.id,
            booking.cancelled_at,
            booking.cancel_reason,
            booking.cancelled_by,
            booking.sequence,
            booking.updated_at,
        ),
    )


def update_moved(booking: Booking) -> Change:
    """Write that a booking takes place at another time."""
    return Change(
        MOVE,
        (
            booking.id,
            booking.starts_at,
            booking.ends_at,
            booking.claim_id,
            booking.seat_id,
            booking.sequence,
            booking.reschedule_count,
            booking.previous_starts_at,
            booking.updated_at,
        ),
    )


async def list_history(db: Db, booking_id: UUID) -> list[HistoryEntry]:
    """Tell what happened to a booking, the first first."""
    rows = await db.fetch(HISTORY, booking_id)
    return [HistoryEntry(type=row["type"], at=row["at"], by=_actor.decode(row["actor"]).kind) for row in rows]


async def list_emails(db: Db, booking_id: UUID) -> list[Row]:
    """List the mails about a booking that were sent or have failed, the first first."""
    return await db.fetch(EMAILS, booking_id)


async def remove_links(db: Db, *, limit: int) -> int:
    """Remove links and tokens from facts that an earlier release has written; tell from how many."""
    return count_of(await db.execute(REMOVE_LINKS, limit))


async def list_without_time(db: Db, *, now: datetime) -> list[UUID]:
    """Name the confirmed bookings ahead whose time or seat is not kept for them."""
    rows = await db.fetch(
        """select b.id from bookings b join claims c on c.id = b.claim_id left join claim_seats t on t.id = b.seat_id
        where b.status = 'CONFIRMED' and b.ends_at > $1 and not (c.active and coalesce(t.active, true))
        order by b.id""",
        now,
    )
    return [row["id"] for row in rows]


async def get_host(db: Db, host_id: UUID) -> Row:
    """Look up what an invitee may know of a host."""
    row = await db.fetchrow("select name, username, zone from users where id = $1", host_id)
    if row is None:
        raise BookingNotFound
    return row


def _values(booking: Booking) -> tuple[object, ...]:
    values = {name: getattr(booking, name) for name in COLUMNS}
    for name in ("location", "answers"):
        values[name] = msgspec.json.encode(values[name]).decode()
    values["payment"] = msgspec.json.encode(booking.payment).decode() if booking.payment else None
    values["guests"] = list(booking.guests)
    return tuple(values.values())
