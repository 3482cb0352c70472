"""What all tables hold, to see whether a request has changed anything."""

from openslot.platform.core.work import Runtime

TABLES = "select tablename as name from pg_tables where schemaname = 'public' order by 1"
HELD = "select '{0}' as name, md5(string_agg(t::text, ',' order by t::text)) as held from {0} t"
COLUMNS = """
select c.relname as name, string_agg(quote_ident(a.attname), ', ') as columns
from pg_class c join pg_attribute a on a.attrelid = c.oid
    and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
where c.relnamespace = 'public'::regnamespace and c.relname = any($1) group by 1"""
COPY = """
delete from public.{name};
insert into public.{name} ({columns}) overriding system value select {columns} from kept.{name}"""
# A request is counted, whatever is answered.
COUNTED = frozenset({"rate_log"})


async def read_tables(runtime: Runtime) -> dict[str, str | None]:
    """Read a digest of every table that only a change touches."""
    names = [row["name"] for row in await runtime.pool.fetch(TABLES) if row["name"] not in COUNTED]
    rows = await runtime.pool.fetch(" union all ".join(HELD.format(name) for name in names))
    return {row["name"]: row["held"] for row in rows}


async def keep_tables(runtime: Runtime) -> dict[str, str | None]:
    """Copy every table, so that it can be put back; for tests with the mark `own_database`."""
    held = await read_tables(runtime)
    copies = (f"create table kept.{name} as table public.{name}" for name in held)
    await runtime.pool.execute("; ".join(["create schema kept", *copies]))
    return held


async def put_back(runtime: Runtime, held: dict[str, str | None]) -> set[str]:
    """Put back what was changed since, and tell in which tables."""
    now = await read_tables(runtime)
    changed = {name for name, digest in held.items() if now[name] != digest}
    if changed:
        columns = {row["name"]: row["columns"] for row in await runtime.pool.fetch(COLUMNS, list(changed))}
        copied = (COPY.format(name=name, columns=columns[name]) for name in changed)
        await runtime.pool.execute(
            ";".join(["set session_replication_role = replica", *copied, "set session_replication_role = default"])
        )
    return changed
