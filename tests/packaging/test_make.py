"""`make run` says each step, and `make image` gives the engine what it needs; the programs that they call are stubs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from openslot import __version__
from openslot.platform.core.build import ask_git
from tests.packaging.support import write_stub

ROOT = Path(__file__).parents[2]


def make(*arguments: str, path: str = os.environ["PATH"]) -> list[str]:
    """Run `make` to its end, and return the lines that it printed."""
    environ = {"PATH": path, "HOME": os.environ.get("HOME", "/")}
    command = ["make", "--no-print-directory", "--directory", str(ROOT), *arguments]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_make_run_says_its_three_steps_and_later_only_that_it_starts(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    for name in ("python", "uv"):
        write_stub(venv / "bin" / name, "exit 0")
    write_stub(venv / "bin/openslot", 'echo "openslot $*"')
    call = ["run", f"VENV={venv}", "PYTHON=/bin/true"]
    start = ["Starting openslot serve --demo; everything it stores is in ./data", "openslot serve --demo"]

    assert make(*call) == [
        f"Making {venv}",
        f"Installing the packages that Openslot needs into {venv}",
        *start,
    ]
    assert make(*call) == start


@pytest.mark.parametrize(("engine", "formatted"), [("podman", ["--format", "docker"]), ("docker", [])])
def test_an_image_is_built_in_the_format_that_keeps_the_health_check(
    tmp_path: Path, engine: str, formatted: list[str]
) -> None:
    write_stub(tmp_path / engine, 'printf "%s\\n" "$@"')
    for name in ("make", "git", "sed", "nproc"):
        if program := shutil.which(name):
            (tmp_path / name).symlink_to(program)
    words = make("image", path=str(tmp_path))

    assert words == [
        "build",
        *formatted,
        "--file",
        "Containerfile",
        "--build-arg",
        f"COMMIT={ask_git(ROOT) or ''}",
        "--tag",
        f"openslot:{__version__}",
        ".",
    ]
