"""All SQL of reminders and follow-ups: a host's choice for all meetings, and that of single event types."""

from datetime import datetime
from uuid import UUID

from msgspec import json

from openslot.domains.reminders.models import Entries
from openslot.domains.reminders.rules import list_email_times, with_email_times
from openslot.platform.core.db import Db, Row
from openslot.platform.core.ids import new_id

# The last release knows the times of reminders by email alone: it reads and writes `minutes_before`.
CHOSEN = """
select event_type_id is not null as is_own, minutes_before, entries from reminder_settings
where host_id = $1 and (event_type_id = $2 or event_type_id is null) order by event_type_id nulls last"""
UPSERT = """
insert into reminder_settings (id, host_id, event_type_id, minutes_before, entries, updated_at)
values ($1, $2, $3, $4, $5, $6)
on conflict (host_id, event_type_id) do update
set minutes_before = excluded.minutes_before, entries = excluded.entries, updated_at = excluded.updated_at"""

_encode = json.Encoder().encode
_decode = json.Decoder(Entries).decode


async def find_chosen(db: Db, host_id: UUID, event_type_id: UUID | None) -> dict[bool, Entries]:
    """Return what the event type has chosen (true) and what its host has (false), as far as they have."""
    return {row["is_own"]: read_entries(row) for row in await db.fetch(CHOSEN, host_id, event_type_id)}


def read_entries(row: Row) -> Entries:
    return with_email_times(_decode(row["entries"] or "[]"), row["minutes_before"])


async def lock_chosen(db: Db, host_id: UUID, event_type_id: UUID | None) -> None:
    """Let nobody else change a choice until the commit."""
    statement = """select from reminder_settings
        where host_id = $1 and event_type_id is not distinct from $2 for update"""
    await db.execute(statement, host_id, event_type_id)


async def upsert(db: Db, host_id: UUID, event_type_id: UUID | None, entries: Entries, *, now: datetime) -> None:
    written = (list_email_times(entries), _encode(entries).decode())
    await db.execute(UPSERT, new_id(), host_id, event_type_id, *written, now)


async def delete(db: Db, host_id: UUID, event_type_id: UUID | None) -> None:
    """Return to the next broader setting."""
    statement = "delete from reminder_settings where host_id = $1 and event_type_id is not distinct from $2"
    await db.execute(statement, host_id, event_type_id)


async def give_to_owner(db: Db, event_type_id: UUID, owner_id: UUID) -> None:
    """Let the choice of an event type be that of its new owner; one that they had left there before is replaced."""
    statement = """with given as (
            select id from reminder_settings where event_type_id = $1 and host_id <> $2
            order by updated_at desc limit 1),
        replaced as (
            delete from reminder_settings where event_type_id = $1 and host_id = $2 and exists (select from given))
        select id from given"""
    given = await db.fetchval(statement, event_type_id, owner_id)
    await db.execute("update reminder_settings set host_id = $2 where id = $1", given, owner_id)
