"""What is documented about upgrades, the wheel that is built, and programs that only say how they were called."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def section(way: str) -> str:
    page = (ROOT / "docs/backups-and-upgrades.md").read_text("utf-8").partition("\n## Upgrade\n")[2]
    return page.partition(f"\n### {way}\n")[2].partition("\n### ")[0]


def blocks(text: str) -> list[str]:
    return re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


NOT_OURS = ("OPENSLOT_", "DATABASE_URL", "PG", "PYTHON", "VIRTUAL_ENV")


def build_wheel(place: Path, *, commit: str = "") -> Path:
    environ = {**os.environ, "COMMIT": commit}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, env=environ, check=True)
    (built,) = place.iterdir()
    return built


def write_stub(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
