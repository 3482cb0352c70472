"""Repositories of git that tests make."""

import subprocess
from pathlib import Path


def track(root: Path) -> None:
    """Have git track all that is below a directory, even what is usually ignored."""
    for command in (["init", "-q"], ["add", "-A", "-f"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
