"""Write the tables of docs/database-program.md from a migrated database, with its comments: `make docs`."""

import asyncio
import re
import tempfile
from pathlib import Path

import asyncpg

from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.migrate import migrate
from scripts.tables import renew

PAGE = Path(__file__).parents[1] / "docs" / "database-program.md"
OURS = "relnamespace = 'public'::regnamespace and relname <> 'migrations'"
READ_TABLES = f"""
select relname as name, obj_description(oid, 'pg_class') as sentence from pg_class
where {OURS} and relkind in ('r', 'p') order by relname"""
READ_TRIGGERS = f"""
select t.relname as on_table, g.tgname as name, p.proname as function, pg_get_triggerdef(g.oid) as definition,
    obj_description(g.oid, 'pg_trigger') as sentence
from pg_trigger g join pg_class t on t.oid = g.tgrelid join pg_proc p on p.oid = g.tgfoid
where {OURS} and not g.tgisinternal order by t.relname, g.tgname"""
READ_FUNCTIONS = """
select p.proname as name, coalesce(obj_description(p.oid, 'pg_proc'), '') as sentence,
    array(select distinct t.relname::text from pg_trigger g join pg_class t on t.oid = g.tgrelid
          where g.tgfoid = p.oid and not g.tgisinternal order by 1) as fired_by
from pg_proc p where p.pronamespace = 'public'::regnamespace order by p.proname"""
DEFINITION = re.compile(
    r"CREATE (?:CONSTRAINT )?TRIGGER \S+ (?P<moment>BEFORE|AFTER) (?P<events>.+?) ON \S+ "
    r"(?P<late>DEFERRABLE INITIALLY DEFERRED )?(?:NOT DEFERRABLE INITIALLY IMMEDIATE )?(?:REFERENCING .+? )?"
    r"FOR EACH (?P<each>ROW|STATEMENT) (?:WHEN \((?P<condition>.+)\) )?EXECUTE FUNCTION"
)


async def renew_page(page: str, connection: asyncpg.Connection) -> str:
    """Return the page with what the database says of its triggers, functions and tables."""
    triggers = map(_write_trigger, await connection.fetch(READ_TRIGGERS))
    functions = map(_write_function, await connection.fetch(READ_FUNCTIONS))
    tables = map(_write_table, await connection.fetch(READ_TABLES))
    head = "| Table | Trigger | Fires | Calls | Why |\n|---|---|---|---|---|"
    page = renew(page, "triggers", "\n".join([head, *triggers]))
    page = renew(page, "functions", "\n".join(["| Function | Does | Fired by |\n|---|---|---|", *functions]))
    return renew(page, "tables", "\n".join(["| Table | Holds |\n|---|---|", *tables]))


def _write_table(row: asyncpg.Record) -> str:
    return f"| `{row['name']}` | {_in_cell(row['sentence'])} |"


def _write_trigger(row: asyncpg.Record) -> str:
    found = DEFINITION.match(row["definition"])
    if found is None:
        raise ValueError(f"this trigger can't be told in words: {row['definition']}")
    fires = f"{found['moment']} {found['events']}".lower() + (", at the commit" if found["late"] else "")
    fires += ", for each row" if found["each"] == "ROW" else ""
    if found["condition"]:
        fires += f", when `{_in_cell(found['condition'].removeprefix('(').removesuffix(')'))}`"
    return f"| `{row['on_table']}` | `{row['name']}` | {fires} | `{row['function']}` | {_in_cell(row['sentence'])} |"


def _write_function(row: asyncpg.Record) -> str:
    fired_by = ", ".join(f"`{name}`" for name in row["fired_by"])
    return f"| `{row['name']}` | {_in_cell(row['sentence'])} | {fired_by} |"


def _in_cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


async def _read(url: str) -> str:
    await migrate(url)
    connection = await asyncpg.connect(url)
    try:
        return await renew_page(PAGE.read_text("utf-8"), connection)
    finally:
        await connection.close()


def main() -> None:
    """Start a server of its own, migrate it, and renew the page."""
    with tempfile.TemporaryDirectory() as place:
        server = start_server(Path(place))
        try:
            PAGE.write_text(asyncio.run(_read(server.url)), "utf-8")
        finally:
            stop_server(Path(place))


if __name__ == "__main__":
    main()
