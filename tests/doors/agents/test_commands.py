"""The operator's terminal: agents, their levels and scopes, their keys, and the audit trail."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from openslot.cli.commands import app
from openslot.doors.agents.audit import operations as audit
from openslot.doors.agents.roster import ROSTER
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.doors.agents.support import record


class Terminal:
    """Runs commands on a database of the test's own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def run(self, words: str, *, fails: bool = False) -> Any:
        """Run a command and read its JSON."""
        result = CliRunner().invoke(app, [*words.split(), "--json"])
        assert (result.exit_code != 0) is fails, result.output
        return json.loads(result.stdout) if result.stdout else result.exception

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Ask the database."""

        async def ask() -> list[tuple[Any, ...]]:
            async with open_runtime(self.settings) as runtime:
                return [tuple(row.values()) for row in await runtime.pool.fetch(statement)]

        return asyncio.run(ask())

    def keep(self, count: int) -> None:
        """Keep so many audit records."""

        async def do() -> None:
            async with open_runtime(self.settings) as runtime:
                await keep_all(runtime, count)

        asyncio.run(do())


async def keep_all(runtime: Runtime, count: int) -> None:
    """Keep so many records, one by one."""
    for no in range(count):
        await audit.keep_record(runtime, record(f"tool_{no + 1}"))


@pytest.fixture
def terminal(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Terminal:
    """A terminal on a database of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", settings.database_url or "")
    monkeypatch.setenv("OPENSLOT_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("OPENSLOT_LOG_LEVEL", "error")
    return Terminal(settings)


def test_the_agents_are_listed_and_shown(terminal: Terminal) -> None:
    listed = terminal.run("agent list")["agents"]
    shown = terminal.run("agent show support")

    assert {each["agent"] for each in listed} == ROSTER.keys()
    assert shown in listed
    assert (shown["autonomyLevel"], shown["emailLevel"], shown["activeKeys"]) == ("L1", "L1", 0)
    assert shown["scopes"] == sorted(ROSTER["support"].scopes)
    assert "No agent has this name" in str(terminal.run("agent show nobody", fails=True))


def test_a_level_is_changed_once_and_recorded(terminal: Terminal) -> None:
    raised = terminal.run("agent level growth L1")
    terminal.run("agent level growth l1")

    assert raised["autonomyLevel"] == "L1"
    assert terminal.query("select type, fact->>'agent', fact->>'after', actor->>'kind' from events") == [
        ("agent.level_changed", "growth", "1", "operator")
    ]
    assert "must be one of L0, L1" in str(terminal.run("agent level growth L2", fails=True).details)


def test_scopes_change_with_the_active_keys_and_are_recorded(terminal: Terminal) -> None:
    old = terminal.run("key create --agent seo")
    terminal.run(f"key revoke {old['id']} --agent seo")
    terminal.run("key create --agent seo")
    changed = terminal.run("agent scopes seo flags:write audit:read")
    kept = terminal.query("select scopes from agent_keys order by revoked_at is null")

    assert changed["scopes"] == ["audit:read", "flags:write"]
    assert kept == [(sorted(ROSTER["seo"].scopes),), (["audit:read", "flags:write"],)]
    assert terminal.query("select type from events") == [("agent.scopes_changed",)]
    assert terminal.run("agent scopes seo --default")["scopes"] == sorted(ROSTER["seo"].scopes)
    assert "nope" in str(terminal.run("agent scopes seo nope:read", fails=True).details)
    assert terminal.run("agent scopes seo", fails=True) is not None


def test_a_rotated_key_is_valid_for_a_time(terminal: Terminal) -> None:
    old = terminal.run("key create --agent cto --name laptop")
    new = terminal.run(f"key rotate {old['id']} --agent cto --hours 2")

    assert new["key"].startswith("svc_agent_cto_")
    assert (new["name"], new["expiresAt"]) == ("laptop", None)
    assert terminal.query("select expires_at between now() + interval '1 hour' and now() + interval '2 hours' "
                          "from agent_keys where expires_at is not null") == [(True,)]  # fmt: skip
    assert terminal.query("select scopes <> '{}' from agent_keys") == [(True,), (True,)]
    assert terminal.run(f"key rotate {old['id']} --agent seo", fails=True) is not None


def test_calls_are_listed_and_verified(terminal: Terminal) -> None:
    terminal.keep(3)
    listed = terminal.run("audit list --tool tool_2")["records"]
    verified = terminal.run("audit verify")

    assert [each["tool"] for each in listed] == ["tool_2"]
    assert (verified["records"], verified["intact"], verified["faults"]) == (3, True, [])
    assert terminal.run(f"audit verify --noted 3:{verified['end']}")["intact"]
    assert "must be RECORDS:END" in str(terminal.run("audit verify --noted x", fails=True).details)


def test_verify_names_what_was_changed_and_fails(terminal: Terminal) -> None:
    terminal.keep(3)
    terminal.query("update agent_calls set agent = 'cto' where no = 2 returning no")
    verified = terminal.run("audit verify", fails=True)

    assert verified["intact"] is False
    assert [each["no"] for each in verified["faults"]] == [2]
