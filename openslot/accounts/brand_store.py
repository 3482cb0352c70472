"""All SQL of brands."""

from datetime import datetime
from uuid import UUID

from openslot.accounts.models import ChosenBrand
from openslot.core.db import Db
from openslot.core.ids import new_id

SAVE = """
insert into brands (id, {owner}, name, colour, logo_url, updated_at) values ($1, $2, $3, $4, $5, $6)
on conflict ({owner}) do update set name = excluded.name, colour = excluded.colour, logo_url = excluded.logo_url,
    updated_at = excluded.updated_at"""

BRAND = """
    select 0 as place, own.name, own.colour, own.logo_url from brands own where own.user_id = u.id
    union all
    select 1, coalesce(their.name, o.name), their.colour, their.logo_url
    from memberships m join organizations o on o.id = m.organization_id
    join brands their on their.organization_id = o.id
    where m.user_id = u.id and m.active
    order by place limit 1"""
"""The brand of the user `u`, to be joined: their own, or else their organization's."""


async def find_brand(db: Db, *, owner: str, owner_id: UUID) -> ChosenBrand | None:
    """Look up the brand of a user (`user_id`) or an organization (`organization_id`)."""
    row = await db.fetchrow(f"select name, colour, logo_url from brands where {owner} = $1", owner_id)
    return ChosenBrand(**row) if row else None


async def delete_brand(db: Db, *, owner: str, owner_id: UUID) -> None:
    """Delete the brand of a user or an organization."""
    await db.execute(f"delete from brands where {owner} = $1", owner_id)


async def save_brand(db: Db, brand: ChosenBrand, *, owner: str, owner_id: UUID, now: datetime) -> None:
    """Write a brand, replacing the previous one."""
    sql = SAVE.format(owner=owner)
    await db.execute(sql, new_id(), owner_id, brand.name, brand.colour, brand.logo_url, now)
