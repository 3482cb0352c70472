"""A field of contacts is declared in one place: a copy of the package with one more has it everywhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.rest("tries a changed copy of the package")

ROOT = Path(__file__).parents[3]
RULES = "tests/domains/contacts/added_field.py"
BEFORE = "    notes: Annotated["
DECLARED = """    job_title: Annotated[
        str | None,
        ContactField(
            kind=LINE,
            label=Text("Job title"),
            example="Head of design",
            in_bookings=True,
            crm_property="jobtitle",
            other_names="position",
        ),
    ] = None
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its tests, in which contacts have a job title."""
    for name in ("openslot", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    models = tmp_path / "openslot/domains/contacts/models.py"
    before, found, after = models.read_text().partition(BEFORE)
    assert found
    models.write_text(f"{before}{DECLARED}{found}{after}")
    migration = tmp_path / "openslot/platform/migrations/9000_job_title.sql"
    migration.write_text("alter table contacts add column job_title text;")
    return tmp_path


def test_a_declared_field_is_everywhere(copy: Path) -> None:
    command = [sys.executable, "-m", "pytest", RULES]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=600, check=False)

    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "9 passed" in done.stdout
