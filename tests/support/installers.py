"""Programs that a script of ours installs into the environment of the tests."""

import fcntl
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"


def install(name: str) -> subprocess.CompletedProcess[str]:
    """Run `scripts/install-NAME`, one process at a time: the first installs, the others wait and find it done."""
    with (Path(sys.prefix) / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return subprocess.run(
            [SCRIPTS / f"install-{name}", sys.executable], capture_output=True, text=True, check=False
        )
