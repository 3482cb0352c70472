"""The systemd units are understood by systemd, and name only what exists."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from openslot.platform.core.config import Settings, environment_name

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
TIMERS = sorted((ROOT / "deploy/systemd").glob("*.timer"))
PROGRAM = "/opt/openslot/bin/openslot"
every_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)


def read_service(unit: Path) -> dict[str, str]:
    """Read what a unit says of its process."""
    parser = RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    return dict(parser["Service"])


@pytest.mark.parametrize("unit", [*UNITS, *TIMERS], ids=lambda unit: unit.name)
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_every_line(unit: Path, tmp_path: Path) -> None:
    installed = Path(sys.executable).with_name("openslot")
    for each in (*UNITS, *TIMERS):
        (tmp_path / each.name).write_text(each.read_text().replace(PROGRAM, str(installed)))

    verified = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / unit.name], capture_output=True, text=True, check=False
    )

    assert [line for line in verified.stderr.splitlines() if unit.name in line or str(tmp_path) in line] == []


@every_unit
def test_units_run_a_command_that_exists_with_settings_that_exist(unit: Path) -> None:
    service = read_service(unit)
    program, *words = service["ExecStart"].split()
    name, _, value = service["Environment"].partition("=")

    assert program == PROGRAM
    assert f"| `{' '.join(['openslot', *words])}" in (ROOT / "docs/commands.md").read_text("utf-8")
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


def test_the_newest_fourteen_backups_are_kept(tmp_path: Path) -> None:
    service = read_service(ROOT / "deploy/systemd/openslot-backup.service")
    (tmp_path / "backups").mkdir()
    for day in range(1, 17):
        file = tmp_path / f"backups/openslot-202611{day:02}T031500Z.tar"
        file.touch()
        os.utime(file, (day, day))

    subprocess.run(shlex.split(service["ExecStartPost"]), cwd=tmp_path, check=True)

    kept = sorted(path.name for path in (tmp_path / "backups").iterdir())
    assert kept == [f"openslot-202611{day:02}T031500Z.tar" for day in range(3, 17)]
    assert service["ExecStart"] == f"{PROGRAM} backup create"


def test_units_are_documented() -> None:
    page = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("install.md", "backups-and-upgrades.md"))

    assert [timer.stem for timer in TIMERS if f"enable --now {timer.name}" not in page] == []
    page = page.replace("openslot-backup.*", "openslot-backup.service")
    assert [unit.name for unit in UNITS if not re.search(rf"\b{unit.name}\b", page)] == []
    assert PROGRAM in page
