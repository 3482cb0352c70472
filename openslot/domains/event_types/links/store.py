"""All SQL of the links through which an event type can be booked a number of times."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from openslot.domains.event_types.errors import LinkUsedUp
from openslot.domains.event_types.models import BookingLink, LinkBooking, SealedToken
from openslot.domains.event_types.store import TEAM_PAGE
from openslot.platform.core.db import Db, Row
from openslot.platform.core.events import Change
from openslot.platform.core.rows import Rows

MAX_BOOKINGS = 20
"""How many bookings of a link are listed with it."""

LINKS = Rows(BookingLink, "booking_links l", prefix="l_")
INSERT = LINKS.insert("token_hash", "token_sealed")
# It repeats what was read under the host's lock: whoever forgets the lock must not use a link once too often.
TAKE = """
update booking_links set used = used + $3
where id = $1 and used + $3 <= uses and revoked_at is null and (ends_at is null or ends_at > $2)"""
# Somebody has paid who asked while the link was open: only its count decides.
TAKE_AGAIN = """
update booking_links l set used = l.used + 1 from booking_link_uses u
where u.booking_id = $1 and not u.active and l.id = u.link_id and l.used < l.uses"""
GIVE_BACK = """
update booking_links l set used = l.used - 1 from booking_link_uses u
where u.booking_id = $1 and u.active and l.id = u.link_id"""
INSERT_USES = "insert into booking_link_uses (booking_id, link_id) select unnest($1::uuid[]), $2::uuid"
MARK_USE = "update booking_link_uses set active = $2 where booking_id = $1 and active <> $2"
MADE = f"""
(select json_agg(m) from (
    select b.id, b.invitee_name as "inviteeName", b.starts_at as "startsAt", b.status
    from booking_link_uses u join bookings b on b.id = u.booking_id
    where u.link_id = l.id and u.active order by b.id desc limit {MAX_BOOKINGS}) m)"""
PAGE = f"(select {TEAM_PAGE} from event_types e where e.id = l.event_type_id)"
LIST = f"""
with found as (
    select * from booking_links where owner_id = $1 and event_type_id = $2
)
select {LINKS.columns}, l.token_sealed, {MADE} as made, {PAGE} as team_page, t.total
from (select count(*) as total from found) t
left join (select * from found order by id desc limit $3 offset $4) l on true
order by l.id desc"""
ONE = f"""
select {LINKS.columns}, l.token_sealed, {MADE} as made, {PAGE} as team_page from booking_links l
where l.owner_id = $1 and l.id = $2 and ($3::uuid is null or l.event_type_id = $3)"""

_made = msgspec.json.Decoder(tuple[LinkBooking, ...])


async def insert_link(db: Db, link: BookingLink, token: SealedToken) -> None:
    await db.execute(INSERT, *LINKS.values(link), token.hash, token.sealed)


async def count_open(db: Db, event_type_id: UUID, *, now: datetime) -> int:
    statement = """select count(*) from booking_links where event_type_id = $1 and revoked_at is null and used < uses
        and (ends_at is null or ends_at > $2)"""
    return int(await db.fetchval(statement, event_type_id, now))


async def list_rows(db: Db, owner_id: UUID, event_type_id: UUID, *, limit: int, offset: int) -> Sequence[Row]:
    """List the links of an event type, the newest first; one row without any has the count."""
    return await db.fetch(LIST, owner_id, event_type_id, limit, offset)


def read_made(row: Row) -> tuple[LinkBooking, ...]:
    return _made.decode(row["made"]) if row["made"] else ()


async def find_row(db: Db, owner_id: UUID, link_id: UUID, event_type_id: UUID | None) -> Row | None:
    return await db.fetchrow(ONE, owner_id, link_id, event_type_id)


async def update_revoked(db: Db, link: BookingLink) -> None:
    await db.execute(
        "update booking_links set revoked_at = $2 where id = $1 and revoked_at is null", link.id, link.revoked_at
    )


async def has_given_back(db: Db, booking_id: UUID) -> bool:
    """Answer whether a booking had a use of a link, and has given it back."""
    statement = "select exists (select from booking_link_uses where booking_id = $1 and not active)"
    return bool(await db.fetchval(statement, booking_id))


def take_uses(link: BookingLink, booking_ids: Sequence[UUID], *, now: datetime) -> tuple[Change, ...]:
    taken = Change(TAKE, (link.id, now, len(booking_ids)), lost=LinkUsedUp)
    return taken, Change(INSERT_USES, (list(booking_ids), link.id))


def take_again(booking_id: UUID) -> tuple[Change, ...]:
    return Change(TAKE_AGAIN, (booking_id,), lost=LinkUsedUp), Change(MARK_USE, (booking_id, True))


def give_back(booking_id: UUID) -> tuple[Change, ...]:
    return Change(GIVE_BACK, (booking_id,)), Change(MARK_USE, (booking_id, False))
