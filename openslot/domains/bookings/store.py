"""All SQL of bookings."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from openslot.domains.accounts.store import LOCK_TIME
from openslot.domains.availability.models import ClaimedHost
from openslot.domains.bookings.events import BookingCreated, BookingLinkFailed, BookingRescheduled
from openslot.domains.bookings.models import (
    Booking,
    BookingDetails,
    BookingRef,
    ConsentSource,
    HistoryEntry,
    Host,
    HostNotes,
    MessageConsent,
    Payment,
)
from openslot.domains.bookings.rules import name_hosts
from openslot.domains.contacts.store import CONTACTS
from openslot.domains.event_types.models import Location
from openslot.domains.event_types.store import EVENT_TYPES
from openslot.domains.teams.models import BookingHost
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.ids import new_id
from openslot.platform.core.rows import Part, Rows

BOOKINGS = Rows(Booking, "bookings b", prefix="b_")
INSERT = BOOKINGS.insert("source", "email_proven")
INSERT_SERIES = f"""
insert into bookings ({BOOKINGS.stored.columns}, source, email_proven)
select {BOOKINGS.stored.columns}, $2::text, $3::boolean
from jsonb_populate_recordset(null::bookings, $1::text::jsonb)"""
CANCELLED = BOOKINGS.stored.only(
    "status", "location", "cancelled_at", "cancel_reason", "cancelled_by", "sequence", "no_show", "updated_at"
)
MOVED = BOOKINGS.stored.only(
    "starts_at",
    "ends_at",
    "claim_id",
    "seat_id",
    "location",
    "sequence",
    "reschedule_count",
    "previous_starts_at",
    "no_show",
    "updated_at",
)
CONFIRMED = BOOKINGS.stored.only(
    "status", "ends_at", "contact_id", "claim_id", "seat_id", "location", "payment", "updated_at"
)
CANCEL_SERIES = f"""
update bookings b set {", ".join(f"{name} = w.{name}" for name in CANCELLED.names)}
from jsonb_populate_recordset(null::bookings, $1::text::jsonb) w where b.id = w.id"""
LOCATED = BOOKINGS.stored.only("location", "updated_at")
MARKED = BOOKINGS.stored.only("no_show", "updated_at")
# Of a booking `b` and its event type `e`; most have no team, and nothing is looked up.
HOSTS = """
case when e.team_id is not null then (
    select json_agg(json_build_object('userId', u.id, 'name', u.name, 'role', h.role) order by h.role = 'host', u.no)
    from booking_hosts h join users u on u.id = h.user_id where h.booking_id = b.id)::text end"""
# Of the same those whose time it has: whoever was chosen, or the owner of an event type without a team.
TAKEN = """
case when e.team_id is null then (
    select json_build_array(json_build_object(
        'user_id', u.id, 'host_no', u.no, 'name', u.name, 'claim_id', b.claim_id, 'group_id', null, 'role', 'organizer'
    ))::text from users u where u.id = b.host_id)
else (
    select json_agg(json_build_object(
        'user_id', u.id, 'host_no', u.no, 'name', u.name, 'claim_id', h.claim_id, 'group_id', h.group_id, 'role', h.role
    ) order by h.role = 'host', u.no)::text
    from booking_hosts h join users u on u.id = h.user_id where h.booking_id = b.id) end"""
# A booking, its event type and its contact are read in one statement; column names distinguish the three.
_COLUMNS = f"{BOOKINGS.columns}, {EVENT_TYPES.columns}, {CONTACTS.columns}"
DETAIL_COLUMNS = f"{_COLUMNS}, {HOSTS} as hosts"
# What is read for a change.
LOCKED_COLUMNS = f"{_COLUMNS}, {TAKEN} as taken"
# `offset 0` makes the planner look up each one by its id: it does not know how few bookings a page has, and would read
# all.
BELONGINGS = """
join lateral (select * from event_types where id = b.event_type_id offset 0) e on true
left join lateral (select * from contacts where id = b.contact_id offset 0) c on true"""
DETAIL_TABLES = f"bookings b {BELONGINGS}"
# What waits for its payment, or for its host, is known to them and its invitee alone.
SHOWN = "b.status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION')"
OWN = f"b.id = $1 and ($2::uuid is null or b.host_id = $2) and {SHOWN}"
DETAILS = f"select {DETAIL_COLUMNS} from {DETAIL_TABLES} where {OWN}"
LOCKED = f"select {LOCKED_COLUMNS} from {DETAIL_TABLES} where {OWN} for no key update of b"
# Dates of one series can have other owners, after their event type was taken over, and other hosts.
SAME_HANDS = """($2::uuid is null or b.host_id = $2) and ($3::uuid is null or b.host_id = $3
    or exists (select from booking_hosts h where h.booking_id = b.id and h.user_id = $3))"""


def _write_with_host(condition: str) -> str:
    return f"""
select {DETAIL_COLUMNS}, u.name as host_name, coalesce('team/' || t.slug, u.username) as host_username,
    coalesce(t.zone, u.zone) as host_zone
from {DETAIL_TABLES} join users u on u.id = b.host_id left join teams t on t.id = e.team_id where {condition}"""


WITH_HOST = _write_with_host(OWN)
# Everybody locks the host first, or the event type of a team, and then the booking: in different orders, two
# transactions would deadlock. That lock has a statement of its own: one that waits goes on with the owner from before,
# and would find no booking of an event type that somebody has taken over meanwhile.
LOCK_OF = f"""
select {LOCK_TIME} from bookings b join event_types e on e.id = b.event_type_id join users u on u.id = b.host_id
where b.id = $1"""
PENDING = "b.id = $1 and b.status = 'PENDING_PAYMENT'"
LOCKED_PENDING = f"select {LOCKED_COLUMNS} from {DETAIL_TABLES} where {PENDING} for no key update of b"
PENDING_WITH_HOST = _write_with_host(PENDING)

# The history stays even after its events are deleted.
HISTORY = """
select type, at, actor from (
    select no, type, at, actor from booking_history where booking_id = $1
    union all select no, type, at, actor from events where subject_id = $1
) e order by no"""

# Each change of a booking is an event, and events are kept for a month at least.
RESCHEDULED_BY_LINK = f"""
select at from events
where subject_id = $1 and type = '{BookingRescheduled.type}' and at > $2 and actor ->> 'kind' = '{ActorKind.PUBLIC}'
order by at desc offset $3 - 1 limit 1"""

# Of an event of a booking: its link is made by a service that has to be asked.
AWAITS_LINK = """
(v.fact #>> '{booking,location,conference}' <> '' and v.fact #>> '{booking,location,value}' = '')"""
WAITING = "b.status = 'CONFIRMED' and b.location ->> 'conference' <> '' and b.location ->> 'value' = ''"

_location = msgspec.json.Decoder(Location)
_actor = msgspec.json.Decoder(Actor)
_moments = msgspec.json.Decoder(list[datetime])
_hosts = msgspec.json.Decoder(tuple[BookingHost, ...])
_taken = msgspec.json.Decoder(tuple[ClaimedHost, ...])


def to_details(row: Row) -> BookingDetails:
    contact = CONTACTS.read(row) if row["b_contact_id"] else None
    return BookingDetails(BOOKINGS.read(row), EVENT_TYPES.read(row), contact, to_hosts(row["hosts"]))


def to_locked(row: Row) -> BookingDetails:
    """Read what was selected for a change."""
    contact, taken = CONTACTS.read(row) if row["b_contact_id"] else None, to_taken(row["taken"])
    return BookingDetails(BOOKINGS.read(row), EVENT_TYPES.read(row), contact, name_hosts(taken), taken)


def to_taken(text: str | None) -> tuple[ClaimedHost, ...]:
    """Read what `TAKEN` selects."""
    return _taken.decode(text) if text else ()


def to_hosts(text: str | None) -> tuple[BookingHost, ...]:
    """Read what `HOSTS` selects."""
    return _hosts.decode(text) if text else ()


def insert_booking(booking: Booking, *, source: str | None, is_proven: bool | None = None) -> Change:
    return Change(INSERT, (*BOOKINGS.values(booking), source, is_proven))


def insert_series(bookings: Sequence[Booking], *, source: str | None, is_proven: bool) -> Change:
    return Change(INSERT_SERIES, (_write_rows(bookings), source, is_proven))


def _write_rows(bookings: Sequence[Booking]) -> str:
    """Write bookings as rows of their table, in JSON, as PostgreSQL can read it."""
    return msgspec.json.encode(bookings).decode()


def insert_consents(bookings: Sequence[Booking], consent: MessageConsent, *, now: datetime) -> Change:
    statement = """insert into message_consents (id, host_id, booking_id, phone, text, source, given_at, withdrawn_at)
        select w.id, $1::uuid, w.booking_id, $2::text, $3::text, $4::text, $5::timestamptz, $6::timestamptz
        from unnest($7::uuid[], $8::uuid[]) as w (id, booking_id)"""
    about = (bookings[0].host_id, consent.phone, consent.text, consent.source, now, _unused_at(consent, now))
    return Change(statement, (*about, [new_id() for _ in bookings], [each.id for each in bookings]))


def insert_consent(booking: Booking, consent: MessageConsent, *, now: datetime) -> Change:
    statement = """insert into message_consents (id, host_id, booking_id, phone, text, source, given_at, withdrawn_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8)"""
    about = (new_id(), booking.host_id, booking.id)
    return Change(statement, (*about, consent.phone, consent.text, consent.source, now, _unused_at(consent, now)))


def _unused_at(consent: MessageConsent, now: datetime) -> datetime | None:
    """Return when a consent ends of which no use is made: at once."""
    return None if consent.is_used else now


async def find_unused_phone(db: Db, booking_id: UUID) -> str | None:
    """Find the phone that was given for messages of which none is sent."""
    statement = "select phone from message_consents where booking_id = $1 and withdrawn_at = given_at"
    found: str | None = await db.fetchval(statement, booking_id)
    return found


async def find_consent(db: Db, booking_id: UUID) -> MessageConsent | None:
    row = await db.fetchrow(
        "select phone, text, source from message_consents where booking_id = $1 and withdrawn_at is null", booking_id
    )
    return MessageConsent(phone=row["phone"], text=row["text"], source=ConsentSource(row["source"])) if row else None


async def withdraw_consent(db: Db, booking_id: UUID, *, now: datetime) -> None:
    # At the time when it was given, it would have ended unused.
    statement = """update message_consents set withdrawn_at = greatest($2, given_at + interval '1 microsecond')
        where booking_id = $1 and withdrawn_at is null"""
    await db.execute(statement, booking_id, now)


async def find_booking(db: Db, ref: BookingRef) -> BookingDetails | None:
    row = await db.fetchrow(DETAILS, ref.id, ref.host_id)
    return to_details(row) if row else None


async def lock_booking(db: Db, ref: BookingRef) -> BookingDetails | None:
    """Look a booking up and keep others from changing it, or any of its host's time, until the commit."""
    await db.execute(LOCK_OF, ref.id)
    row = await db.fetchrow(LOCKED, ref.id, ref.host_id)
    return to_locked(row) if row else None


async def lock_time_of(db: Db, claim_id: UUID) -> None:
    """Take the lock of whoever has the bookings of a claim: their host, or their event type if it is a team's."""
    statement = f"""select {LOCK_TIME} from bookings b join event_types e on e.id = b.event_type_id
        join users u on u.id = b.host_id where b.claim_id = $1 limit 1"""
    await db.execute(statement, claim_id)


async def lock_pending(db: Db, booking_id: UUID) -> BookingDetails | None:
    """Look up a booking that waits for its payment, and keep others from changing it, or any of its host's time."""
    await db.execute(LOCK_OF, booking_id)
    row = await db.fetchrow(LOCKED_PENDING, booking_id)
    return to_locked(row) if row else None


async def has_time(db: Db, booking_id: UUID) -> bool:
    """Answer whether the time of all hosts of a booking, or its seat, is still claimed for it."""
    statement = """
        select bool_and(c.active and coalesce(t.active, true)) from bookings b
        left join booking_hosts h on h.booking_id = b.id join claims c on c.id = coalesce(h.claim_id, b.claim_id)
        left join claim_seats t on t.id = b.seat_id where b.id = $1"""
    return bool(await db.fetchval(statement, booking_id))


def mailbox_of(email: str) -> str:
    """Write in SQL where the mail of an address arrives: without what follows a plus sign, in lower case."""
    return rf"lower(regexp_replace({email}, '(.)\+[^@]*@', '\1@'))"


async def count_upcoming(db: Db, event_type_id: UUID, email: str, *, now: datetime) -> int:
    """Count the bookings of an event type that a mailbox has, those that wait for something too."""
    statement = f"""
        select count(*) from bookings b join claims c on c.id = b.claim_id left join claim_seats t on t.id = b.seat_id
        where b.event_type_id = $1 and {mailbox_of("b.invitee_email")} = {mailbox_of("$2")} and b.ends_at > $3
          and b.status <> 'CANCELLED' and c.active and coalesce(t.active, true)"""
    return int(await db.fetchval(statement, event_type_id, email, now))


async def find_with_host(db: Db, ref: BookingRef) -> tuple[BookingDetails, Host] | None:
    return _to_details_with_host(await db.fetchrow(WITH_HOST, ref.id, ref.host_id))


async def find_pending_with_host(db: Db, booking_id: UUID) -> tuple[BookingDetails, Host] | None:
    return _to_details_with_host(await db.fetchrow(PENDING_WITH_HOST, booking_id))


def _to_details_with_host(row: Row | None) -> tuple[BookingDetails, Host] | None:
    if row is None:
        return None
    details = to_details(row)
    return details, to_host(row, details)


def to_host(row: Row, details: BookingDetails) -> Host:
    """Read who an invitee meets: of a team those who host it, instead of who owns it."""
    hosts = ", ".join(each.name for each in details.hosts)
    return Host(name=hosts or row["host_name"], username=row["host_username"], zone=row["host_zone"])


async def list_upcoming(db: Db, host_id: UUID, *, now: datetime) -> list[UUID]:
    statement = """select id from bookings where host_id = $1 and status = 'CONFIRMED' and ends_at > $2 order by id"""
    return [row["id"] for row in await db.fetch(statement, host_id, now)]


async def list_confirmed(db: Db, host_id: UUID, *, since: datetime, limit: int) -> list[BookingDetails]:
    # What one hosts oneself: of a team's event type that one owns, others may host all.
    statement = f"""select {DETAIL_COLUMNS} from (
            select b.* from bookings b where b.host_id = $1
            union all
            select b.* from booking_hosts h join bookings b on b.id = h.booking_id
            where h.user_id = $1 and b.host_id <> $1) b {BELONGINGS}
        where b.status = 'CONFIRMED' and b.starts_at >= $2
          and (e.team_id is null or exists (select from booking_hosts h where h.booking_id = b.id and h.user_id = $1))
        order by b.starts_at desc, b.id desc limit $3"""
    rows = await db.fetch(statement, host_id, since, limit)
    return [to_details(row) for row in rows]


def update_cancelled(booking: Booking) -> Change:
    return _update(CANCELLED, booking)


def update_series_cancelled(bookings: Sequence[Booking]) -> Change:
    return Change(CANCEL_SERIES, (_write_rows(bookings),))


async def list_series(db: Db, series_id: UUID, ref: BookingRef | None = None) -> list[Booking]:
    """Read all bookings of a series, by their starts, or those which whoever changes one of them owns or hosts."""
    statement = f"""select {BOOKINGS.columns} from bookings b where b.series_id = $1 and {SHOWN} and {SAME_HANDS}
        order by b.starts_at, b.id"""
    return [BOOKINGS.read(row) for row in await db.fetch(statement, series_id, *_hands(ref))]


async def lock_series(db: Db, series_id: UUID, ref: BookingRef, *, now: datetime) -> list[BookingDetails]:
    """Read the bookings of a series that are on and not over, which nobody else changes until the commit.

    These are all, or those which whoever changes one of them owns or hosts. The caller has locked their host.
    """
    statement = f"""select {LOCKED_COLUMNS} from {DETAIL_TABLES}
        where b.series_id = $1 and b.status = 'CONFIRMED' and b.ends_at > $4 and {SAME_HANDS}
        order by b.starts_at, b.id for no key update of b"""
    return [to_locked(row) for row in await db.fetch(statement, series_id, *_hands(ref), now)]


def _hands(ref: BookingRef | None) -> tuple[UUID | None, UUID | None]:
    return (ref.host_id, ref.by) if ref else (None, None)


async def find_skipped(db: Db, booking_id: UUID) -> list[datetime]:
    """Find the weeks that were not free when the first booking of a series was made."""
    statement = f"""select v.fact -> 'skipped' from events v
        where v.subject_id = $1 and v.type = '{BookingCreated.type}' and v.fact ? 'skipped' limit 1"""
    found = await db.fetchval(statement, booking_id)
    return _moments.decode(found) if found else []


def update_confirmed(booking: Booking) -> Change:
    return _update(CONFIRMED, booking)


async def update_payment(db: Db, booking_id: UUID, payment: Payment) -> None:
    statement = "update bookings set payment = $2 where id = $1"
    await db.execute(statement, booking_id, msgspec.json.encode(payment).decode())


def update_moved(booking: Booking) -> Change:
    return _update(MOVED, booking)


def update_reassigned(bookings: Sequence[Booking]) -> Change:
    statement = "update bookings set sequence = sequence + 1, updated_at = $2 where id = any($1::uuid[])"
    return Change(statement, ([each.id for each in bookings], bookings[0].updated_at))


def update_no_show(booking: Booking) -> Change:
    return _update(MARKED, booking)


def update_location(booking: Booking) -> Change:
    return _update(LOCATED, booking)


async def find_location(db: Db, claim_id: UUID) -> Location | None:
    """Find the location that the bookings of a meeting share, if one of them has a link that was made for it."""
    statement = """
        select location from bookings
        where claim_id = $1 and status = 'CONFIRMED' and location ->> 'conference' <> '' and location ->> 'value' <> ''
        order by id limit 1"""
    found = await db.fetchval(statement, claim_id)
    return _location.decode(found) if found else None


async def lock_waiting(db: Db, claim_id: UUID) -> list[BookingDetails]:
    """Read the bookings of a meeting that wait for its link, which nobody else changes until the commit.

    The caller has locked their host.
    """
    statement = f"""select {DETAIL_COLUMNS} from {DETAIL_TABLES}
        where b.claim_id = $1 and {WAITING} order by b.id for no key update of b"""
    return [to_details(row) for row in await db.fetch(statement, claim_id)]


async def find_first_waiting(db: Db, claim_id: UUID) -> UUID | None:
    statement = f"select b.id from bookings b where b.claim_id = $1 and {WAITING} order by b.id limit 1"
    found: UUID | None = await db.fetchval(statement, claim_id)
    return found


async def has_failed_link(db: Db, claim_id: UUID) -> bool:
    """Answer whether the host was told that no link could be made for a meeting."""
    statement = f"""select exists (
        select from bookings b join events v on v.subject_id = b.id and v.type = '{BookingLinkFailed.type}'
        where b.claim_id = $1)"""
    return bool(await db.fetchval(statement, claim_id))


async def find_host_notes(db: Db, host_id: UUID, booking_id: UUID) -> HostNotes:
    statement = """
        select coalesce(b.private_notes, '') as private_notes, l.id as link_id, l.note as link_note
        from bookings b left join booking_link_uses n on n.booking_id = b.id
        left join booking_links l on l.id = n.link_id where b.id = $1 and b.host_id = $2"""
    row = await db.fetchrow(statement, booking_id, host_id)
    return HostNotes(**row) if row else HostNotes()


async def update_private_notes(db: Db, host_id: UUID, booking_id: UUID, notes: str | None) -> bool:
    statement = f"update bookings b set private_notes = $3 where b.id = $1 and b.host_id = $2 and {SHOWN}"
    return bool(count_of(await db.execute(statement, booking_id, host_id, notes)))


def _update(part: Part[Booking], booking: Booking) -> Change:
    statement = f"update bookings set {part.assign(first=2)} where id = $1"
    return Change(statement, (booking.id, *part.values(booking)))


async def find_reschedule_by_link(db: Db, booking_id: UUID, *, since: datetime, place: int) -> datetime | None:
    """Return when a booking was rescheduled by its manage link: the last time, or the one at this place before it."""
    found: datetime | None = await db.fetchval(RESCHEDULED_BY_LINK, booking_id, since, place)
    return found


async def list_history(db: Db, booking_id: UUID) -> list[HistoryEntry]:
    rows = await db.fetch(HISTORY, booking_id)
    return [HistoryEntry(type=row["type"], at=row["at"], by=_actor.decode(row["actor"]).kind) for row in rows]


async def list_without_time(db: Db, *, now: datetime) -> list[UUID]:
    """List the upcoming confirmed bookings whose time or seat is not claimed for them."""
    statement = """
        select b.id from bookings b left join booking_hosts h on h.booking_id = b.id
        join claims c on c.id = coalesce(h.claim_id, b.claim_id) left join claim_seats t on t.id = b.seat_id
        where b.status = 'CONFIRMED' and b.ends_at > $1 and not (c.active and coalesce(t.active, true))
        group by b.id order by b.id"""
    rows = await db.fetch(statement, now)
    return [row["id"] for row in rows]


async def delete_some(db: Db, host_id: UUID, limit: int) -> int:
    statement = "delete from bookings where id = any(array(select id from bookings where host_id = $1 limit $2))"
    return count_of(await db.execute(statement, host_id, limit))


async def delete_unpaid(db: Db, *, before: datetime, limit: int) -> list[tuple[UUID, UUID | None]]:
    """Delete bookings that nobody paid for, and return their claims and seats."""
    statement = """
        with gone as (
            delete from bookings where status = 'PENDING_PAYMENT' and id = any(array(
                select booking_id from payments where state = 'released' and held_until < $1
                order by held_until limit $2))
            returning id, claim_id, seat_id
        ), agreed as (
            delete from message_consents c using gone where c.booking_id = gone.id
        )
        select claim_id, seat_id from gone"""
    return [(row["claim_id"], row["seat_id"]) for row in await db.fetch(statement, before, limit)]
