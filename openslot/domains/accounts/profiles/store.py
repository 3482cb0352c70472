"""All SQL of profiles, brands and former usernames."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec.structs import replace

from openslot.domains.accounts.models import PLAIN_PAGE, ChosenBrand, FormerUsername, ImageKind, PageBrand
from openslot.domains.accounts.pictures.operations import RewrittenPicture
from openslot.platform.core.db import Db, Row
from openslot.platform.core.ids import new_id

# While a picture is being prepared, its account may be closed or erased.
SAVE_PHOTO = """
with owner as (
    update users set photo = $2, updated_at = $4 where id = $1 and disabled_at is null returning id)
insert into photos (user_id, hash, body, updated_at) select id, $2, $3, $4 from owner
on conflict (user_id) do update set hash = excluded.hash, body = excluded.body, updated_at = excluded.updated_at"""
DELETE_PHOTO = """
with gone as (delete from photos where user_id = $1)
update users set photo = null, updated_at = $2 where id = $1 and photo is not null"""
SAVE_IMAGE = """
insert into brand_images (user_id, kind, hash, width, height, body, updated_at)
select id, $2, $3, $4, $5, $6, $7 from users where id = $1 and disabled_at is null for key share
on conflict (user_id, kind) do update set hash = excluded.hash, width = excluded.width, height = excluded.height,
    body = excluded.body, updated_at = excluded.updated_at"""
SERVED = {
    "jpg": """select p.body from photos p join users u on u.id = p.user_id
        where p.hash = $1 and u.disabled_at is null
        union all
        select i.body from brand_images i join users u on u.id = i.user_id
        where i.hash = $1 and i.kind = 'cover' and u.disabled_at is null limit 1""",
    "png": """select i.body from brand_images i join users u on u.id = i.user_id
        where i.hash = $1 and i.kind = 'logo' and u.disabled_at is null limit 1""",
}
PAGE_BRAND = """(
    select json_object_agg(i.kind, json_build_object('hash', i.hash, 'width', i.width, 'height', i.height))::text
    from brand_images i where i.user_id = u.id) as brand_images, u.shows_footer,
    case when u.signed_up and not u.is_admin and u.plan = 'FREE' then u.created_at end as signed_up_at"""
"""The columns of what the pages of the user `u` show."""

_read_images = msgspec.json.Decoder(PageBrand).decode


def to_page_brand(row: Row) -> PageBrand:
    """Make the brand of pages of a row that has the columns of `PAGE_BRAND`."""
    images = _read_images(row["brand_images"]) if row["brand_images"] else PLAIN_PAGE
    return replace(images, shows_footer=row["shows_footer"], signed_up_at=row["signed_up_at"])


async def find_page(db: Db, user_id: UUID) -> Row | None:
    return await db.fetchrow(f"select u.welcome, {PAGE_BRAND} from users u where u.id = $1", user_id)


async def update_page(db: Db, user_id: UUID, text: str | None, *, shows_footer: bool, now: datetime) -> None:
    """Write a welcome text and whether there is a footer; what is the same is not written."""
    statement = """update users set welcome = $2, shows_footer = $3, updated_at = $4
        where id = $1 and (welcome, shows_footer) is distinct from ($2, $3)"""
    await db.execute(statement, user_id, text, shows_footer, now)


async def save_image(
    db: Db, user_id: UUID, kind: ImageKind, picture: RewrittenPicture, *, name: str, now: datetime
) -> None:
    await db.execute(SAVE_IMAGE, user_id, kind, name, picture.width, picture.height, picture.body, now)


async def delete_image(db: Db, user_id: UUID, kind: ImageKind) -> None:
    await db.execute("delete from brand_images where user_id = $1 and kind = $2", user_id, kind)


async def save_photo(db: Db, user_id: UUID, photo_hash: str, body: bytes, *, now: datetime) -> None:
    await db.execute(SAVE_PHOTO, user_id, photo_hash, bytes(body), now)


async def delete_photo(db: Db, user_id: UUID, *, now: datetime) -> None:
    await db.execute(DELETE_PHOTO, user_id, now)


async def find_picture(db: Db, name: str, kind: str) -> bytes | None:
    found: bytes | None = await db.fetchval(SERVED[kind], name)
    return found


SAVE = """
insert into brands (id, {owner}, name, color, logo_url, updated_at) values ($1, $2, $3, $4, $5, $6)
on conflict ({owner}) do update set name = excluded.name, color = excluded.color, logo_url = excluded.logo_url,
    updated_at = excluded.updated_at"""

BRAND = """
    select 0 as place, own.name, own.color, own.logo_url from brands own where own.user_id = u.id
    union all
    select 1, coalesce(their.name, o.name), their.color, their.logo_url
    from memberships m join organizations o on o.id = m.organization_id
    join brands their on their.organization_id = o.id
    where m.user_id = u.id and m.active
    order by place limit 1"""
"""The brand of the user `u`, to be joined: their own, or else their organization's."""
BRANDED_HOST = f"""
select u.id, u.name, u.email, u.zone, u.locale, u.photo, b.name as brand_name, b.color, b.logo_url, {PAGE_BRAND}
from users u left join lateral ({BRAND}) b on true where u.id = $1"""


async def find_host(db: Db, host_id: UUID) -> Row | None:
    return await db.fetchrow(BRANDED_HOST, host_id)


async def find_brand(db: Db, *, owner: str, owner_id: UUID) -> ChosenBrand | None:
    row = await db.fetchrow(f"select name, color, logo_url from brands where {owner} = $1", owner_id)
    return ChosenBrand(**row) if row else None


async def delete_brand(db: Db, *, owner: str, owner_id: UUID) -> None:
    await db.execute(f"delete from brands where {owner} = $1", owner_id)


async def save_brand(db: Db, brand: ChosenBrand, *, owner: str, owner_id: UUID, now: datetime) -> None:
    sql = SAVE.format(owner=owner)
    await db.execute(sql, new_id(), owner_id, brand.name, brand.color, brand.logo_url, now)


RESERVED = "users_username_reserved"
"""The constraint of a username that is reserved for somebody else."""


async def find_current(db: Db, former: str, *, now: datetime) -> str | None:
    statement = """select u.username from former_usernames f join users u on u.id = f.user_id
        where f.name_hash = hash_username($1) and f.leads and f.reserved_until > $2 and u.disabled_at is null"""
    found: str | None = await db.fetchval(statement, former, now)
    return found


async def is_reserved(db: Db, name: str, *, now: datetime) -> bool:
    statement = (
        "select exists (select from former_usernames where name_hash = hash_username($1) and reserved_until > $2)"
    )
    return bool(await db.fetchval(statement, name, now))


async def list_of_user(db: Db, user_id: UUID, *, now: datetime) -> list[FormerUsername]:
    statement = """select name, leads, left_at, reserved_until from former_usernames
        where user_id = $1 and reserved_until > $2 order by left_at desc, name"""
    return [FormerUsername(**row) for row in await db.fetch(statement, user_id, now)]


async def count_of_user(db: Db, user_id: UUID, *, now: datetime) -> int:
    count: int = await db.fetchval(
        "select count(*) from former_usernames where user_id = $1 and reserved_until > $2", user_id, now
    )
    return count


async def update_leads(db: Db, user_id: UUID, name: str, *, leads: bool, now: datetime) -> bool:
    """Write whether links lead to the owner's page; False if the name is not reserved for this user."""
    statement = """update former_usernames set leads = $3
        where name_hash = hash_username($2) and user_id = $1 and reserved_until > $4 returning true"""
    return await db.fetchval(statement, user_id, name, leads, now) is not None


async def release(db: Db, name: str) -> None:
    """Free the name of an account that was deleted without ever having been used."""
    await db.execute("delete from former_usernames where name_hash = hash_username($1) and user_id is null", name)
