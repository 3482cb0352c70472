"""Migrations keep nobody out for long, and what runs outside of a transaction may be cut off anywhere."""

import re
from collections.abc import AsyncIterator, Mapping

import asyncpg
import pytest

from openslot.platform.core.ids import new_id
from openslot.platform.core.migrate import BASELINE as BEGINNING
from openslot.platform.core.migrate import (
    FORMER_BEGINNING,
    LOCK_RETRIES,
    NO_TRANSACTION,
    choose_migrations,
    former_migrations,
    known_migrations,
    migrate,
    run_alone,
    split_statements,
)
from tests.support.databases import database_at
from tests.upgrades.long_locks import find_long_locks

# When a baseline is applied, nobody has a large table yet.
BASELINE = {name: sql for name, sql in known_migrations().items() if name.startswith(BEGINNING)}
FORMER_BASELINE = {name for name in former_migrations() if "_baseline_" in name}
# Migrations as later ones may look.
LATER = {
    "9000_note.sql": "alter table lanes add column note text; create table notes (id int primary key)",
    "9001_index.sql": f"""{NO_TRANSACTION}
        alter table lanes add column if not exists kind text default 'it''s; new';
        create index concurrently if not exists lanes_note on lanes (note);
        drop index concurrently if exists lanes_empty;
        do $$ begin update lanes set note = lane where note is null; commit; end $$;""",
}


@pytest.fixture
async def empty_url(postgres: str) -> AsyncIterator[str]:
    """A database with nothing in it."""
    name = f"empty_{new_id().hex}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"create database {name}")
    yield database_at(postgres, name)
    await connection.execute(f"drop database {name} with (force)")
    await connection.close()


async def cut_off_everywhere(url: str, known: Mapping[str, str]) -> None:
    """Migrate from nothing; each migration outside of a transaction is cut off after every one of its statements."""
    connection = await asyncpg.connect(url)
    try:
        for name, script in known.items():
            statements = split_statements(script) if script.startswith(NO_TRANSACTION) else []
            # A comment can always be made again, and one file makes hundreds.
            ends = [no for no, sql in enumerate(statements[:-1], 1) if not sql.startswith("comment on ")]
            for end in ends:
                for statement in statements[:end]:
                    await run_alone(connection, statement, LOCK_RETRIES)
            await migrate(url, {each: known[each] for each in known if each <= name})
    finally:
        await connection.close()


async def test_every_migration_outside_of_a_transaction_can_be_cut_off_anywhere(empty_url: str) -> None:
    known = {**choose_migrations({FORMER_BEGINNING}), **LATER}
    await cut_off_everywhere(empty_url, known)

    assert await migrate(empty_url, known_migrations() | LATER) == []


async def test_a_migration_that_can_not_be_repeated_is_noticed(empty_url: str) -> None:
    known = {
        "0001_a.sql": "create table a (id int)",
        "0002_b.sql": f"{NO_TRANSACTION}\nalter table a add column b int;\ncreate index concurrently i on a (b);",
    }

    with pytest.raises(asyncpg.DuplicateColumnError):
        await cut_off_everywhere(empty_url, known)


def test_the_baseline_comes_first_and_has_at_most_25_files() -> None:
    assert list(known_migrations())[: len(BASELINE)] == sorted(BASELINE)
    assert 0 < len(BASELINE) <= 25


def test_each_file_of_the_baseline_says_first_what_it_is_about() -> None:
    assert [name for name, sql in BASELINE.items() if not re.match(r"-- [A-Z][^\n]+\.\n\ncreate ", sql)] == []


def test_the_baseline_holds_no_alterations() -> None:
    """Columns, constraints and defaults are where the table is made; what only `alter` can say is the exception."""
    altered = [
        line for sql in BASELINE.values() for line in re.findall(r"^(?:alter|drop|update) .*", sql, re.MULTILINE)
    ]

    assert [line for line in altered if " set statistics " not in line and " set storage " not in line] == []


def test_no_migration_keeps_others_out_of_a_large_table() -> None:
    every = former_migrations() | known_migrations() | LATER
    later = {name: sql for name, sql in every.items() if name not in FORMER_BASELINE | BASELINE.keys()}
    found = {name: list(find_long_locks(sql)) for name, sql in later.items()}

    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "sql",
    [
        "create index a_b on a (b)",
        "create unique index if not exists a_b on only a using btree (b)",
        "create index concurrently on a (b)",
        "alter table a alter column b type bigint",
        "alter table a alter b set data type bigint",
        "alter table a alter column b set not null",
        "alter table a add column b uuid default gen_random_uuid()",
        "alter table a add column c int, add column b bigint generated always as identity",
        "alter table only a add constraint b check (c > 0)",
        "alter table a add foreign key (b) references c",
        "alter table a add constraint b unique (c)",
        "alter table a add primary key (c)",
        "alter table a set logged",
        "-- Tidy up.\nvacuum full a",
        "cluster a using b",
        "reindex table a",
    ],
)
def test_what_takes_as_long_as_the_table_is_large_is_noticed(sql: str) -> None:
    assert list(find_long_locks(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "create index concurrently if not exists a_b on a (b)",
        "create table a (b int primary key, c int unique check (c > 0)); create index a_c on a (c);",
        "create table a (b int); alter table a add constraint c unique (b), add check (b > 0)",
        "alter table a add column b int not null default 0, add column c timestamptz default now()",
        "alter table a add constraint b check (c > 0) not valid; alter table a validate constraint b",
        """alter table a add constraint b check (c is not null) not valid; alter table a validate constraint b;
        alter table a alter column c set not null; alter table a drop constraint b""",
        "alter table a add constraint b unique using index c",
        "alter table a drop constraint b, drop column c, rename column d to e",
        "reindex table concurrently a",
        "create trigger b after insert on a for each row execute function c()",
    ],
)
def test_what_takes_a_moment_is_no_fault(sql: str) -> None:
    assert list(find_long_locks(sql)) == []
