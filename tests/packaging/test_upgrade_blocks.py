"""Every way of installing has a block of commands to upgrade, and one that shows that it worked."""

import re
from pathlib import Path

import pytest

from openslot import __version__
from openslot.cli.commands import COMMANDS, GROUPS
from tests.packaging.support import blocks, section

ROOT = Path(__file__).parents[2]
WAYS = {
    "The wheel": "pipx install",
    "An environment with the locked packages": "/bin/pip install",
    "systemd": "systemctl start openslot",
    "A container": "podman run",
    "Compose": "docker compose up",
    "Kubernetes without the chart": "kubectl apply",
    "The chart": "helm upgrade",
    "A checkout": "make run",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_way_has_its_commands_and_those_that_show_that_it_worked(way: str) -> None:
    upgrade, _, seen = section(way).partition("How to see that it worked")
    (commands,), (checks,) = blocks(upgrade), blocks(seen)

    assert WAYS[way] in commands
    assert "backup" in upgrade
    assert f"--version # openslot {__version__} (the commit)" in " ".join(checks.split())
    assert "doctor # migrations: The database is up to date." in " ".join(checks.split())
    called = re.findall(
        r"\bopenslot (?:--data-dir \S+ )?([a-z]+)", re.sub(r"#.*|'.*?'|-n openslot ", "", commands + checks)
    )
    assert set(called) - {"openslot", "deploy"} <= {*COMMANDS, *GROUPS}


def test_no_way_is_left_out() -> None:
    page = (ROOT / "docs/backups-and-upgrades.md").read_text("utf-8").partition("\n## Upgrade\n")[2]

    assert re.findall(r"^### (.+)$", page, re.MULTILINE) == [*WAYS, "Without downtime"]
