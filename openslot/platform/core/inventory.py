"""What is in a database, and which of it our migrations have created."""

import re
from collections import Counter
from collections.abc import Iterable

import asyncpg
from msgspec import Struct

from openslot.platform.core.migrate import checksum, former_migrations, known_migrations

LEDGER = ("table", "migrations")

# Indexes, triggers and the sequences of columns are dropped with their table, and an extension's objects with the
# extension. Database hosts keep functions in schemas of their own, which hold no data that could be lost.
OBJECTS = """
with systems(oid) as (
    select oid from pg_namespace where nspname ~ '^pg_' or nspname = 'information_schema'
), parts(classid, objid) as (
    select classid, objid from pg_depend where deptype = 'e'
    union all
    select classid, objid from pg_depend
    where deptype in ('a', 'i') and classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass
)
select case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
         when 'S' then 'sequence' when 'c' then 'type' else 'table' end as kind,
    relnamespace::regnamespace::text as schema, relname::text as name, '' as arguments
from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S', 'c') and relnamespace not in (select oid from systems)
    and ('pg_class'::regclass, oid) not in (select classid, objid from parts)
union all
select case prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end,
    'public', proname::text, '(' || pg_get_function_identity_arguments(oid) || ')'
from pg_proc where pronamespace = 'public'::regnamespace
    and ('pg_proc'::regclass, oid) not in (select classid, objid from parts)
union all
select 'type', 'public', typname::text, ''
from pg_type where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r')
    and ('pg_type'::regclass, oid) not in (select classid, objid from parts)
order by 1, 2, 3, 4"""
DROPPED = re.compile(r"^\s*drop\s+(table)\s+(?:if\s+exists\s+)?(?:public\.)?([a-z_0-9]+)", re.IGNORECASE | re.MULTILINE)
MADE = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(?:unlogged\s+)?(table|function|type|sequence|view|materialized\s+view|procedure)"
    r"\s+(?:if\s+not\s+exists\s+)?(?:public\.)?([a-z_0-9]+)",
    re.IGNORECASE | re.MULTILINE,
)


class DatabaseObject(Struct, frozen=True, order=True):
    kind: str
    schema: str
    name: str
    arguments: str = ""

    def __str__(self) -> str:
        schema = "" if self.schema == "public" else f"{self.schema}."
        return f"{self.kind} {schema}{self.name}{self.arguments}"

    @property
    def quoted(self) -> str:
        return ".".join(f'"{part.replace(chr(34), chr(34) * 2)}"' for part in (self.schema, self.name)) + self.arguments


class Inventory(Struct, frozen=True, kw_only=True):
    """What a database holds: our own objects, and those not known to be ours."""

    ours: tuple[DatabaseObject, ...]
    others: tuple[DatabaseObject, ...]


async def read_inventory(connection: asyncpg.Connection) -> Inventory:
    """List a database's objects, separating those that our migrations created; a matching name is not enough."""
    things = [DatabaseObject(**row) for row in await connection.fetch(OBJECTS)]
    known = known_objects(
        await _read_ledger(connection) if DatabaseObject(LEDGER[0], "public", LEDGER[1]) in things else ()
    )
    # If a function is overloaded, at least one of the two is not ours.
    times = Counter((thing.schema, thing.kind, thing.name) for thing in things)
    ours = [
        thing
        for thing in things
        if thing.schema == "public"
        and (thing.kind, thing.name) in known
        and times["public", thing.kind, thing.name] == 1
    ]
    return Inventory(ours=tuple(ours), others=tuple(thing for thing in things if thing not in ours))


def known_objects(applied: Iterable[str]) -> set[tuple[str, str]]:
    """List what these migrations create, together with the table that records them."""
    known = former_migrations() | known_migrations()
    scripts = [known[name] for name in applied]
    if not scripts:
        return set()
    script = "\n".join(scripts)
    made, dropped = (
        {(" ".join(kind.lower().split()), name) for kind, name in each.findall(script)} for each in (MADE, DROPPED)
    )
    return {LEDGER, *(made - dropped)}


async def _read_ledger(connection: asyncpg.Connection) -> list[str]:
    """List the applied migrations; none unless the table that records them is exactly ours."""
    try:
        rows = await connection.fetch("select name::text, checksum::text from public.migrations")
    except (asyncpg.UndefinedColumnError, asyncpg.InsufficientPrivilegeError):
        return []
    known = former_migrations() | known_migrations()
    is_ours = all(row["name"] in known and row["checksum"] == checksum(known[row["name"]]) for row in rows)
    return [row["name"] for row in rows] if is_ours else []
