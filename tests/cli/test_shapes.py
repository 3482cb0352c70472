"""Which commands bring a database to this version's shape, and what the others say to one of another shape."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from typer.core import TyperGroup
from typer.main import get_command

from openslot.cli.commands import COMMANDS, GROUPS, app
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.ids import new_id
from openslot.platform.core.migrate import known_migrations
from openslot.platform.core.secrets import load_secrets
from tests.support.command_line import Run
from tests.support.databases import database_at

pytestmark = pytest.mark.own_database

MIGRATE = {"serve", "web", "worker", "migrate"}
NEED_NO_SHAPE = {"doctor", "backup create", "backup restore"}
NEED_NO_DATABASE = {"version", "events", "backup list", "secret rotate"}
NEWEST = list(known_migrations())[-1]
BEHIND = "delete from migrations where name = $1"
AHEAD = "insert into migrations (name, checksum) values ('9999_future.sql', '')"
# What the command line itself wants to know before it goes to the database.
ALSO = {
    "agent scopes": ["--default"],
    "calendar connect": ["--ics", "https://feed.example/calendar.ics"],
    "crm connect": ["--user", "mara@lindqvist.example", "--webhook", "https://crm.example/openslot"],
    "crm disconnect": ["--yes"],
    "key create": ["--user", "mara@lindqvist.example"],
    "key list": ["--user", "mara@lindqvist.example"],
    "key revoke": ["--user", "mara@lindqvist.example"],
    "effect retry": ["--all"],
    "messaging connect": ["--channel", "sms"],
    "messaging disconnect": ["--yes"],
    "organization delete": ["--yes"],
    "payment disconnect": ["--yes"],
    "payment refund": ["--yes"],
    "scim approve": ["--all"],
    "team delete": ["--yes"],
    "team event-type create": ["--duration", "30"],
    "scim reject": ["--all"],
    "secret reset": ["--yes"],
    "user delete": ["--yes"],
    "webhook replay": [str(new_id())],
}


# The framework keeps its own types of command and parameter to itself.
def commands() -> Iterator[tuple[str, Any]]:
    top = get_command(app)
    for name in (*COMMANDS, *GROUPS):
        found = top.get_command(None, name)  # type: ignore[attr-defined]
        yield from inner_commands(name, found)


def inner_commands(name: str, found: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(found, TyperGroup):
        yield name, found
        return
    for each, command in found.commands.items():
        yield from inner_commands(f"{name} {each}", command)


def value_of(parameter: Any) -> str:
    if parameter.name in {"plan", "decision", "role"}:
        return {"plan": "PRO", "decision": "cancel", "role": "owner"}[parameter.name]
    return "https://receiver.example/" if parameter.name == "url" else str(new_id())


def arguments(name: str, command: Any) -> list[str]:
    """Write a command with everything that it needs."""
    wanted = [parameter for parameter in command.params if parameter.required]
    given = [[value_of(one)] if one.param_type_name == "argument" else [one.opts[0], value_of(one)] for one in wanted]
    return [*name.split(), *(word for words in given for word in words), *ALSO.get(name, [])]


ON_THE_SHAPE = {
    name: arguments(name, command)
    for name, command in commands()
    if name not in MIGRATE | NEED_NO_SHAPE | NEED_NO_DATABASE
}


@pytest.fixture
def cli(settings: Settings, command_line: Run) -> Callable[..., int]:
    """Run a command, and return its exit code."""
    load_secrets(None, settings.data_dir, is_first=True)
    return lambda *words: command_line(*words).exit_code


def change(settings: Settings, sql: str, *args: object) -> None:
    async def do() -> None:
        connection = await asyncpg.connect(settings.database_url)
        await connection.execute(sql, *args)
        await connection.close()

    asyncio.run(do())


def applied(settings: Settings) -> set[str]:
    async def do() -> set[str]:
        connection = await asyncpg.connect(settings.database_url)
        rows = await connection.fetch("select name from migrations")
        await connection.close()
        return {row["name"] for row in rows}

    return asyncio.run(do())


def refused(cli: Any, words: list[str]) -> str | None:
    try:
        cli(*words)
    except StartupError as fault:
        return str(fault)
    return None


def test_all_commands_are_here() -> None:
    assert len(ON_THE_SHAPE) > 20
    assert {"seed", "explain", "user list", "webhook test"} <= set(ON_THE_SHAPE)


@pytest.mark.rest("runs many commands, each on a database of another shape")
def test_a_database_that_is_behind_is_neither_used_nor_migrated(cli: Any, settings: Settings) -> None:
    change(settings, BEHIND, NEWEST)
    before = applied(settings)

    said = {name: refused(cli, words) for name, words in ON_THE_SHAPE.items()}

    behind = "The database is behind this version of Openslot by 1 migration. Run `openslot migrate` first."
    assert said == dict.fromkeys(ON_THE_SHAPE, behind)
    assert applied(settings) == before


@pytest.mark.rest("starts processes or databases of its own")
def test_a_database_that_is_ahead_is_used_as_it_is(cli: Any, settings: Settings) -> None:
    change(settings, AHEAD)

    for words in ("seed", "user list", "key create --user mara@harbor.example", "effect list", "migrate"):
        assert cli(*words.split()) == 0
    assert "9999_future.sql" in applied(settings)


@pytest.mark.rest("runs many commands, each on a database of another shape")
def test_a_backup_is_made_of_a_database_that_is_behind_or_ahead(cli: Any, settings: Settings, tmp_path: Path) -> None:
    change(settings, AHEAD)
    assert cli("backup", "create", "--to", str(tmp_path / "ahead.tar")) == 0
    change(settings, BEHIND, NEWEST)
    assert cli("backup", "create", "--to", str(tmp_path / "behind.tar")) == 0
    assert NEWEST not in applied(settings)


@pytest.mark.rest("runs many commands, each on a database of another shape")
async def test_an_empty_database_is_filled_by_seed_and_by_nobody_else_who_is_asked(
    cli: Any, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"empty_{new_id().hex}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"create database {name}")
    monkeypatch.setenv("DATABASE_URL", database_at(postgres, name))
    try:
        with pytest.raises(StartupError, match=r"^The database is empty. Run `openslot migrate` first.$"):
            await asyncio.to_thread(cli, "user", "list")
        assert await asyncio.to_thread(cli, "seed") == 0
        assert await asyncio.to_thread(cli, "user", "list") == 0
    finally:
        await connection.execute(f"drop database {name} with (force)")
        await connection.close()
