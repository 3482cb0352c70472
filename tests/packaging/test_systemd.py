"""The systemd units are understood by systemd, and name only what exists."""

import re
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from openslot.cli.commands import COMMANDS
from openslot.core.config import Settings, environment_name

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
PROGRAM = "/opt/openslot/bin/openslot"
every_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)


def read_service(unit: Path) -> dict[str, str]:
    """Read what a unit says of its process."""
    parser = RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    return dict(parser["Service"])


@every_unit
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_every_line(unit: Path, tmp_path: Path) -> None:
    installed = Path(sys.executable).with_name("openslot")
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace(PROGRAM, str(installed)))

    verified = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)

    assert [line for line in verified.stderr.splitlines() if unit.name in line or str(tmp_path) in line] == []


@every_unit
def test_units_run_a_command_that_exists_with_settings_that_exist(unit: Path) -> None:
    service = read_service(unit)
    program, command = service["ExecStart"].split()
    name, _, value = service["Environment"].partition("=")

    assert program == PROGRAM
    assert command in COMMANDS
    assert name in {environment_name(field) for field in Settings.__struct_fields__}
    assert value == service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"


@every_unit
def test_units_are_hardened(unit: Path) -> None:
    service = read_service(unit)

    assert service["User"] == "openslot"
    assert service["ProtectSystem"] == "strict"
    assert service["NoNewPrivileges"] == "yes"
    assert service["CapabilityBoundingSet"] == ""
    assert service["SystemCallFilter"] == "@system-service"


def test_supervisor_has_time_to_stop_its_processes_in_order() -> None:
    service = read_service(ROOT / "deploy/systemd/openslot.service")

    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > 60


def test_units_are_documented() -> None:
    page = (ROOT / "docs/install.md").read_text("utf-8")

    assert [unit.name for unit in UNITS if not re.search(rf"\b{unit.name}\b", page)] == []
    assert PROGRAM in page
