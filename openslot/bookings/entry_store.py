"""SQL that reads bookings as lists show them."""

from collections.abc import Iterable
from functools import cache
from typing import Any
from uuid import UUID

import msgspec

from openslot.bookings.models import Answers, BookingEntry, BookingRef, EmailEntry, Payment, Status
from openslot.bookings.store import OWN
from openslot.contacts.models import ContactSummary
from openslot.core.db import Db, Row
from openslot.core.moments import Span, iso_of
from openslot.event_types.models import EventTypeSummary, Location

INSTANTS = frozenset({"starts_at", "ends_at", "previous_starts_at", "cancelled_at", "created_at", "updated_at"})
BOOKING_FIELDS = BookingEntry.__struct_fields__[:-2]
EVENT_TYPE_FIELDS = EventTypeSummary.__struct_fields__
CONTACT_FIELDS = ContactSummary.__struct_fields__
# The fields of the three nouns in their order, so that a row is read by position: looking 32 columns up by their names
# took as long as everything else that happens to a row.
ENTRY_COLUMNS = ", ".join(
    (
        *(f"{iso_of(f'b.{name}') if name in INSTANTS else f'b.{name}'} as {name}" for name in BOOKING_FIELDS),
        *(f"e.{name} as event_type_{name}" for name in EVENT_TYPE_FIELDS),
        *(f"c.{name} as contact_{name}" for name in CONTACT_FIELDS),
    )
)
# `offset 0` makes the planner look up each one by its id: it does not know how few bookings a page has, and would read
# all.
BELONGINGS = f"""
join lateral (select {", ".join(EVENT_TYPE_FIELDS)} from event_types where id = b.event_type_id offset 0) e on true
left join lateral (select {", ".join(CONTACT_FIELDS)} from contacts where id = b.contact_id offset 0) c on true"""
# Emails that are under way or planned for later are not listed.
EMAILS = """
select coalesce(json_agg(m), '[]') from (
    select id, kind, recipient, subject, status, sent_at, error from mail_messages
    where booking_id = b.id and status <> 'sending' order by created_at, id limit 500) m"""
ENTRY = f"select ({EMAILS}) as emails, {ENTRY_COLUMNS} from bookings b {BELONGINGS} where {OWN}"
# The total is returned even if the page is empty. A sorted list joined with one row stays sorted: sorting it again took
# a sixth of the statement's time.
LISTED = f"""
select t.total, p.* from (select ({{count}}) as total) t left join lateral (
    select {ENTRY_COLUMNS}
    from (select * from {{matching}} order by b.starts_at desc, b.id desc limit ${{limit}} offset ${{offset}}) b
    {BELONGINGS}
    order by b.starts_at desc, b.id desc
) p on true"""
MATCHING = "bookings b where b.host_id = $1 and b.status <> 'PENDING_PAYMENT'"
BY_STATUS = "b.status ="
FILTERS = (BY_STATUS, "b.starts_at >=", "b.starts_at <")
# The total is maintained by the database; only a range of time has to be counted.
KEPT_COUNTS = {
    (): """
    select coalesce(sum(n.bookings), 0)::bigint from booking_counts n
    where n.host_id = $1 and n.status <> 'PENDING_PAYMENT'""",
    (BY_STATUS,): """
    select coalesce(sum(n.bookings), 0)::bigint from booking_counts n
    where n.host_id = $1 and n.status = $2 and n.status <> 'PENDING_PAYMENT'""",
}

_location = msgspec.json.Decoder(Location)
_answers = msgspec.json.Decoder(Answers)
_payment = msgspec.json.Decoder(Payment)
_emails = msgspec.json.Decoder(list[EmailEntry])
_STATUSES = {each.value: each for each in Status}
_BOOKING = slice(1, 1 + len(BOOKING_FIELDS))
_EVENT_TYPE = slice(_BOOKING.stop, _BOOKING.stop + len(EVENT_TYPE_FIELDS))
_CONTACT = slice(_EVENT_TYPE.stop, None)


def to_entries(rows: Iterable[Row]) -> list[BookingEntry]:
    """Make bookings of rows that have `ENTRY_COLUMNS` behind one other column; a row without a booking gives none."""
    event_types: dict[UUID, EventTypeSummary] = {}
    return [_to_entry(tuple(row.values()), event_types) for row in rows if row["id"] is not None]


def _to_entry(values: tuple[Any, ...], event_types: dict[UUID, EventTypeSummary]) -> BookingEntry:
    *plain, status, location, answers, payment = values[_BOOKING]
    event_type_id, contact_id = values[_EVENT_TYPE.start], values[_CONTACT.start]
    event_type = event_types.get(event_type_id)
    if event_type is None:
        event_type = event_types[event_type_id] = EventTypeSummary(*values[_EVENT_TYPE])
    contact = None if contact_id is None else ContactSummary(*values[_CONTACT])
    paid = _payment.decode(payment) if payment else None
    read = (_STATUSES[status], _location.decode(location), _answers.decode(answers), paid, event_type, contact)
    return BookingEntry(*[*plain, *read])


async def find_with_emails(db: Db, ref: BookingRef) -> tuple[BookingEntry, list[EmailEntry]] | None:
    """Look up a booking as lists show it, with the emails that were sent or have failed, in order."""
    row = await db.fetchrow(ENTRY, ref.id, ref.host_id)
    return (to_entries([row])[0], _emails.decode(row["emails"])) if row else None


async def list_bookings(
    db: Db, host_id: UUID, *, status: Status | None, span: Span, limit: int, offset: int
) -> tuple[list[BookingEntry], int]:
    """List a host's bookings, newest start first, with how many there are in all."""
    wished = dict(zip(FILTERS, (status, span.starts_at, span.ends_before), strict=True))
    given = {filter_: value for filter_, value in wished.items() if value is not None}
    rows = await db.fetch(_write_list(tuple(given)), host_id, *given.values(), limit, offset)
    return to_entries(rows), rows[0]["total"]


@cache
def _write_list(filters: tuple[str, ...]) -> str:
    """Write a list and its count with the filters that are given: each is checked for every booking of the host."""
    matching = " and ".join([MATCHING, *(f"{each} ${place}" for place, each in enumerate(filters, 2))])
    count = KEPT_COUNTS.get(filters, f"select count(*) from {matching}")
    free = len(filters) + 2
    return LISTED.format(count=count, matching=matching, limit=free, offset=free + 1)
