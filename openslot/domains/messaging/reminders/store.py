"""The SQL of reminders and follow-ups by message."""

from uuid import UUID

from openslot.domains.messaging.models import BookingFacts
from openslot.platform.core.db import Db

# Whether the host of an event has a number that sends messages.
HAS_NUMBERS = """exists (
    select from messaging_connections c where c.disconnected_at is null and c.channel <> 'voice'
      and (c.user_id = v.tenant_id or c.organization_id in (
        select m.organization_id from memberships m where m.user_id = v.tenant_id and m.active)))"""
FACTS = """
select b.status = 'CONFIRMED' as is_confirmed, b.starts_at, b.ends_at, b.no_show, exists (
    select from message_consents c where c.booking_id = b.id and c.phone = $2 and c.withdrawn_at is null) as is_agreed
from bookings b where b.id = $1"""


async def find_booking_facts(db: Db, booking_id: UUID, phone: str) -> BookingFacts | None:
    row = await db.fetchrow(FACTS, booking_id, phone)
    return BookingFacts(**row) if row else None


async def is_queued(db: Db, message_id: UUID) -> bool:
    return bool(await db.fetchval("select exists (select from messages where id = $1)", message_id))


async def find_host(db: Db, host_id: UUID) -> tuple[str, str | None]:
    """Look up the name of a host, and their language."""
    row = await db.fetchrow("select name, locale from users where id = $1", host_id)
    return (row["name"], row["locale"]) if row else ("", None)
