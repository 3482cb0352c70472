"""All SQL of the wait list; its rows are changed only under the host's lock."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from uuid import UUID

from openslot.domains.accounts.store import LOCK_HOST
from openslot.domains.bookings.models import Status
from openslot.domains.bookings.store import mailbox_of
from openslot.domains.event_types.store import EVENT_TYPES
from openslot.domains.wait_list.errors import EntryNotFound, OfferNotOpen
from openslot.domains.wait_list.models import (
    FoundEntry,
    ListedWait,
    Offer,
    OfferState,
    Waiting,
    WaitListEntry,
    WaitPosition,
)
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.rows import Rows

ENTRIES = Rows(WaitListEntry, "wait_list_entries w", prefix="w_")
OFFERS = Rows(Offer, "wait_list_offers o", prefix="o_")
INSERT_ENTRY = ENTRIES.insert()
INSERT_OFFER = OFFERS.insert()
CONFIRM = "update wait_list_entries set state = 'waiting' where id = $1 and state = 'unproven'"
BOOKED = "update wait_list_entries set state = 'booked' where id = $1 and state = 'waiting'"
# It repeats what the host's lock assures: whoever forgets the lock must not end an offer twice.
END_OFFER = "update wait_list_offers set state = $2, ended_at = $3 where id = $1 and state = 'offered'"
# What an offer became: a booking, whose seat goes along to another session if it is moved. It is freed if it has waited
# in vain, for its payment or its host.
BOOKING_OF = """bookings b on b.host_id = o.host_id and o.state = 'accepted'
    and (b.seat_id = o.seat_id or o.seat_id is null and b.claim_id = o.claim_id)"""
FREED = """b.status in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION') and not coalesce((
    select c.active and coalesce(t.active, true)
    from claims c left join claim_seats t on t.id = b.seat_id where c.id = b.claim_id), false)"""
LOCK_ENTRY = f"select {LOCK_HOST} from wait_list_entries w join users u on u.id = w.host_id where w.id = $1"
FIND = f"""
select {ENTRIES.columns}, {EVENT_TYPES.columns}, {OFFERS.columns}, b.id as booking_id, b.status as booking_status,
    coalesce({FREED}, false) as is_freed, u.name as host_name, u.username as host_username, u.zone as host_zone
from wait_list_entries w join event_types e on e.id = w.event_type_id join users u on u.id = w.host_id
left join lateral (
    select * from wait_list_offers where entry_id = w.id order by made_at desc, id desc limit 1) o on true
left join {BOOKING_OF}
where w.id = $1 and u.disabled_at is null"""
# Whoever has joined anew meanwhile waits by that entry.
WAIT_AGAIN = f"""
update wait_list_entries w set state = 'waiting'
where w.host_id = $1 and w.state = 'booked' and exists (
    select from wait_list_offers o join {BOOKING_OF}
    where o.entry_id = w.id and {FREED} and not exists (
        select from wait_list_offers l where l.entry_id = w.id and (l.made_at, l.id) > (o.made_at, o.id)))
  and not exists (
    select from wait_list_entries n
    where n.event_type_id = w.event_type_id and lower(n.email) = lower(w.email) and n.day = w.day
      and n.starts_at is not distinct from w.starts_at and n.id <> w.id
      and (n.state <> 'booked' or (n.created_at, n.id) > (w.created_at, w.id)))"""
# Those who have an offer of this host wait for its end, whichever entry it was for.
LIST_WAITING = f"""
select {ENTRIES.columns}, {EVENT_TYPES.columns}, lower(w.email) as address
from wait_list_entries w join event_types e on e.id = w.event_type_id join users u on u.id = w.host_id
where w.host_id = $1 and w.state = 'waiting' and w.until > $2 and e.active and e.wait_list_minutes is not null
  and u.disabled_at is null and not exists (
    select from wait_list_offers o
    where o.host_id = w.host_id and lower(o.email) = lower(w.email) and o.state = 'offered')
  and ($4::date[] is null or w.day = any($4)) and ($5::timestamptz is null or (w.created_at, w.id) > ($5, $6::uuid))
order by w.created_at, w.id limit $3"""
LIST_LIVE = f"""
select {OFFERS.columns}, {ENTRIES.columns}, {EVENT_TYPES.columns}, lower(w.email) as address
from wait_list_offers o join wait_list_entries w on w.id = o.entry_id join event_types e on e.id = w.event_type_id
where o.host_id = $1 and o.state = 'offered'"""
LIST_HOSTS = """
select u.id, u.no from users u left join wait_list_turns t on t.host_id = u.id where u.id in (
    select host_id from wait_list_entries where state = 'waiting' and until > $1
    union select host_id from wait_list_offers where state = 'offered')
order by t.looked_at nulls first, u.no limit $2"""
BEGIN_VISIT = """
insert into wait_list_turns (host_id, looked_at) values ($1, $2)
on conflict (host_id) do update set looked_at = excluded.looked_at returning created_at, entry_id"""
LISTED = f"""
with found as (
    select * from wait_list_entries where event_type_id = $1 and host_id = $2 and state = 'waiting' and until > $3)
select {ENTRIES.columns}, o.starts_at as offered_start, o.expires_at as offered_until, t.total
from (select count(*) as total from found) t
left join (select * from found order by created_at, id limit $4 offset $5) w on true
left join wait_list_offers o on o.entry_id = w.id and o.state = 'offered' and o.expires_at > $3
order by w.created_at, w.id"""
# Who has not confirmed an address keeps nobody from waiting: addresses can be invented.
COUNT = f"""
select count(*) filter (where event_type_id = $2 and day = $3 and state = 'unproven') as unproven,
       count(*) filter (where {mailbox_of("email")} = {mailbox_of("$4")}) as of_address
from wait_list_entries where host_id = $1 and state <> 'booked' and until > $5"""
DROP_UNPROVEN = """
delete from wait_list_entries where id = any(array(
    select id from wait_list_entries where event_type_id = $1 and day = $2 and state = 'unproven'
    order by asked_at desc, id desc offset $3))"""
FIND_SAME = f"""
select {ENTRIES.columns} from wait_list_entries w
where w.event_type_id = $1 and lower(w.email) = lower($2) and w.day = $3 and w.starts_at is not distinct from $4
  and w.state <> 'booked'"""
# An entry with an offer is removed when that has ended, so that no time stays taken for nobody.
DELETE_OVER = """
delete from wait_list_entries w where w.id = any(array(
    select id from wait_list_entries e where (e.until < $1 or e.state = 'unproven' and e.asked_at <= $2)
      and not exists (select from wait_list_offers o where o.entry_id = e.id and o.state = 'offered')
    limit $3))"""
TAKE_ENDED = """
with ended as (
    select id, claim_id, seat_id from wait_list_offers
    where state not in ('offered', 'accepted') and claim_id is not null and ended_at < $1 limit $2
), forgotten as (
    update wait_list_offers o set claim_id = null, seat_id = null from ended where o.id = ended.id
)
select claim_id, seat_id from ended"""

# What was freed may be a time of another event type of the same host, on whose list somebody waits.
OTHERS_WAIT = """
v.fact -> 'event_type' ->> 'wait_list_minutes' is null
and exists (select from wait_list_entries w where w.host_id = v.tenant_id and w.state = 'waiting')"""


def insert_entry(entry: WaitListEntry) -> Change:
    return Change(INSERT_ENTRY, ENTRIES.values(entry))


def insert_offer(offer: Offer) -> Change:
    return Change(INSERT_OFFER, OFFERS.values(offer))


def confirm_entry(entry_id: UUID) -> Change:
    return Change(CONFIRM, (entry_id,), lost=EntryNotFound)


def finish_entry(entry_id: UUID) -> Change:
    return Change(BOOKED, (entry_id,), lost=OfferNotOpen)


def drop_unproven(event_type_id: UUID, day: date, *, keeping: int) -> Change:
    """Forget those who have yet to confirm for a day, except so many who were asked last."""
    return Change(DROP_UNPROVEN, (event_type_id, day, keeping))


def delete_entry(entry_id: UUID) -> Change:
    return Change("delete from wait_list_entries where id = $1", (entry_id,), lost=EntryNotFound)


def end_offer(offer_id: UUID, state: OfferState, *, now: datetime) -> Change:
    return Change(END_OFFER, (offer_id, state, now), lost=OfferNotOpen)


async def ask_again(db: Db, entry_id: UUID, *, now: datetime) -> None:
    await db.execute("update wait_list_entries set asked_at = $2 where id = $1", entry_id, now)


async def lock_host_of(db: Db, entry_id: UUID) -> bool:
    """Take the lock of an entry's host; False where there is no such entry."""
    return await db.fetchrow(LOCK_ENTRY, entry_id) is not None


async def find_entry(db: Db, entry_id: UUID) -> FoundEntry | None:
    row = await db.fetchrow(FIND, entry_id)
    if row is None:
        return None
    return FoundEntry(
        entry=ENTRIES.read(row),
        event_type=EVENT_TYPES.read(row),
        offer=OFFERS.read(row) if row["o_id"] is not None else None,
        booking_id=row["booking_id"],
        booking_status=Status(row["booking_status"]) if row["booking_status"] else None,
        is_freed=row["is_freed"],
        host_name=row["host_name"],
        host_username=row["host_username"],
        host_zone=row["host_zone"],
    )


async def find_same(
    db: Db, event_type_id: UUID, email: str, day: date, starts_at: datetime | None
) -> WaitListEntry | None:
    row = await db.fetchrow(FIND_SAME, event_type_id, email, day, starts_at)
    return ENTRIES.read(row) if row else None


async def list_addresses(db: Db, event_type_id: UUID, day: date, *, now: datetime) -> list[str]:
    """List the addresses of those who wait for a day and have confirmed them."""
    statement = """select email from wait_list_entries
        where event_type_id = $1 and day = $2 and state = 'waiting' and until > $3"""
    return [row["email"] for row in await db.fetch(statement, event_type_id, day, now)]


async def count_entries(db: Db, entry: WaitListEntry, *, now: datetime) -> tuple[int, int]:
    """Count who has yet to confirm for the same day, and for how much the address is on lists."""
    row = await db.fetchrow(COUNT, entry.host_id, entry.event_type_id, entry.day, entry.email, now)
    return (row["unproven"], row["of_address"]) if row else (0, 0)


async def list_waiting(
    db: Db,
    host_id: UUID,
    *,
    now: datetime,
    days: Collection[date] | None,
    after: WaitPosition | None,
    limit: int,
) -> list[Waiting]:
    """List some of those who wait for a host, for these days or for any, who have waited longest first."""
    position = after or (None, None)
    rows = await db.fetch(LIST_WAITING, host_id, now, limit, list(days) if days is not None else None, *position)
    return [_read_waiting(row) for row in rows]


async def wait_again(db: Db, host_id: UUID) -> None:
    """Let those wait again whose booking was freed before it was confirmed."""
    await db.execute(WAIT_AGAIN, host_id)


async def list_live(db: Db, host_id: UUID) -> list[tuple[Offer, Waiting]]:
    """List the offers of a host that have not ended, those whose time is over included."""
    rows = await db.fetch(LIST_LIVE, host_id)
    return [(OFFERS.read(row), _read_waiting(row)) for row in rows]


def _read_waiting(row: Row) -> Waiting:
    return Waiting(entry=ENTRIES.read(row), event_type=EVENT_TYPES.read(row), address=row["address"])


async def list_offers(db: Db, entry_ids: Sequence[UUID]) -> dict[UUID, list[Offer]]:
    """List what some entries were offered before."""
    found: dict[UUID, list[Offer]] = {}
    rows = await db.fetch(f"select {OFFERS.columns} from wait_list_offers o where o.entry_id = any($1)", entry_ids)
    for row in rows:
        found.setdefault(row["o_entry_id"], []).append(OFFERS.read(row))
    return found


async def list_hosts(db: Db, *, now: datetime, limit: int) -> list[tuple[UUID, int]]:
    """List hosts for whom somebody waits; first those at whom the job has not looked for longest."""
    return [(row["id"], row["no"]) for row in await db.fetch(LIST_HOSTS, now, limit)]


async def begin_visit(db: Db, host_id: UUID, *, now: datetime) -> WaitPosition | None:
    """Note that the job looks at a host, and return where it stopped the last time; None to begin with the first."""
    row = await db.fetchrow(BEGIN_VISIT, host_id, now)
    return WaitPosition(row["created_at"], row["entry_id"]) if row and row["entry_id"] else None


async def end_visit(db: Db, host_id: UUID, position: WaitPosition | None) -> None:
    """Keep where the job goes on with a host."""
    statement = "update wait_list_turns set created_at = $2, entry_id = $3 where host_id = $1"
    await db.execute(statement, host_id, *(position or (None, None)))


async def list_entries(
    db: Db, host_id: UUID, event_type_id: UUID, *, now: datetime, limit: int, offset: int
) -> tuple[list[ListedWait], int]:
    rows: Sequence[Row] = await db.fetch(LISTED, event_type_id, host_id, now, limit, offset)
    listed = [
        ListedWait(entry=ENTRIES.read(row), offered_start=row["offered_start"], offered_until=row["offered_until"])
        for row in rows
        if row["w_id"] is not None
    ]
    return listed, rows[0]["total"]


async def delete_of_host(db: Db, host_id: UUID) -> int:
    return count_of(await db.execute("delete from wait_list_entries where host_id = $1", host_id))


async def delete_visits(db: Db, *, before: datetime) -> None:
    """Forget the visits of hosts at whom the job has no reason to look any more."""
    await db.execute("delete from wait_list_turns where looked_at < $1", before)


async def delete_over(db: Db, *, before: datetime, asked_before: datetime, limit: int) -> int:
    return count_of(await db.execute(DELETE_OVER, before, asked_before, limit))


async def take_ended_claims(db: Db, *, before: datetime, limit: int) -> list[tuple[UUID, UUID | None]]:
    """Take the claims and seats of offers that have ended without a booking, and forget them."""
    return [(row["claim_id"], row["seat_id"]) for row in await db.fetch(TAKE_ENDED, before, limit)]
