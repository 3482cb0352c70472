"""All SQL about who is a stranger to a host: an address or a phone that has never booked, confirmed or answered."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.allowances.store import PROVEN
from openslot.platform.core.db import Db

# Whether somebody else has booked or changed a booking `b`: events are kept for a time, and then the history alone.
BY_OTHERS = """
(exists (select from events v where v.subject_id = b.id and v.actor ->> 'kind' = 'public')
 or exists (select from booking_history h where h.booking_id = b.id and h.actor ->> 'kind' = 'public'))"""
# Whoever has paid or proven the address is known; so is who waits, which is confirmed by mail. To an account that
# somebody vouches for ($3), whoever has booked or written is known too. Others could make that up: they read the links
# of their bookings, book on their own pages in any name, and choose the phones and addresses of contacts.
KNOWN = f"""
exists (select from users u where lower(u.email) = lower(a.email) and (u.id = $1 or exists (
    select from memberships m join memberships own on own.organization_id = m.organization_id
    where m.user_id = u.id and m.active and own.user_id = $1 and own.active)))
or exists (
    select from contacts c join bookings b on b.contact_id = c.id
    where c.owner_id = $1 and lower(c.email) = lower(a.email) and lower(b.invitee_email) = lower(a.email) and {PROVEN})
or $3 and exists (
    select from contacts c where c.owner_id = $1 and lower(c.email) = lower(a.email) and (
        exists (
            select from bookings b where b.contact_id = c.id and (
                {BY_OTHERS}
                or exists (select from payments p where p.booking_id = b.id)
                or exists (select from booking_requests r where r.booking_id = b.id)))
        or exists (
            select from conversations v join messages s on s.conversation_id = v.id
            where v.owner_id = $1 and v.contact_phone = c.phone and s.direction = 'inbound')))
or exists (
    select from wait_list_entries w
    where w.host_id = $1 and lower(w.email) = lower(a.email) and w.state <> 'unproven')"""
COUNT = f"""
select count(distinct canonical_recipient(a.email))::int from unnest($2::text[]) as a (email) where not ({KNOWN})"""

# The numbers that a host writes from, if they are still theirs to use.
NUMBERS = """
select c.number, c.countries from host_numbers n join messaging_connections c on c.id = n.connection_id
where n.user_id = $1 and c.channel <> 'voice' and c.disconnected_at is null
  and (c.user_id = $1 or c.organization_id in (
    select m.organization_id from memberships m where m.user_id = $1 and m.active))"""
# A phone that is asked for again within the window is one number.
IS_PROVEN = """
select exists (
    select from conversations v join messages s on s.conversation_id = v.id
    where v.owner_id = $1 and v.contact_phone = $2 and s.direction = 'inbound')
  or exists (
    select from message_consents c
    where c.host_id = $1 and c.phone = $2 and c.given_at > $3 and c.withdrawn_at is distinct from c.given_at)"""


class SendingNumber(Struct, frozen=True):
    """A number that a host writes from, and the countries that were chosen for it."""

    number: str
    countries: tuple[str, ...]


async def list_sending_numbers(db: Db, host_id: UUID) -> list[SendingNumber]:
    return [SendingNumber(row["number"], tuple(row["countries"])) for row in await db.fetch(NUMBERS, host_id)]


async def is_phone_proven(db: Db, host_id: UUID, phone: str, *, since: datetime) -> bool:
    """Answer whether a phone has written to a host, or was given for messages since a time."""
    return bool(await db.fetchval(IS_PROVEN, host_id, phone, since))


async def count_strangers(db: Db, host_id: UUID, emails: Sequence[str], *, is_trusted: bool) -> int:
    """Count those of some addresses that are strangers to a host, an address of one mailbox once.

    Who has booked and proven nothing is known to accounts that somebody vouches for, and a stranger to others.
    """
    found: int = await db.fetchval(COUNT, host_id, emails, is_trusted)
    return found
