"""What a host looks for by name, and the SQL that finds it: people, bookings and event types."""

from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.bookings.agenda.store import OWN_OR_HOSTED
from openslot.domains.bookings.models import Status
from openslot.domains.contacts.models import cover, fold
from openslot.domains.contacts.store import write_by_grams
from openslot.platform.core.db import Db


class FoundPerson(Struct, frozen=True, kw_only=True):
    """A contact whose name, email address or company has the text that was searched."""

    id: UUID
    name: str
    email: str


class FoundBooking(Struct, frozen=True, kw_only=True):
    id: UUID
    name: str
    """The invitee's."""
    email: str
    event_type_name: str
    status: Status
    starts_at: datetime
    ends_at: datetime


class FoundEventType(Struct, frozen=True, kw_only=True):
    id: UUID
    name: str
    active: bool


class SearchResults(Struct, frozen=True, kw_only=True):
    """What a host has that was searched by name."""

    people: list[FoundPerson] = []
    bookings: list[FoundBooking] = []
    event_types: list[FoundEventType] = []

    def __bool__(self) -> bool:
        return bool(self.people or self.bookings or self.event_types)


# A contact's search text is folded, so that it is found in any letter case; a booking keeps what was typed.
def _write_known(condition: str) -> str:
    return f"""
select c.id, c.name, c.email, c.search_text from contacts c
where {condition} and strpos(c.search_text, $3) > 0 and (c.owner_id = $1) is true limit 1000"""


# Those whose name begins with the text come first.
PEOPLE = """
select id, name, email from known order by strpos(search_text, $3) > 1, left(search_text, 100), id limit $5"""
# Upcoming ones come first, from the next on, then the others from the latest on.
ORDER = "(b.status = 'CONFIRMED' and b.ends_at > $4) desc, abs(extract(epoch from b.starts_at - $4)), b.id"
BOOKINGS = f"""
select b.id, b.invitee_name as name, b.invitee_email as email, e.name as event_type_name, b.status, b.starts_at,
       b.ends_at
from (select b.* from {OWN_OR_HOSTED}
      where b.status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION')
        and (strpos(lower(b.invitee_name), lower($2)) > 0 or strpos(lower(b.invitee_email), lower($2)) > 0
             or b.contact_id in (select id from known))
      order by {ORDER} limit $5) b
join lateral (select name from event_types where id = b.event_type_id offset 0) e on true order by {ORDER}"""
EVENT_TYPES = """
select e.id, e.name, e.active from event_types e where e.owner_id = $1 and strpos(lower(e.name), lower($2)) > 0
order by e.active desc, e.position, e.id limit $5"""

_found = msgspec.json.Decoder(SearchResults)


async def find_by_name(db: Db, host_id: UUID, text: str, *, now: datetime, limit: int) -> SearchResults:
    """Find what has a text in its name, by one statement."""
    folded = fold(text)
    grams = cover(folded)
    asked: tuple[Any, ...] = (host_id, text, folded, now, limit, *([grams] if grams else []))
    return _found.decode(await db.fetchval(_write(has_grams=bool(grams)), *asked))


@cache
def _write(*, has_grams: bool) -> str:
    """Write the statement; a text that is too short has no trigrams that lead to a person."""
    known = _write_known(write_by_grams("$6") if has_grams else "c.owner_id = $1")
    parts = {"people": PEOPLE, "bookings": BOOKINGS, "event_types": EVENT_TYPES}
    lists = (f"'{name}', (select coalesce(json_agg(x), '[]') from ({each}) x)" for name, each in parts.items())
    return f"with known as materialized ({known}) select json_build_object({', '.join(lists)})"
