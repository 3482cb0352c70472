"""The tests that know a long form, with it."""

import os
import subprocess
import sys
from pathlib import Path

from proofs.figures import Figure
from tests.support.parts import has_long_form

ROOT = Path(__file__).parent.parent


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Run every test module that does more with OPENSLOT_LONG; the short form is `make test-all`."""
    modules = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if has_long_form(path))
    wanted = {} if short else {"OPENSLOT_LONG": "1"}
    workers = str(2 * (os.cpu_count() or 1))
    command = [sys.executable, "-m", "pytest", "-q", "--processes", workers]
    command.append(f"--basetemp={place / 'pytest'}")
    done = subprocess.run([*command, *map(str, modules)], cwd=ROOT, env={**os.environ, **wanted}, check=False)
    return [Figure("test modules", len(modules)), Figure("exit code", done.returncode, at_most=0)]
