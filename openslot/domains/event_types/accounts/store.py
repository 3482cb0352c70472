"""The SQL of the accounts that event types name."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.event_types.models import PaymentAccount
from openslot.domains.event_types.store import MAY_BE_PAID_TO
from openslot.platform.core.db import Db, Row

LIST = f"""
select o.id, coalesce(o.account_name, o.account_id, '…' || o.key_ending) as name,
    g.name as organization, g.slug as organization_slug
from payment_connections o left join organizations g on g.id = o.organization_id
where {MAY_BE_PAID_TO.format(owner="$1")} order by o.user_id is null, o.connected_at, o.id"""
# About an event type `e`: it follows when its owner connects an account.
FOLLOWS_OWN = """
e.owner_id = $1 and e.price is not null and (e.payment_connection_id is null or e.payment_connection_id in (
    select o.id from payment_connections o where o.user_id = $1))"""
# And when an organization of its owner connects one in the place of another.
FOLLOWS_ORGANIZATION = """
e.owner_id in (select m.user_id from memberships m where m.organization_id = $1 and m.active)
  and e.price is not null and e.payment_connection_id = $2"""
FOLLOW_OWN = f"""
update event_types e set payment_connection_id = $2, updated_at = $3 where {FOLLOWS_OWN} returning e.owner_id, e.name"""
FOLLOW_ORGANIZATION = f"""
update event_types e set payment_connection_id = $3, updated_at = $4 where {FOLLOWS_ORGANIZATION}
returning e.owner_id, e.name"""
NAMING = """
select e.owner_id, e.name from event_types e
where e.payment_connection_id = $1 and e.price is not null and e.active order by e.id"""
LEFT = """
select e.owner_id, e.name from event_types e join payment_connections o on o.id = e.payment_connection_id
where e.owner_id = $1 and o.organization_id = $2 and o.disconnected_at is null and e.price is not null and e.active
  and not exists (select from memberships m where m.user_id = $1 and m.organization_id = $2 and m.active)
order by e.id"""


class NamingEventType(Struct, frozen=True):
    """An event type that names an account which has changed."""

    owner_id: UUID
    name: str


async def list_accounts(db: Db, owner_id: UUID) -> list[PaymentAccount]:
    return [PaymentAccount(**row) for row in await db.fetch(LIST, owner_id)]


async def follow_own(db: Db, owner_id: UUID, connection_id: UUID, *, now: datetime) -> list[NamingEventType]:
    return _read(await db.fetch(FOLLOW_OWN, owner_id, connection_id, now))


async def list_following_own(db: Db, owner_id: UUID) -> list[NamingEventType]:
    """List what `follow_own` would change."""
    return _read(await db.fetch(f"select e.owner_id, e.name from event_types e where {FOLLOWS_OWN}", owner_id))


async def follow_organization(
    db: Db, organization_id: UUID, connection_id: UUID, *, in_place_of: UUID, now: datetime
) -> list[NamingEventType]:
    return _read(await db.fetch(FOLLOW_ORGANIZATION, organization_id, in_place_of, connection_id, now))


async def list_following_organization(db: Db, organization_id: UUID, *, in_place_of: UUID) -> list[NamingEventType]:
    """List what `follow_organization` would change."""
    statement = f"select e.owner_id, e.name from event_types e where {FOLLOWS_ORGANIZATION}"
    return _read(await db.fetch(statement, organization_id, in_place_of))


async def list_naming(db: Db, connection_id: UUID) -> list[NamingEventType]:
    """List the active event types that name an account."""
    return _read(await db.fetch(NAMING, connection_id))


async def list_left(db: Db, owner_id: UUID, organization_id: UUID) -> list[NamingEventType]:
    """List the active event types of somebody that name the account of an organization they don't belong to."""
    return _read(await db.fetch(LEFT, owner_id, organization_id))


def _read(rows: list[Row]) -> list[NamingEventType]:
    return [NamingEventType(row["owner_id"], row["name"]) for row in rows]
