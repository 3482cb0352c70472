"""SQL of the list of contacts that a host sees."""

from datetime import datetime
from uuid import UUID

from openslot.contacts.folding import cover, fold
from openslot.contacts.models import ContactEntry, ContactSort
from openslot.contacts.store import CONTACT_COLUMNS, COUNT, to_contact
from openslot.core.db import Db

ORDERS = {
    ContactSort.NEWEST: "{c}.created_at desc, {c}.id desc",
    ContactSort.NAME: "left({c}.search_text, 100), {c}.id",
}
MEETINGS = """
(select max(b.starts_at) from bookings b
    where b.contact_id = c.id and b.status = 'CONFIRMED' and b.ends_at <= $4) as last_met_at,
(select min(b.starts_at) from bookings b
    where b.contact_id = c.id and b.status = 'CONFIRMED' and b.ends_at > $4) as next_meeting_at"""
LIST = f"""
select {CONTACT_COLUMNS}, {COUNT}, {MEETINGS}, t.total
from (select count(*) as total from contacts where owner_id = $1 and {{match}}) t
left join lateral (
    select * from contacts x where owner_id = $1 and {{match}} and t.total > $3 order by {{inner}} limit $2 offset $3
) c on true
order by {{outer}}"""
# As in `store.SEARCH`: the trigrams lead to the contacts.
SEARCH = f"""
with found as materialized (
    select id, created_at, search_text from contacts
    where contact_grams(owner_id, search_text) @> array(select contact_gram($1, gram) from unnest($6::text[]) gram)
      and strpos(search_text, $5) > 0 and (owner_id = $1) is true
), page as (select id from found x order by {{inner}} limit $2 offset $3)
select {CONTACT_COLUMNS}, {COUNT}, {MEETINGS}, t.total
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
        rows = await db.fetch(SEARCH.format(**order), *asked, folded, grams)
    elif folded:
        rows = await db.fetch(LIST.format(match="strpos(search_text, $5) > 0", **order), *asked, folded)
    else:
        rows = await db.fetch(LIST.format(match="true", **order), *asked)
    entries = [
        ContactEntry(
            contact=to_contact(row),
            meeting_count=row["meeting_count"],
            last_met_at=row["last_met_at"],
            next_meeting_at=row["next_meeting_at"],
        )
        for row in rows
        if row["c_id"] is not None
    ]
    return entries, rows[0]["total"]
