"""`make audit` says that packages are clean only if somebody has looked them up."""

import json

import pytest

from scripts.audit import CLEAN, LOCKS, ROOT, UNKNOWN, UNREACHABLE, VULNERABLE, judge

GOOD = {"name": "good", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
UNFIXED = {"name": "worse", "version": "3.0", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]}
SKIPPED = {"name": "skipped", "skip_reason": "Dependency not found"}


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([GOOD], CLEAN, ["1 packages, no known vulnerability."]),
        ([GOOD, BAD], VULNERABLE, ["bad 2.0 has PYSEC-1; fixed in 2.1."]),
        ([GOOD, UNFIXED], VULNERABLE, ["worse 3.0 has PYSEC-2; fixed in no version yet."]),
        ([GOOD, SKIPPED], UNKNOWN, ["Not checked: skipped."]),
        ([BAD, SKIPPED], VULNERABLE, ["bad 2.0 has PYSEC-1; fixed in 2.1.", "Not checked: skipped."]),
        ([SKIPPED, SKIPPED], UNKNOWN, [UNREACHABLE]),
        ([], UNKNOWN, [UNREACHABLE]),
    ],
)
def test_verdict_says_what_was_found_and_what_was_not_looked_up(
    packages: list[object], code: int, said: list[str]
) -> None:
    assert judge(json.dumps({"dependencies": packages})) == (code, said)


@pytest.mark.parametrize("report", ["", "Traceback", "[]", "null", "{}"])
def test_a_report_that_is_none_is_no_clean_bill(report: str) -> None:
    assert judge(report) == (UNKNOWN, [UNREACHABLE])


def test_every_lock_file_is_audited() -> None:
    assert sorted(LOCKS) == sorted(path.name for path in (ROOT / "requirements").iterdir())
