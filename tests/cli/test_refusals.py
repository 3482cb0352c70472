"""What can't be started ends with one clear sentence, a code and nothing left running."""

import json
import socket
from pathlib import Path

import asyncpg
import pytest

from openslot.platform.core.build import describe_version
from openslot.platform.core.secrets import ACCESS, KEY_FILE, RESTORE, read_key_file
from tests.cli import stub_postgres
from tests.cli.support import sentence
from tests.support.databases import EMPTY, database_at, new_database
from tests.support.installation import Installation, installed


@pytest.mark.daily
def test_a_port_in_use(empty: Installation) -> None:
    with socket.create_server(("127.0.0.1", empty.port)):
        said = sentence(empty, "serve")
    assert said == f"Port {empty.port} on 127.0.0.1 is in use; choose another with OPENSLOT_PORT."
    assert not empty.data_dir.exists()


def test_a_data_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with installed(tmp_path / "file" / "data") as installation:
        said = sentence(installation, "serve")
    assert said == f"The data directory {tmp_path}/file/data can't be written: Not a directory."


def test_a_secret_key_that_cannot_be_kept(tmp_path: Path, postgres: str) -> None:
    (tmp_path / "file").touch()
    with installed(tmp_path / "file" / "data", DATABASE_URL=postgres) as installation:
        said = sentence(installation, "web")
    begins = f"The secret key in {tmp_path}/file/data/secret.key can't be used: it can't be created (Not a directory). "
    assert said == begins + ACCESS


@pytest.mark.parametrize("command", ["serve", "web", "worker", "user list", "secret rotate"])
def test_a_secret_key_that_is_no_text(empty: Installation, postgres: str, command: str) -> None:
    empty.environment["DATABASE_URL"] = postgres
    empty.data_dir.mkdir(exist_ok=True)
    path = empty.data_dir / "secret.key"
    path.write_bytes(b"\xff\xfe\x00")

    said = sentence(empty, *command.split())
    assert said == f"The secret key in {path} can't be used: it is not UTF-8 text. {RESTORE}"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OPENSLOT_PORT", "http", "OPENSLOT_PORT is wrong: it must be a whole number from 0 to 65535."),
        ("DATABASE_URL", "postgresql://u:p@nowhere.invalid/db", "reached at postgresql://u:…@nowhere.invalid/db: "),
        ("DATABASE_URL", "postgresql://u:p@127.0.0.1:1/db", "reached at postgresql://u:…@127.0.0.1:1/db: "),
    ],
)
def test_a_setting_that_leads_nowhere(empty: Installation, name: str, value: str, words: str) -> None:
    empty.environment[name] = value
    assert words in sentence(empty, "serve")


@pytest.mark.parametrize("port", ["abc", "-1", "70000", "8.5"])
def test_an_option_is_refused_in_the_words_of_its_setting(empty: Installation, port: str) -> None:
    said = sentence(empty, "web", "--port", port)
    assert said == "OPENSLOT_PORT is wrong: it must be a whole number from 0 to 65535."


def test_a_key_that_is_too_short(empty: Installation, postgres: str) -> None:
    empty.environment.update(DATABASE_URL=postgres, OPENSLOT_SECRET_KEY="short")
    assert sentence(empty, "web") == "OPENSLOT_SECRET_KEY is wrong: each key needs 32 characters or more."


def test_a_database_that_does_not_exist(empty: Installation, postgres: str) -> None:
    empty.environment["DATABASE_URL"] = database_at(postgres, "nowhere")
    assert sentence(empty, "serve").endswith('database "nowhere" does not exist.')


def test_a_wrong_password(empty: Installation) -> None:
    with stub_postgres.listening(stub_postgres.wrong_password()) as url:
        empty.environment["DATABASE_URL"] = url
        said = sentence(empty, "serve")
    assert said.endswith('password authentication failed for user "somebody".')
    assert "open-sesame" not in said


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_server_that_is_too_old(empty: Installation, command: str) -> None:
    with stub_postgres.listening(stub_postgres.too_old()) as url:
        empty.environment["DATABASE_URL"] = url
        assert sentence(empty, command) == "PostgreSQL 15 or newer is needed; the database is version 9."


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize("command", [("serve",), ("user", "list")], ids=" ".join)
@pytest.mark.own_database
async def test_a_database_whose_migrations_were_others(
    empty: Installation, database_url: str, command: tuple[str, ...]
) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("update migrations set checksum = 'edited' where name = '0.2.0_01_core.sql'")
    await connection.close()
    empty.environment["DATABASE_URL"] = database_url
    read_key_file(empty.data_dir / KEY_FILE)
    assert sentence(empty, *command) == (
        "The migration 0.2.0_01_core.sql was changed after it had been applied. Restore the original file."
    )


async def test_a_database_where_nothing_may_be_made(empty: Installation, postgres: str) -> None:
    connection = await asyncpg.connect(postgres)
    await connection.execute("create role stranger login")
    try:
        await connection.execute("create database closed")
        empty.environment["DATABASE_URL"] = database_at(postgres, "closed").replace("postgres@", "stranger@")
        said = sentence(empty, "serve")
    finally:
        await connection.execute("drop database closed with (force)")
        await connection.execute("drop role stranger")
        await connection.close()
    assert said == "The database can't be migrated: permission denied for schema public."


OTHERS = [
    ("create table migrations (id serial, migration text, batch int)", "migrations"),
    ("create table a (id int); create table b (id int); create table c (id int); create table d (id int)", "a, b, c "),
]


@pytest.mark.parametrize("command", ["serve", "web", "worker", "migrate", "user list"])
@pytest.mark.parametrize(("made", "named"), OTHERS)
async def test_a_database_of_another_program(
    empty: Installation, postgres: str, command: str, made: str, named: str
) -> None:
    async with new_database(postgres, EMPTY) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(made)
        empty.environment["DATABASE_URL"] = url
        said = sentence(empty, *command.split())
        tables = await connection.fetchval("select count(*) from pg_tables where schemaname = 'public'")
        await connection.close()
    assert said.startswith(f"The database has tables of another program: {named}")
    assert said.endswith("name it in DATABASE_URL. Nothing was changed.")
    assert tables == made.count("create table")


@pytest.mark.parametrize("command", ["web", "worker"])
def test_a_process_says_in_one_line_what_it_is_and_what_nothing_reads(empty: Installation, command: str) -> None:
    nowhere = {"DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/db", "OPENSLOT_LOG_LEVEL": "info"}
    empty.environment.update(nowhere, OPENSLOT_PROT="1", OPENSLOT_SMPT_URL="x")
    _, _, err = empty.run(command)
    said = [json.loads(line) for line in err.splitlines() if line.startswith("{")]

    assert [(each["variable"], each["did_you_mean"]) for each in said if "variable" in each] == [
        ("OPENSLOT_PROT", "OPENSLOT_PORT"),
        ("OPENSLOT_SMPT_URL", "OPENSLOT_SMTP_URL"),
    ]
    (began,) = (each for each in said if each["event"] == f"{command} starts")
    assert (began["version"], began["database"]) == (describe_version(), "postgresql://u:…@127.0.0.1:1/db")


def test_a_refusal_names_what_is_wrong_with_each_field(home: Installation) -> None:
    code, _, err = home.run("user", "add", "no-address", "--name", "Nobody")
    assert code == 1
    assert err.startswith("openslot: ")
    assert "\n  email " in err
