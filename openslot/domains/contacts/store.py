"""All SQL of contacts."""

import re
from datetime import datetime
from uuid import UUID

from openslot.domains.contacts.models import (
    Contact,
    ContactEntry,
    ContactSort,
    CountedContact,
    KnownContact,
    cover,
    fold,
    fold_contact,
)
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.rows import Rows

MAX_MEETINGS = 100
CONTACTS = Rows(Contact, "contacts c", prefix="c_")
CHANGEABLE = CONTACTS.stored.without("id", "owner_id", "created_at")

COUNT = "(select count(*) from bookings b where b.contact_id = c.id and b.status = 'CONFIRMED')"
COUNTED = Rows(CountedContact, "contacts c", prefix="c_", spread={"contact": ""}, computed={"meeting_count": COUNT})


def _write_meeting(which: str, when: str) -> str:
    met = "b.contact_id = c.id and b.status = 'CONFIRMED'"
    return f"(select {which}(b.starts_at) from bookings b where {met} and {when})"


ENTRIES = Rows(
    ContactEntry,
    "contacts c",
    prefix="c_",
    spread={"contact": ""},
    computed={
        "meeting_count": COUNT,
        "last_met_at": _write_meeting("max", "b.ends_at <= $4"),
        "next_meeting_at": _write_meeting("min", "b.ends_at > $4"),
    },
)


def _write_meetings(which: str, order: str) -> str:
    return f"""(
    select coalesce(json_agg(m), '[]') from (
        select b.id, b.starts_at, b.ends_at, b.status,
            e.id as event_type_id, e.name as event_type_name, e.slug as event_type_slug
        from bookings b join event_types e on e.id = b.event_type_id
        where b.contact_id = c.id and {which} order by b.starts_at {order}, b.id {order} limit $4) m)"""


KNOWN = Rows(
    KnownContact,
    "contacts c",
    prefix="c_",
    spread={"contact": ""},
    computed={
        "meeting_count": COUNT,
        "upcoming": _write_meetings("b.status = 'CONFIRMED' and b.ends_at > $3", "asc"),
        "past": _write_meetings("b.status in ('CONFIRMED', 'CANCELLED') and b.ends_at <= $3", "desc"),
    },
)


# The total decides whether there is a page to look for.
def _write_list(columns: str, sort: ContactSort, match: str) -> str:
    _, order = ORDERS[sort]
    return f"""
select {columns}, t.total
from (select count(*) as total from contacts where owner_id = $1 and {match}) t
left join lateral (
    select * from contacts x where owner_id = $1 and {match} and t.total > $3 order by {order("x")} limit $2 offset $3
) c on true
order by {order("c")}"""


def write_by_grams(grams: str) -> str:
    """Write the condition on an owner `$1` that their contacts have the trigrams of a text."""
    return f"""
contact_grams(owner_id, search_text) @> array(select contact_gram($1, gram) from unnest({grams}::text[]) gram)"""


# The trigrams already include the owner; `is true` keeps the planner, which can't know how many contacts this owner
# has, from scanning all of them.
def _write_search(columns: str, sort: ContactSort, match: str, *, grams: str) -> str:
    sorted_by, order = ORDERS[sort]
    return f"""
with found as materialized (
    select id, {sorted_by} from contacts
    where {write_by_grams(grams)}
      and {match} and (owner_id = $1) is true
), page as (select id from found x order by {order("x")} limit $2 offset $3)
select {columns}, t.total
from (select count(*) as total from found) t left join (page join contacts c using (id)) on true
order by {order("c")}"""


def _by_newest(c: str) -> str:
    return f"{c}.created_at desc, {c}.id desc"


def _by_name(c: str) -> str:
    return f"left({c}.search_text, 100), {c}.id"


ORDERS = {ContactSort.NEWEST: ("created_at", _by_newest), ContactSort.NAME: ("search_text", _by_name)}

INSERT = f"{CONTACTS.insert('search_text')} on conflict (owner_id, lower(email)) do nothing returning id"


async def find_contact(db: Db, owner_id: UUID, contact_id: UUID) -> Contact | None:
    row = await db.fetchrow(
        f"select {CONTACTS.columns} from contacts c where c.owner_id = $1 and c.id = $2", owner_id, contact_id
    )
    return CONTACTS.read(row) if row else None


async def lock_contact(db: Db, owner_id: UUID, contact_id: UUID) -> Contact | None:
    statement = f"select {CONTACTS.columns} from contacts c where c.owner_id = $1 and c.id = $2 for no key update"
    row = await db.fetchrow(statement, owner_id, contact_id)
    return CONTACTS.read(row) if row else None


async def find_by_email(db: Db, owner_id: UUID, email: str) -> Contact | None:
    """Look up who has an email address, and keep them from being deleted until the commit: a booking may name them."""
    statement = (
        f"select {CONTACTS.columns} from contacts c where c.owner_id = $1 and lower(c.email) = lower($2) for key share"
    )
    row = await db.fetchrow(statement, owner_id, email)
    return CONTACTS.read(row) if row else None


async def find_by_phone(db: Db, owner_id: UUID, phone: str) -> Contact | None:
    """Look up who has a phone number: the first that was added, where several share it."""
    statement = f"""select {CONTACTS.columns} from contacts c where c.owner_id = $1 and c.phone = $2
        order by c.created_at, c.id limit 1"""
    row = await db.fetchrow(statement, owner_id, phone)
    return CONTACTS.read(row) if row else None


async def find_with_meetings(db: Db, owner_id: UUID, contact_id: UUID, *, now: datetime) -> KnownContact | None:
    statement = f"select {KNOWN.columns} from contacts c where c.owner_id = $1 and c.id = $2"
    row = await db.fetchrow(statement, owner_id, contact_id, now, MAX_MEETINGS)
    return KNOWN.read(row) if row else None


async def list_contacts(
    db: Db, owner_id: UUID, *, search: str, limit: int, offset: int
) -> tuple[list[CountedContact], int]:
    asked = (owner_id, limit, offset)
    rows = await _fetch_page(db, COUNTED.columns, asked, search=search, sort=ContactSort.NEWEST)
    return [COUNTED.read(row) for row in rows if row["c_id"] is not None], rows[0]["total"]


async def insert_contact(db: Db, contact: Contact) -> bool:
    """Write a new contact; False where the owner has one with its email address."""
    return await db.fetchval(INSERT, *CONTACTS.values(contact), _fold(contact)) is not None


async def update_contact(db: Db, contact: Contact) -> None:
    statement = (
        f"""update contacts set search_text = $3, {CHANGEABLE.assign(first=4)} where id = $1 and owner_id = $2"""
    )
    await db.execute(statement, contact.id, contact.owner_id, _fold(contact), *CHANGEABLE.values(contact))


async def fill_phone(db: Db, contact: Contact) -> None:
    statement = "update contacts set phone = $3, updated_at = $4 where owner_id = $1 and id = $2 and phone is null"
    await db.execute(statement, contact.owner_id, contact.id, contact.phone, contact.updated_at)


async def delete_contact(db: Db, owner_id: UUID, contact_id: UUID) -> bool:
    gone = await db.fetchval("delete from contacts where owner_id = $1 and id = $2 returning id", owner_id, contact_id)
    return gone is not None


def _fold(contact: Contact) -> str:
    return fold_contact(name=contact.name, email=contact.email, company=contact.company)


async def delete_some(db: Db, owner_id: UUID, limit: int) -> int:
    statement = "delete from contacts where id = any(array(select id from contacts where owner_id = $1 limit $2))"
    return count_of(await db.execute(statement, owner_id, limit))


async def list_entries(
    db: Db, owner_id: UUID, *, search: str, sort: ContactSort, limit: int, offset: int, now: datetime
) -> tuple[list[ContactEntry], int]:
    rows = await _fetch_page(db, ENTRIES.columns, (owner_id, limit, offset, now), search=search, sort=sort)
    return [ENTRIES.read(row) for row in rows if row["c_id"] is not None], rows[0]["total"]


async def _fetch_page(db: Db, columns: str, asked: tuple[object, ...], *, search: str, sort: ContactSort) -> list[Row]:
    folded = fold(search)
    grams = cover(folded)
    given = (folded, grams) if grams else (folded,) if folded else ()
    return await db.fetch(_write_page(columns, sort, first=len(asked) + 1, given=len(given)), *asked, *given)


def _write_page(columns: str, sort: ContactSort, *, first: int, given: int) -> str:
    """Write a page of contacts: all, those with a short text in them, or those that trigrams lead to."""
    match = f"strpos(search_text, ${first}) > 0" if given else "true"
    if given == 2:
        return _write_search(columns, sort, match, grams=f"${first + 1}")
    return _write_list(columns, sort, match)


def write_named_by_phone(phone: str) -> str:
    """Write a `NamedContact` in a row of the owner `$1` that has a phone number: of several, the one known longest."""
    return f"""(
    select json_build_object('id', k.id, 'name', k.name) from contacts k
    where k.owner_id = $1 and k.phone = {phone} order by k.created_at, k.id limit 1)"""


def write_of_person(phone: str, *, text: str, digits: str) -> str:
    """Write a condition on a row of the owner `$1` that has a phone number."""
    return f"""(strpos({phone}, {digits}) > 0 or {phone} in (
    select k.phone from contacts k
    where k.owner_id = $1 and k.phone is not null and strpos(k.search_text, {text}) > 0))"""


_NUMBER = re.compile(r"\+?[0-9 ()./\-]{2,}")


def fold_person(search: str) -> tuple[str, str]:
    """Return a search as texts are compared, and its digits; what is no part of a number is found in none."""
    text = search.strip()
    digits = re.sub(r"[^0-9+]", "", text) if _NUMBER.fullmatch(text) else ""
    return fold(text), digits or "none"


# Ids are in the order in which contacts were added. The total is kept by the database, in several rows.
LIST_EVERYWHERE = f"""
select {COUNTED.columns}, t.total
from (select coalesce(sum(n.contacts), 0)::bigint as total from contact_counts n offset 0) t
left join lateral (select * from contacts where t.total > $2 order by id desc limit $1 offset $2) c on true
order by c.id desc"""
# The trigrams lead to the contacts; `materialized` keeps the planner from scanning all of them in order instead.
SEARCH_EVERYWHERE = f"""
with found as materialized (
    select id from contacts
    where contact_grams('00000000-0000-0000-0000-000000000000'::uuid, search_text)
          @> array(select contact_gram('00000000-0000-0000-0000-000000000000'::uuid, gram) from unnest($4::text[]) gram)
      and strpos(search_text, $3) > 0
), page as (select id from found order by id desc limit $1 offset $2)
select {COUNTED.columns}, t.total
from (select count(*) as total from found) t left join (page join contacts c using (id)) on true
order by c.id desc"""


async def list_all_contacts(db: Db, *, search: str, limit: int, offset: int) -> tuple[list[CountedContact], int]:
    folded = fold(search)
    if folded:
        rows = await db.fetch(SEARCH_EVERYWHERE, limit, offset, folded, cover(folded))
    else:
        rows = await db.fetch(LIST_EVERYWHERE, limit, offset)
    return [COUNTED.read(row) for row in rows if row["c_id"] is not None], rows[0]["total"]


async def find_any_contact(db: Db, contact_id: UUID) -> Contact | None:
    row = await db.fetchrow(f"select {CONTACTS.columns} from contacts c where c.id = $1", contact_id)
    return CONTACTS.read(row) if row else None
