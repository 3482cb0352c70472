"""All SQL of feature flags."""

from datetime import datetime
from uuid import UUID

from openslot.platform.core.db import Db
from openslot.platform.core.rows import Rows
from openslot.platform.flags.models import Flag, FlagForUser, FlagOverride, FlagValues

# Neither flags nor overrides are read while the version is the one that is known.
READ_CHANGED = """
select v.version, array(select key from flags where enabled) as enabled,
       array(select key from flags where not enabled) as disabled,
       array(select flag_key || ' ' || user_id from flag_overrides where enabled) as enabled_for,
       array(select flag_key || ' ' || user_id from flag_overrides where not enabled) as disabled_for
from flag_version v where v.version is distinct from $1"""
FLAGS = Rows(
    Flag, "flags f", computed={"override_count": "(select count(*) from flag_overrides o where o.flag_key = f.key)"}
)
SET_OVERRIDE = """
insert into flag_overrides as o (flag_key, user_id, enabled, updated_at)
select f.key, u.id, $3, $4 from flags f, users u where f.key = $1 and u.id = $2
on conflict (flag_key, user_id) do update set enabled = excluded.enabled, updated_at = excluded.updated_at
where o.enabled <> excluded.enabled returning o.user_id"""


async def read_changed(db: Db, known: UUID | None) -> FlagValues | None:
    """Read all flags and overrides; None if the version is still the known one."""
    row = await db.fetchrow(READ_CHANGED, known)
    if row is None:
        return None
    return FlagValues(
        version=row["version"],
        flags=dict.fromkeys(row["enabled"], True) | dict.fromkeys(row["disabled"], False),
        overrides=_read_pairs(row["enabled_for"], enabled=True) | _read_pairs(row["disabled_for"], enabled=False),
    )


async def list_flags(db: Db, *, search: str) -> list[Flag]:
    statement = f"""select {FLAGS.columns} from flags f
        where strpos(lower(f.key || ' ' || f.description), lower($1)) > 0 order by f.key"""
    return [FLAGS.read(row) for row in await db.fetch(statement, search)]


async def find_flag(db: Db, key: str) -> Flag | None:
    row = await db.fetchrow(f"select {FLAGS.columns} from flags f where f.key = $1", key)
    return FLAGS.read(row) if row else None


async def find_for_user(db: Db, key: str, user_id: UUID) -> FlagForUser | None:
    statement = """select coalesce(o.enabled, f.enabled) as enabled, o.enabled is not null as is_override
        from flags f left join flag_overrides o on o.flag_key = f.key and o.user_id = $2 where f.key = $1"""
    row = await db.fetchrow(statement, key, user_id)
    return FlagForUser(key=key, user_id=user_id, **row) if row else None


async def list_overrides(db: Db, key: str, *, limit: int) -> list[FlagOverride]:
    statement = """select user_id, enabled, updated_at from flag_overrides where flag_key = $1
        order by updated_at desc, user_id desc limit $2"""
    return [FlagOverride(**row) for row in await db.fetch(statement, key, limit)]


async def update_flag(db: Db, key: str, *, enabled: bool, now: datetime) -> bool:
    """Switch a flag; False if it was so already."""
    statement = "update flags set enabled = $2, updated_at = $3 where key = $1 and enabled <> $2 returning key"
    return await db.fetchval(statement, key, enabled, now) is not None


async def upsert_override(db: Db, key: str, user_id: UUID, *, enabled: bool, now: datetime) -> bool:
    """Set a flag for one user; False if it was so already, or if there is no such user."""
    return await db.fetchval(SET_OVERRIDE, key, user_id, enabled, now) is not None


async def delete_override(db: Db, key: str, user_id: UUID) -> bool:
    statement = "delete from flag_overrides where flag_key = $1 and user_id = $2 returning user_id"
    return await db.fetchval(statement, key, user_id) is not None


def _read_pairs(pairs: list[str], *, enabled: bool) -> dict[tuple[str, str], bool]:
    return {(key, user_id): enabled for key, _, user_id in (pair.partition(" ") for pair in pairs)}
