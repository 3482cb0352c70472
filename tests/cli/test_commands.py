"""Every command explains itself, every listing speaks JSON, and people's names are printed as they are."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from openslot.cli.commands import COMMANDS, GROUPS, app
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.effects import plan_effect
from openslot.platform.core.errors import StartupError
from openslot.platform.core.events import make_each
from openslot.platform.core.secrets import KEY_FILE, read_key_file
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.support.some import some_cases


def every_command() -> Iterator[tuple[str, ...]]:
    """Name all commands, groups included."""
    top = get_command(app)
    for name in (*COMMANDS, *GROUPS):
        yield (name,)
        found = top.get_command(None, name)  # type: ignore[attr-defined]
        if isinstance(found, TyperGroup):
            yield from ((name, inner) for inner in found.commands)


@pytest.mark.parametrize(
    "command", some_cases(["", *map(" ".join, every_command())], daily=24, why="explains another command")
)
def test_each_command_explains_itself(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert "Usage: openslot" in result.stdout.replace("root", "openslot")
    assert "!" not in result.stdout


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["servee"], "No such command 'servee'. Did you mean 'serve'?"),
        (["bakup", "create"], "No such command 'bakup'. Did you mean 'backup'?"),
        (["zzz"], "No such command 'zzz'."),
    ],
)
def test_a_command_that_is_mistyped_is_told_what_was_meant(typed: list[str], told: str) -> None:
    result = CliRunner().invoke(app, typed)

    assert result.exit_code == 2
    assert told in " ".join(result.output.replace("│", " ").split())


def test_each_listing_speaks_json(cli: Any, user: User) -> None:
    assert [one["email"] for one in cli("user", "list", "--json")["users"]] == [user.email]
    made = cli("key", "create", "--user", user.email, "--json")
    (listed,) = cli("key", "list", "--user", user.email, "--json")["keys"]
    assert (listed["id"], listed["active"]) == (made["id"], True)
    assert cli("key", "revoke", made["id"], "--user", user.email, "--json") == {"revoked": made["id"]}
    assert cli("backup", "list", "--json") == {"backups": []}
    assert cli("effect", "list", "--json") == {"effects": []}
    assert cli("effect", "retry", "--all", "--json") == {"revived": 0, "skipped": 0, "left": 0, "reasons": {}}
    assert cli("migrate", "--json") == {"applied": []}
    assert {event["event"] for event in cli("events", "--json")["events"]} >= {"user.added"}
    assert set(cli("version", "--json")) == {"openslot", "commit", "python"}


async def test_a_planned_effect_is_listed_with_its_key_and_when_it_is_due(cli: Any, runtime: Runtime) -> None:
    due_at = datetime(2040, 3, 16, 7, 0, tzinfo=UTC)
    await make_each(runtime.pool, [plan_effect("mail.remind", "booking 7", due_at=due_at, now=runtime.clock())])

    (listed,) = (await asyncio.to_thread(cli, "effect", "list", "--json"))["effects"]
    assert (listed["reaction"], listed["key"], listed["target"], listed["state"]) == (
        "mail.remind",
        "booking 7",
        None,
        "queued",
    )
    assert listed["nextTryAt"] == "2040-03-16T07:00:00Z"
    shown = await asyncio.to_thread(cli, "effect", "list", "--state", "queued")
    assert "booking 7" in shown
    assert "2040-03-16T07:00:00" in shown


def test_past_the_last_page_the_total_is_still_told(cli: Any, user: User, admin: User) -> None:
    assert cli("user", "list", "--page", "9", "--json") == {"users": [], "total": 2}
    assert cli("user", "list", "--page", "9") == "Page 9 is empty; there are 2 accounts.\n"
    assert cli("user", "list", "--search", "MARA", "--page", "2", "--limit", "1", "--json") == {"users": [], "total": 1}
    assert cli("user", "list", "--search", admin.name, "--json")["total"] == 1
    assert cli("user", "list", "--search", "nobody", "--json") == {"users": [], "total": 0}
    assert cli("user", "list", "--search", "nobody") == "No accounts found.\n"


def test_names_are_printed_as_they_are_and_never_cut(cli: Any) -> None:
    name = "[bold]Ada[/nothing] " + "of the very long name " * 3
    cli("user", "add", "ada@example.com", "--name", name.strip())
    assert name.strip() in cli("user", "list")


def test_an_account_goes_through_its_life(cli: Any, user: User) -> None:
    cli("user", "add", "ada@example.com", "--name", "Ada", "--admin")
    assert cli("user", "plan", user.email, "BUSINESS", "--json")["plan"] == "BUSINESS"
    assert cli("user", "clear-plan", user.email, "--json")["plan"] == "FREE"
    assert cli("user", "disable", user.email, "--json")["disabled"] is True
    assert cli("user", "enable", user.email, "--json")["disabled"] is False
    assert cli("user", "admin", user.email, "--json")["admin"] is True
    assert len(cli("user", "password", user.email, "--json")["password"]) == 20
    assert cli("user", "reset-two-factor", user.email, "--json") == {"email": user.email, "wasOn": False}
    assert "was not on" in cli("user", "reset-two-factor", user.email)


def test_the_second_factor_of_someone_who_lost_everything_is_turned_off(
    cli: Any, settings: Settings, user: User
) -> None:
    asyncio.run(_confirm_an_app(settings, user))
    assert cli("user", "reset-two-factor", user.email, "--json") == {"email": user.email, "wasOn": True}
    assert cli("user", "reset-two-factor", user.email, "--json") == {"email": user.email, "wasOn": False}


async def _confirm_an_app(settings: Settings, user: User) -> None:
    async with open_runtime(settings) as runtime:
        await runtime.pool.execute(
            """insert into authenticators (id, user_id, secret, created_at, confirmed_at)
            values ($1, $1, 'sealed', now(), now())""",
            user.id,
        )


def test_a_new_key_is_put_in_front_and_the_old_one_stays(cli: Any, settings: Settings) -> None:
    key_file = settings.data_dir / KEY_FILE
    aside = key_file.rename(key_file.with_name("aside"))
    with pytest.raises(StartupError, match="the first start creates one"):
        cli("secret", "rotate")
    aside.rename(key_file)
    before = read_key_file(key_file)
    assert cli("secret", "rotate", "--json")["keys"] == 2
    assert read_key_file(key_file)[1:] == before


def test_a_key_in_the_environment_is_not_rotated_here(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENSLOT_SECRET_KEY", "x" * 40)
    with pytest.raises(StartupError, match="prepend the new key there"):
        cli("secret", "rotate")
