"""SQL that reads the contacts of all users together."""

from uuid import UUID

from openslot.contacts.folding import cover, fold
from openslot.contacts.models import Contact, CountedContact
from openslot.contacts.store import CONTACTS, COUNT
from openslot.core.db import Db

# Ids are in the order in which contacts were added. The total is kept by the database, in several rows.
LIST_ALL = f"""
select {CONTACTS.columns}, {COUNT}, t.total
from (select coalesce(sum(n.contacts), 0)::bigint as total from contact_counts n offset 0) t
left join lateral (select * from contacts where t.total > $2 order by id desc limit $1 offset $2) c on true
order by c.id desc"""
# The trigrams lead to the contacts; `materialized` keeps the planner from scanning all of them in order instead.
SEARCH = f"""
with found as materialized (
    select id from contacts
    where contact_grams('00000000-0000-0000-0000-000000000000'::uuid, search_text)
          @> array(select contact_gram('00000000-0000-0000-0000-000000000000'::uuid, gram) from unnest($4::text[]) gram)
      and strpos(search_text, $3) > 0
), page as (select id from found order by id desc limit $1 offset $2)
select {CONTACTS.columns}, {COUNT}, t.total
from (select count(*) as total from found) t left join (page join contacts c using (id)) on true
order by c.id desc"""


async def list_contacts(db: Db, *, search: str, limit: int, offset: int) -> tuple[list[CountedContact], int]:
    """List all users' contacts that a search finds, newest first, with how many there are in all."""
    folded = fold(search)
    if folded:
        rows = await db.fetch(SEARCH, limit, offset, folded, cover(folded))
    else:
        rows = await db.fetch(LIST_ALL, limit, offset)
    found = [CountedContact(CONTACTS.read(row), row["meeting_count"]) for row in rows if row["c_id"] is not None]
    return found, rows[0]["total"]


async def find_contact(db: Db, contact_id: UUID) -> Contact | None:
    """Look up a contact of any user."""
    row = await db.fetchrow(f"select {CONTACTS.columns} from contacts c where c.id = $1", contact_id)
    return CONTACTS.read(row) if row else None
