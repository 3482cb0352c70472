"""All SQL of contacts."""

import re
from datetime import datetime
from uuid import UUID

import msgspec

from openslot.contacts.folding import cover, fold, fold_contact
from openslot.contacts.models import Contact, ContactEntry, ContactSort, CountedContact, KnownContact, Meeting
from openslot.core.db import Db, count_of
from openslot.core.rows import Rows

MAX_MEETINGS = 100

CONTACTS = Rows(Contact, "contacts c", prefix="c_")
CHANGEABLE = CONTACTS.stored.without("id", "owner_id", "created_at")

COUNT = "(select count(*) from bookings b where b.contact_id = c.id and b.status = 'CONFIRMED') as meeting_count"

# The total decides whether there is a page to look for.
LIST = f"""
select {CONTACTS.columns}, {COUNT}, t.total
from (select count(*) as total from contacts where owner_id = $1 and {{match}}) t
left join lateral (
    select * from contacts where owner_id = $1 and {{match}} and t.total > $3
    order by created_at desc, id desc limit $2 offset $3
) c on true
order by c.created_at desc, c.id desc"""
LIST_ALL = LIST.format(match="true")
LIST_MATCHING = LIST.format(match="strpos(search_text, $4) > 0")

# The trigrams already include the owner; `is true` keeps the planner, which can't know how many contacts this owner
# has, from scanning all of them.
SEARCH = f"""
with found as materialized (
    select id, created_at from contacts
    where contact_grams(owner_id, search_text) @> array(select contact_gram($1, gram) from unnest($5::text[]) gram)
      and strpos(search_text, $4) > 0 and (owner_id = $1) is true
), page as (select id from found order by created_at desc, id desc limit $2 offset $3)
select {CONTACTS.columns}, {COUNT}, t.total
from (select count(*) as total from found) t left join (page join contacts c using (id)) on true
order by c.created_at desc, c.id desc"""

MEETINGS = """
array(
    select json_build_object('id', b.id, 'starts_at', b.starts_at, 'ends_at', b.ends_at, 'status', b.status,
        'event_type_id', e.id, 'event_type_name', e.name, 'event_type_slug', e.slug)::text
    from bookings b join event_types e on e.id = b.event_type_id
    where b.contact_id = c.id and {which}
    order by b.starts_at {order}, b.id {order} limit $4)"""
UPCOMING = MEETINGS.format(which="b.status = 'CONFIRMED' and b.ends_at > $3", order="asc")
PAST = MEETINGS.format(which="b.status in ('CONFIRMED', 'CANCELLED') and b.ends_at <= $3", order="desc")
DETAIL = f"""
select {CONTACTS.columns}, {COUNT}, {UPCOMING} as upcoming, {PAST} as past
from contacts c where c.owner_id = $1 and c.id = $2"""

INSERT = f"{CONTACTS.insert('search_text')} on conflict (owner_id, lower(email)) do nothing returning id"

_meeting = msgspec.json.Decoder(Meeting)


async def find_contact(db: Db, owner_id: UUID, contact_id: UUID) -> Contact | None:
    """Look an owner's contact up."""
    row = await db.fetchrow(
        f"select {CONTACTS.columns} from contacts c where c.owner_id = $1 and c.id = $2", owner_id, contact_id
    )
    return CONTACTS.read(row) if row else None


async def lock_contact(db: Db, owner_id: UUID, contact_id: UUID) -> Contact | None:
    """Look an owner's contact up and keep others from changing it until the commit."""
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
    """Look an owner's contact up with its meetings on both sides of now."""
    row = await db.fetchrow(DETAIL, owner_id, contact_id, now, MAX_MEETINGS)
    if row is None:
        return None
    upcoming, past = (tuple(_meeting.decode(each) for each in row[side]) for side in ("upcoming", "past"))
    return KnownContact(CONTACTS.read(row), row["meeting_count"], upcoming, past)


async def list_contacts(
    db: Db, owner_id: UUID, *, search: str, limit: int, offset: int
) -> tuple[list[CountedContact], int]:
    """List an owner's contacts that a search finds, newest first, with how many there are in all."""
    folded = fold(search)
    grams = cover(folded)
    asked = (owner_id, limit, offset)
    if grams:
        rows = await db.fetch(SEARCH, *asked, folded, grams)
    elif folded:
        rows = await db.fetch(LIST_MATCHING, *asked, folded)
    else:
        rows = await db.fetch(LIST_ALL, *asked)
    found = [CountedContact(CONTACTS.read(row), row["meeting_count"]) for row in rows if row["c_id"] is not None]
    return found, rows[0]["total"]


async def insert_contact(db: Db, contact: Contact) -> bool:
    """Write a new contact; False where the owner has one with its email address."""
    return await db.fetchval(INSERT, *CONTACTS.values(contact), _fold(contact)) is not None


async def update_contact(db: Db, contact: Contact) -> None:
    """Write what may change of a contact."""
    statement = (
        f"""update contacts set search_text = $3, {CHANGEABLE.assign(first=4)} where id = $1 and owner_id = $2"""
    )
    await db.execute(statement, contact.id, contact.owner_id, _fold(contact), *CHANGEABLE.values(contact))


async def fill_phone(db: Db, contact: Contact) -> None:
    """Write the phone number of a contact that has none."""
    statement = "update contacts set phone = $3, updated_at = $4 where owner_id = $1 and id = $2 and phone is null"
    await db.execute(statement, contact.owner_id, contact.id, contact.phone, contact.updated_at)


async def delete_contact(db: Db, owner_id: UUID, contact_id: UUID) -> bool:
    """Delete an owner's contact; False where there is none."""
    gone = await db.fetchval("delete from contacts where owner_id = $1 and id = $2 returning id", owner_id, contact_id)
    return gone is not None


def _fold(contact: Contact) -> str:
    return fold_contact(name=contact.name, email=contact.email, company=contact.company)


async def delete_some(db: Db, owner_id: UUID, limit: int) -> int:
    """Delete some contacts of an owner whose account is deleted."""
    statement = "delete from contacts where id = any(array(select id from contacts where owner_id = $1 limit $2))"
    return count_of(await db.execute(statement, owner_id, limit))


ORDERS = {
    ContactSort.NEWEST: "{c}.created_at desc, {c}.id desc",
    ContactSort.NAME: "left({c}.search_text, 100), {c}.id",
}
DIRECTORY_MEETINGS = """
(select max(b.starts_at) from bookings b
    where b.contact_id = c.id and b.status = 'CONFIRMED' and b.ends_at <= $4) as last_met_at,
(select min(b.starts_at) from bookings b
    where b.contact_id = c.id and b.status = 'CONFIRMED' and b.ends_at > $4) as next_meeting_at"""
DIRECTORY = f"""
select {CONTACTS.columns}, {COUNT}, {DIRECTORY_MEETINGS}, t.total
from (select count(*) as total from contacts where owner_id = $1 and {{match}}) t
left join lateral (
    select * from contacts x where owner_id = $1 and {{match}} and t.total > $3 order by {{inner}} limit $2 offset $3
) c on true
order by {{outer}}"""
# As in `store.DIRECTORY_SEARCH`: the trigrams lead to the contacts.
DIRECTORY_SEARCH = f"""
with found as materialized (
    select id, created_at, search_text from contacts
    where contact_grams(owner_id, search_text) @> array(select contact_gram($1, gram) from unnest($6::text[]) gram)
      and strpos(search_text, $5) > 0 and (owner_id = $1) is true
), page as (select id from found x order by {{inner}} limit $2 offset $3)
select {CONTACTS.columns}, {COUNT}, {DIRECTORY_MEETINGS}, t.total
from (select count(*) as total from found) t left join (page join contacts c using (id)) on true
order by {{outer}}"""


async def list_entries(
    db: Db, owner_id: UUID, *, search: str, sort: ContactSort, limit: int, offset: int, now: datetime
) -> tuple[list[ContactEntry], int]:
    """List an owner's contacts that a search finds with their meetings nearest to now, and how many there are."""
    folded = fold(search)
    grams = cover(folded)
    order = {"inner": ORDERS[sort].format(c="x"), "outer": ORDERS[sort].format(c="c")}
    asked = (owner_id, limit, offset, now)
    if grams:
        rows = await db.fetch(DIRECTORY_SEARCH.format(**order), *asked, folded, grams)
    elif folded:
        rows = await db.fetch(DIRECTORY.format(match="strpos(search_text, $5) > 0", **order), *asked, folded)
    else:
        rows = await db.fetch(DIRECTORY.format(match="true", **order), *asked)
    entries = [
        ContactEntry(
            contact=CONTACTS.read(row),
            meeting_count=row["meeting_count"],
            last_met_at=row["last_met_at"],
            next_meeting_at=row["next_meeting_at"],
        )
        for row in rows
        if row["c_id"] is not None
    ]
    return entries, rows[0]["total"]


# A `NamedContact` in a row of the owner `$1` that has a phone number: of several, the one known longest.
NAMED_BY_PHONE = """(
    select json_build_object('id', k.id, 'name', k.name) from contacts k
    where k.owner_id = $1 and k.phone = {phone} order by k.created_at, k.id limit 1)"""
# A condition on a row of the owner `$1` that has a phone number.
OF_PERSON = """(strpos({phone}, {digits}) > 0 or {phone} in (
    select k.phone from contacts k
    where k.owner_id = $1 and k.phone is not null and strpos(k.search_text, {text}) > 0))"""
_NUMBER = re.compile(r"\+?[0-9 ()./\-]{2,}")


def fold_person(search: str) -> tuple[str, str]:
    """Return a search as texts are compared, and its digits; what is no part of a number is found in none."""
    text = search.strip()
    digits = re.sub(r"[^0-9+]", "", text) if _NUMBER.fullmatch(text) else ""
    return fold(text), digits or "none"
