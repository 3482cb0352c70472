"""A restore touches what is Openslot's: where anything else lives, it says what, and changes nothing."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from openslot.platform.backups.archive import Backup
from openslot.platform.backups.programs import ServerKind
from openslot.platform.backups.restore import load_dump
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.inventory import read_inventory
from openslot.platform.core.migrate import checksum, known_migrations
from openslot.platform.core.secrets import KEY_FILE
from tests.cli.conftest import begin_anew, restored, rows_of
from tests.support.databases import TEMPLATE
from tests.support.installation import Installation, ended, installed, interrupt

KIND = ServerKind(18, encrypted=False)

# What a framework makes for an application of its own.
SHOP = """
create table migrations (id serial primary key, migration varchar(255) not null, batch integer not null);
create table users (id bigserial primary key, name text, email text unique, password text);
create table sessions (id text primary key, user_id bigint references users, payload text);
insert into migrations (migration, batch) values ('2014_10_12_000000_create_users_table', 1);
insert into users (name) values ('Olga');"""
# The same names, columns like ours, and nobody in it.
LOOKALIKE = """
create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now());
create table users (id uuid primary key, email text);
create table recipes (title text);
insert into recipes values ('Borscht');"""
FORGED = LOOKALIKE + "insert into migrations (name, checksum) values ('0.2.0_01_core.sql', 'x');"

BESIDE_NOTHING = {
    SHOP: "table migrations, table sessions, table users",
    LOOKALIKE: "table migrations, table recipes, table users",
    FORGED: "table migrations, table recipes, table users",
    "create table recipes (title text)": "table recipes",
    'create table "Rezepte; drop" (title text)': "table Rezepte; drop",
    "create view report as select 1 as n": "view report",
    "create materialized view report as select 1 as n": "materialized view report",
    "create sequence invoices": "sequence invoices",
    "create type mood as enum ('good')": "type mood",
    "create type pair as (a int, b int)": "type pair",
    "create domain postcode as text": "type postcode",
    "create function total(a int) returns int language sql as 'select a'": "function total(a integer)",
    "create procedure settle() language sql as 'select 1'": "procedure settle()",
    "create schema shop; create table shop.users (id int); insert into shop.users values (1)": "table shop.users",
    "create schema shop; create view shop.v as select 1 as n": "view shop.v",
    "create table a1 (n int); create table a2 (n int); create table a3 (n int); create table a4 (n int);"
    "create table a5 (n int); create table a6 (n int); create function f() returns int language sql as 'select 1'": (
        "table a1, table a2, table a3, table a4, table a5 and 2 more"
    ),
}
BESIDE_OURS = {
    "create table recipes (title text)": "table recipes",
    "create schema reports; create view reports.people as select * from public.users": "view reports.people",
    "create table orders (user_id uuid references users)": "table orders",
    "create function contact_gram(text) returns text language sql as 'select $1'": (
        "function contact_gram(owner_id uuid, gram text), function contact_gram(text)"
    ),
    "delete from migrations where name = '0.2.0_03_plans.sql';"
    "drop table subscribers, subscription_feed, plan_prices; create table plan_prices (name text)": "table plan_prices",
}

# Whatever is written has the number of a later transaction.
STATE_OF_EACH = """
select string_agg(format('select %L as name, %s::text as state from %s', oid,
    case relkind when 'S' then '(last_value, is_called)' else '(count(*), max(xmin::text::bigint))' end,
    oid::regclass), ' union all ')
from pg_class where relkind in ('r', 'm', 'S')"""

pytestmark = pytest.mark.rest("restores beside others: tests/cli/test_backup.py restores in make test")


async def find_state(settings: Settings) -> dict[str, str]:
    """Tell of every table, also of PostgreSQL's own, which rows it holds, and where each sequence is."""
    connection = await asyncpg.connect(settings.database_url)
    found = await connection.fetch(await connection.fetchval(STATE_OF_EACH))
    await connection.close()
    return {row["name"]: row["state"] for row in found}


async def execute(settings: Settings, *statements: str) -> None:
    connection = await asyncpg.connect(settings.database_url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def check_refused(settings: Settings, backup: Backup, words: str) -> None:
    before = await find_state(settings)
    with pytest.raises(StartupError) as refused:
        await restored(settings, backup)
    assert str(refused.value) == (
        f"{words} Restore into an empty data directory (--data-dir) or an empty database (--database-url). "
        "Nothing was changed."
    )
    assert await find_state(settings) == before
    assert not (settings.data_dir / KEY_FILE).exists()


async def test_another_application_is_left_alone(elsewhere: Settings, backup: Backup, postgres: str) -> None:
    for script, found in BESIDE_NOTHING.items():
        await execute(elsewhere, script)
        await check_refused(
            elsewhere, backup, f"The database contains objects that Openslot does not recognize ({found})."
        )
        await begin_anew(elsewhere, postgres)


async def test_another_application_beside_an_unused_start_is_left_alone(
    elsewhere: Settings, backup: Backup, postgres: str
) -> None:
    for script, found in BESIDE_OURS.items():
        await begin_anew(elsewhere, postgres, template=TEMPLATE)
        await execute(elsewhere, script)
        await check_refused(
            elsewhere, backup, f"The database contains objects that Openslot does not recognize ({found})."
        )


async def test_what_a_host_or_an_extension_has_brought_is_no_hindrance_and_stays(
    elsewhere: Settings, backup: Backup
) -> None:
    await execute(
        elsewhere,
        "create schema host; create function host.tool() returns int language sql as 'select 7'",
        "create table public.members (n int); insert into public.members values (8)",
        "alter extension plpgsql add table public.members",
    )
    await restored(elsewhere, backup)
    connection = await asyncpg.connect(elsewhere.database_url)
    kept = await connection.fetchrow("select host.tool() as tool, (select n from public.members) as n")
    await connection.close()
    assert (kept["tool"], kept["n"]) == (7, 8)
    assert await rows_of(elsewhere) == {**backup.manifest.rows, "members": 1}


def test_a_service_that_ran_and_was_never_used_makes_room(home: Installation, tmp_path: Path) -> None:
    made = home.told("backup", "create")
    with installed(tmp_path / "unused") as unused:
        serve = unused.start("serve")
        unused.wait_until_ready()
        interrupt(serve)
        assert ended(serve)[0] == 0
        # The start has created a key, and what another one has signed is not restored beside it.
        (unused.data_dir / KEY_FILE).unlink()
        assert unused.told("backup", "restore", made["file"])["rows"] == made["rows"]


async def test_a_start_that_was_cut_off_in_its_migrations_makes_room(elsewhere: Settings, backup: Backup) -> None:
    first = list(known_migrations().items())[:5]
    await execute(
        elsewhere,
        "create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now())",
        *(sql for _, sql in first),
        *(f"insert into migrations (name, checksum) values ('{name}', '{checksum(sql)}')" for name, sql in first),
    )
    await restored(elsewhere, backup)
    assert await rows_of(elsewhere) == backup.manifest.rows


async def test_what_another_program_has_restored_by_half_is_left_alone(
    elsewhere: Settings, backup: Backup, postgres: str
) -> None:
    await begin_anew(elsewhere, postgres, template=TEMPLATE)
    await execute(
        elsewhere, "insert into organizations values (gen_random_uuid(), 'A', 'a', 'FREE', null, now(), now())"
    )
    await check_refused(elsewhere, backup, "The database already has 1 row in organizations.")
    await execute(elsewhere, "drop table users cascade")
    await check_refused(elsewhere, backup, "The database already has 1 row in organizations.")
    await execute(elsewhere, "delete from migrations")
    with pytest.raises(StartupError, match=r"Openslot does not recognize \(table account_deletions, .* and \d+ more\)"):
        await restored(elsewhere, backup)


async def test_a_database_where_somebody_lives_is_left_alone(lived_in: Settings, backup: Backup) -> None:
    before = await find_state(lived_in)
    with pytest.raises(StartupError, match=r"^The database already has 1 account\. .* Nothing was changed\.$"):
        await restored(lived_in, backup)
    assert await find_state(lived_in) == before


async def test_nothing_is_dropped_that_another_has_built_on_ours(
    elsewhere: Settings, backup: Backup, postgres: str
) -> None:
    await begin_anew(elsewhere, postgres, template=TEMPLATE)
    connection = await asyncpg.connect(elsewhere.database_url)
    ours = (await read_inventory(connection)).ours
    # Made in the moment between the look and the restore.
    await connection.execute("create schema reports; create view reports.people as select email from public.users")
    await connection.close()
    before = await find_state(elsewhere)
    with pytest.raises(StartupError, match=r"because other objects depend on them\. Nothing was changed"):
        await asyncio.to_thread(load_dump, elsewhere.database_url or "", KIND, backup, in_place_of=ours)
    assert await find_state(elsewhere) == before


async def test_an_operator_is_told_in_one_sentence(elsewhere: Settings, backup: Backup) -> None:
    await execute(elsewhere, SHOP)
    before = await find_state(elsewhere)
    with installed(elsewhere.data_dir, DATABASE_URL=elsewhere.database_url or "") as installation:
        code, out, err = await asyncio.to_thread(installation.run, "backup", "restore", str(backup.path))
    assert (code, out) == (1, "")
    found = "(table migrations, table sessions, table users)"
    assert err.startswith(f"openslot: The database contains objects that Openslot does not recognize {found}. ")
    assert err.count("\n") == 1
    assert await find_state(elsewhere) == before
