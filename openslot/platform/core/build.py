"""What this program was built from: its version, and the commit where it is known."""

import subprocess
from functools import cache
from pathlib import Path

from openslot import __version__

PACKAGE = Path(__file__).parents[2]
WRITTEN = "COMMIT"
"""A file of the package, which a build writes (`scripts/write_commit.py`)."""
ANSWERS_WITHIN = 3.0
"""Seconds."""


# benchmarks/caches.py: tell the version, for which git is asked, 1,000 times
@cache
def describe_version() -> str:
    """Return the version with its commit, as this process has found it first: `0.2.0 (8d2b3c1f5a07)`."""
    commit = find_commit()
    return __version__ if commit is None else f"{__version__} ({commit})"


def find_commit(package: Path = PACKAGE) -> str | None:
    """Return the commit that a build has written down, or that is checked out; None if neither is there."""
    try:
        return (package / WRITTEN).read_text("utf-8").strip() or None
    except FileNotFoundError:
        return ask_git(package.parent) if (package.parent / ".git").exists() else None


def ask_git(root: Path) -> str | None:
    """Return the commit that is checked out in a directory; None if git does not tell."""
    command = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWERS_WITHIN)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
