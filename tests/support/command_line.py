"""The command line in the test's own process, on the test's database."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from openslot.cli.commands import app
from openslot.platform.core.config import Settings

Run = Callable[..., Result]
Cli = Callable[..., Any]


@pytest.fixture
def command_line(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command of the test's installation, and return its output and exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", settings.database_url or "")
    monkeypatch.setenv("OPENSLOT_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("OPENSLOT_LOG_LEVEL", "error")
    monkeypatch.setenv("OPENSLOT_OUTBOUND_ALLOW", ",".join(str(each) for each in settings.outbound_allow))

    def run(*arguments: str, typed: str = "") -> Result:
        result = CliRunner().invoke(app, arguments, input=typed)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def cli(command_line: Run) -> Cli:
    """Run a command that must succeed, and return what it prints, decoded where it prints JSON."""

    def run(*arguments: str, typed: str = "") -> Any:
        result = command_line(*arguments, typed=typed)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    return run
