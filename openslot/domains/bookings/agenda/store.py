"""SQL that reads bookings as lists show them: a host's agenda by view, filter and search, and the API's pages."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from openslot.domains.bookings.models import (
    AgendaEntry,
    AgendaFilter,
    AgendaPage,
    AgendaView,
    Answers,
    BookingChange,
    BookingEntry,
    BookingRef,
    EmailEntry,
    Payment,
    Status,
)
from openslot.domains.bookings.requests.store import WAITS_FOR
from openslot.domains.bookings.store import HOSTS, OWN, to_hosts
from openslot.domains.contacts.models import ContactSummary, fold
from openslot.domains.event_types.models import EventTypeSummary, Location
from openslot.platform.core.actor import Actor
from openslot.platform.core.db import Db, Row
from openslot.platform.core.moments import Span
from openslot.platform.core.rows import Rows
from openslot.platform.core.times import iso_of

# A meeting lasts a day at most, so the index on starts finds those that are not over.
VIEWS = {
    AgendaView.UPCOMING: "b.status = 'CONFIRMED' and b.ends_at > $2 and b.starts_at > $2 - interval '1 day'",
    AgendaView.PAST: "b.status = 'CONFIRMED' and b.ends_at <= $2 and b.starts_at < $2",
    AgendaView.CANCELLED: "b.status = 'CANCELLED' and $2::timestamptz is not null",
}
ORDERS = {
    AgendaView.UPCOMING: "b.starts_at, b.id",
    AgendaView.PAST: "b.starts_at desc, b.id desc",
    AgendaView.CANCELLED: "b.starts_at desc, b.id desc",
}
# Who hosts a booking with the user $1: most have no team, and nothing is looked up.
OTHER_HOSTS = """
case when e.team_id is not null then array(
    select u.name from booking_hosts h join users u on u.id = h.user_id
    where h.booking_id = b.id and h.user_id <> $1 order by h.role = 'host', u.no) else array[]::text[] end"""
AGENDA = Rows(
    AgendaEntry,
    "bookings b",
    computed={"event_type_name": "e.name", "team_name": "e.team_name", "other_hosts": OTHER_HOSTS},
)
BELONGING = """
join lateral (
    select name, team_id, (select t.name from teams t where t.id = team_id) as team_name
    from event_types where id = b.event_type_id offset 0) e on true"""
# What the user $1 owns, and what they host of teams' event types of others.
OWNED = "bookings b where b.host_id = $1"
HOSTED = "booking_hosts h join bookings b on b.id = h.booking_id where h.user_id = $1 and b.host_id <> $1"
# A team's booking that its owner does not host is a colleague's; only bookings of teams have rows of hosts.
MINE = "coalesce((select bool_or(h.user_id = $1) from booking_hosts h where h.booking_id = b.id), true)"
OWN_OR_HOSTED = f"(select b.* from {OWNED} union all select b.* from {HOSTED}) b"


def _write_count(matching: str) -> str:
    return f"((select count(*) from {OWNED} and {matching}) + (select count(*) from {HOSTED} and {matching}))"


# Each of the two is read in the order of its index, as far as the page needs it.
def _write_first(matching: str, order: str, *, most: str, limit: str) -> str:
    return f"""
(select b.* from ((select b.* from {OWNED} and {matching} order by {order} limit {most})
                  union all
                  (select b.* from {HOSTED} and {matching} order by {order} limit {most})) b
 order by {order} limit {limit}) b"""


COUNT_UPCOMING = _write_count(VIEWS[AgendaView.UPCOMING])
COUNT_OWN_UPCOMING = _write_count(f"{VIEWS[AgendaView.UPCOMING]} and {MINE}")
COUNT_REQUESTS = f"(select count(*) from booking_requests r where {WAITS_FOR})"


# Without a filter nothing is counted that the database has counted already.
def _write_kept_count(status: str) -> str:
    return f"""
(select coalesce(sum(n.bookings), 0)::bigint from booking_counts n where n.host_id = $1 and n.status = '{status}')
+ (select count(*) from booking_hosts h join bookings b on b.id = h.booking_id
   where h.user_id = $1 and b.host_id <> $1 and b.status = '{status}')"""


# So many of them are looked at; where a team has more, the total has some of its bookings too.
MAX_COLLEAGUES = 10_000


def write_colleagues(status: str, *, most: int = MAX_COLLEAGUES) -> str:
    return f"""
(select count(*) from (
    select b.id from event_types e join bookings b on b.event_type_id = e.id
    where e.owner_id = $1 and e.team_id is not null and b.host_id = $1 and b.status = '{status}'
    limit {most}) b
 where not {MINE})"""


# The statement of a page knows how many are upcoming as `u.upcoming`.
COUNTS = {
    AgendaView.UPCOMING: "u.upcoming",
    AgendaView.PAST: _write_kept_count("CONFIRMED") + " - u.upcoming",
    AgendaView.CANCELLED: _write_kept_count("CANCELLED"),
}
STORED = {AgendaView.PAST: "CONFIRMED", AgendaView.CANCELLED: "CANCELLED"}
COUNTS_OF_MINE = {
    view: f"{count} - {write_colleagues(STORED[view])}" if view in STORED else count for view, count in COUNTS.items()
}


def _write_page(*, upcoming: str, count: str, first: str, order: str) -> str:
    return f"""
select u.upcoming, u.requests, t.total, p.*
from (select {upcoming} as upcoming, {COUNT_REQUESTS} as requests offset 0) u
cross join lateral (select {count} as total) t
left join lateral (
    select {AGENDA.columns}
    from {first}
    {BELONGING} order by {order}
) p on true"""


# A contact's search text is folded, so that it is found in any letter case; a booking keeps what was typed.
def _write_search(typed: str, folded: str) -> str:
    return f"""
(strpos(lower(b.invitee_name), lower({typed})) > 0 or strpos(lower(b.invitee_email), lower({typed})) > 0
 or b.contact_id in (select c.id from contacts c where c.owner_id = $1 and strpos(c.search_text, {folded}) > 0))"""


BETWEEN = f"""
select {AGENDA.columns} from {
    _write_first(
        f"b.status = 'CONFIRMED' and b.starts_at >= $2 and b.starts_at < $3 and {MINE}",
        "b.starts_at, b.id",
        most="$4",
        limit="$4",
    )
}
{BELONGING} order by b.starts_at, b.id"""
SELECTED = f"""
select {AGENDA.columns} from {OWN_OR_HOSTED} {BELONGING}
where b.id = any($2) and b.status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION')
order by b.starts_at, b.id"""
CHANGES = """
select no, type, at, actor, null::uuid as event_id, null::timestamptz as starts_at,
       null::timestamptz as previous_starts_at, null as reason, null as hosts, null as previous_hosts
from booking_history where booking_id = $1
union all
select no, type, at, actor, id, (fact -> 'booking' ->> 'starts_at')::timestamptz,
       (fact ->> 'previous_starts_at')::timestamptz,
       coalesce(fact ->> 'reason', fact -> 'booking' ->> 'cancel_reason'), fact ->> 'hosts', fact ->> 'previous_hosts'
from events where subject_id = $1 and subject_kind = 'booking'
order by no"""

_location = msgspec.json.Decoder(Location)
_actor = msgspec.json.Decoder(Actor)


async def list_agenda_page(
    db: Db, host_id: UUID, wanted: AgendaFilter, *, now: datetime, limit: int, offset: int
) -> AgendaPage:
    conditions, arguments = _write_conditions(wanted, first=5)
    view = wanted.view
    matching = " and ".join([VIEWS[view], *conditions, *([] if wanted.of_teams else [MINE])])
    counts = COUNTS if wanted.of_teams else COUNTS_OF_MINE
    count = _write_count(matching) if conditions else counts[view]
    upcoming = COUNT_UPCOMING if wanted.of_teams else COUNT_OWN_UPCOMING
    order = ORDERS[view]
    first = _write_first(matching, order, most="$3::bigint + $4", limit="$3 offset $4")
    statement = _write_page(upcoming=upcoming, count=count, first=first, order=order)
    rows = await db.fetch(statement, host_id, now, limit, offset, *arguments)
    entries = [AGENDA.read(row) for row in rows if row["id"] is not None]
    head = rows[0]
    return AgendaPage(entries=entries, total=head["total"], upcoming=head["upcoming"], requests=head["requests"])


async def list_meetings_between(
    db: Db, host_id: UUID, *, since: datetime, until: datetime, limit: int
) -> list[AgendaEntry]:
    return [AGENDA.read(row) for row in await db.fetch(BETWEEN, host_id, since, until, limit)]


async def list_selected_entries(db: Db, host_id: UUID, ids: list[UUID]) -> list[AgendaEntry]:
    return [AGENDA.read(row) for row in await db.fetch(SELECTED, host_id, ids)]


async def count_meetings_between(db: Db, host_id: UUID, *, since: datetime, until: datetime) -> int:
    matching = """b.status = 'CONFIRMED' and b.ends_at > $2 and b.starts_at > $2 - interval '1 day'
        and b.starts_at < $3"""
    return int(await db.fetchval(f"select {_write_count(matching)}", host_id, since, until))


async def list_changes_of(db: Db, booking_id: UUID) -> list[BookingChange]:
    """Read what happened to a booking, oldest first, whoever owned it then."""
    return [
        BookingChange(
            type=row["type"],
            at=row["at"],
            actor=_actor.decode(row["actor"]),
            event_id=row["event_id"],
            starts_at=row["starts_at"],
            previous_starts_at=row["previous_starts_at"],
            reason=row["reason"],
            hosts=to_hosts(row["hosts"]),
            previous_hosts=to_hosts(row["previous_hosts"]),
        )
        for row in await db.fetch(CHANGES, booking_id)
    ]


def _write_conditions(wanted: AgendaFilter, *, first: int) -> tuple[list[str], list[object]]:
    conditions: list[str] = []
    arguments: list[object] = []

    def parameter(value: object) -> str:
        arguments.append(value)
        return f"${first + len(arguments) - 1}"

    if wanted.slug:
        slug = parameter(wanted.slug)
        conditions.append(
            f"b.event_type_id = (select x.id from event_types x where x.owner_id = $1 and x.slug = {slug})"
        )
    if wanted.span.starts_at is not None:
        conditions.append(f"b.starts_at >= {parameter(wanted.span.starts_at)}")
    if wanted.span.ends_before is not None:
        conditions.append(f"b.starts_at < {parameter(wanted.span.ends_before)}")
    if wanted.search:
        conditions.append(_write_search(parameter(wanted.search), parameter(fold(wanted.search))))
    return conditions, arguments


INSTANTS = frozenset({"starts_at", "ends_at", "previous_starts_at", "cancelled_at", "created_at", "updated_at"})
BOOKING_FIELDS = BookingEntry.__struct_fields__[:-3]
EVENT_TYPE_FIELDS = EventTypeSummary.__struct_fields__
CONTACT_FIELDS = ContactSummary.__struct_fields__
# The fields of the three nouns in their order, so that a row is read by position: looking 32 columns up by their names
# took as long as everything else that happens to a row.
ENTRY_COLUMNS = ", ".join(
    (
        *(f"{iso_of(f'b.{name}') if name in INSTANTS else f'b.{name}'} as {name}" for name in BOOKING_FIELDS),
        *(f"e.{name} as event_type_{name}" for name in EVENT_TYPE_FIELDS),
        *(f"c.{name} as contact_{name}" for name in CONTACT_FIELDS),
        f"{HOSTS} as hosts",
    )
)
# `offset 0` makes the planner look up each one by its id: it does not know how few bookings a page has, and would read
# all.
BELONGINGS = f"""
join lateral (
    select {", ".join(EVENT_TYPE_FIELDS)}, team_id from event_types where id = b.event_type_id offset 0) e on true
left join lateral (select {", ".join(CONTACT_FIELDS)} from contacts where id = b.contact_id offset 0) c on true"""
# Emails that are under way or planned for later are not listed.
EMAILS = """
select coalesce(json_agg(m), '[]') from (
    select id, kind, recipient, subject, error,
           case when in_mailbox then 'mailbox' else status end as status,
           case when not in_mailbox then sent_at end as sent_at
    from (select m.*, status = 'sent' and transport is not distinct from 'mailbox' as in_mailbox from mail_messages m) m
    where booking_id = b.id and status <> 'sending' order by created_at, id limit 500) m"""
ENTRY = f"select ({EMAILS}) as emails, {ENTRY_COLUMNS} from bookings b {BELONGINGS} where {OWN}"


# The total is returned even if the page is empty. A sorted list joined with one row stays sorted: sorting it again took
# a sixth of the statement's time.
def _write_listed(*, count: str, matching: str, limit: int, offset: int) -> str:
    return f"""
select t.total, p.* from (select ({count}) as total) t left join lateral (
    select {ENTRY_COLUMNS}
    from (select * from {matching} order by b.starts_at desc, b.id desc limit ${limit} offset ${offset}) b
    {BELONGINGS}
    order by b.starts_at desc, b.id desc
) p on true"""


# Of all hosts, the page is found in the index alone, and only its bookings are read. The first `offset 0` keeps the
# total from being counted twice.
def _write_listed_of_all(*, count: str, matching: str, limit: int, offset: int) -> str:
    return f"""
select t.total, p.* from (select ({count}) as total offset 0) t left join lateral (
    select {ENTRY_COLUMNS}
    from (select b.id from {matching} and t.total > ${offset}
          order by b.starts_at desc, b.id desc limit ${limit} offset ${offset}) page
    join lateral (select * from bookings where id = page.id offset 0) b on true
    {BELONGINGS}
    order by b.starts_at desc, b.id desc
) p on true"""


SHOWN = "status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION')"
SINCE, BEFORE = "b.starts_at >= ${number}", "b.starts_at < ${number}"
OF_STATUS = "b.status = ${number}"
# The planner takes a status for so rare that it would rather sort all bookings that have it; `case` tells it nothing.
OF_STATUS_OF_ALL = "case when b.status = ${number} then true else false end"


_answers = msgspec.json.Decoder(Answers)
_payment = msgspec.json.Decoder(Payment)
_emails = msgspec.json.Decoder(list[EmailEntry])
_STATUSES = {each.value: each for each in Status}
_BOOKING = slice(1, 1 + len(BOOKING_FIELDS))
_EVENT_TYPE = slice(_BOOKING.stop, _BOOKING.stop + len(EVENT_TYPE_FIELDS))
_CONTACT = slice(_EVENT_TYPE.stop, _EVENT_TYPE.stop + len(CONTACT_FIELDS))


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
    return BookingEntry(*[*plain, *read, to_hosts(values[-1])])


async def find_entry_with_emails(db: Db, ref: BookingRef) -> tuple[BookingEntry, list[EmailEntry]] | None:
    row = await db.fetchrow(ENTRY, ref.id, ref.host_id)
    return (to_entries([row])[0], _emails.decode(row["emails"])) if row else None


async def list_booking_entries(
    db: Db, host_id: UUID | None, *, status: Status | None, span: Span, limit: int, offset: int
) -> tuple[list[BookingEntry], int]:
    own = () if host_id is None else (host_id,)
    wished = (status, span.starts_at, span.ends_before)
    statement = _write_list(tuple(each is not None for each in wished), of_host=bool(own))
    given = [each for each in wished if each is not None]
    rows = await db.fetch(statement, *own, *given, limit, offset)
    return to_entries(rows), rows[0]["total"]


def _write_list(given: tuple[bool, ...], *, of_host: bool) -> str:
    """Write a list and its count with the filters that are given: each is checked for every booking."""
    filters = [each for each, is_given in zip((OF_STATUS, SINCE, BEFORE), given, strict=True) if is_given]
    if not of_host:
        filters = [OF_STATUS_OF_ALL if each is OF_STATUS else each for each in filters]
    first = 2 if of_host else 1
    of = ["host_id = $1"] * of_host
    chosen = [each.format(number=number) for number, each in enumerate(filters, first)]
    matching = "bookings b where " + " and ".join([*(f"b.{each}" for each in of), f"b.{SHOWN}", *chosen])
    count = f"select count(*) from {matching}"
    if not any(given[1:]):
        # The total is maintained by the database; only a range of time has to be counted.
        kept = [*(f"n.{each}" for each in of), *[f"n.status = ${first}"] * given[0], f"n.{SHOWN}"]
        count = f"select coalesce(sum(n.bookings), 0)::bigint from booking_counts n where {' and '.join(kept)}"
    free = first + len(filters)
    write = _write_listed if of_host else _write_listed_of_all
    return write(count=count, matching=matching, limit=free, offset=free + 1)
