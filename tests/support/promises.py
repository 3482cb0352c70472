"""Which tests hold promises: all that "Check it yourself" names, and more. One that fails is never tried again."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Whatever the page says about a test is true only if that passes at once.
PAGE = ROOT / "docs/check-it-yourself.md"
NAMED = frozenset(re.findall(r"\btests/[\w/]*\w(?:\.py)?", PAGE.read_text("utf-8")))
# Every test that drives a browser asks for it. On a busy machine a page may come too late, which breaks no promise.
BROWSER = "chromium"
# More files, which the page does not name or whose tests drive a browser too.
PROMISES = (
    # Attacks, and servers that misbehave
    "tests/hostile/*",
    "*/test_*hostile*.py",
    "*/test_safety.py",
    "tests/doors/web/all_routes/*",
    "tests/platform/core/test_outbound_*.py",
    "tests/doors/http/test_edge.py",
    # Races
    "*/test_*races.py",
    "*/test_*at_once.py",
    "*/test_*beside_others.py",
    "tests/domains/wait_list/test_lives.py",
    "tests/doors/web/event_types/test_two_tabs.py",
    # Crashes and lost connections
    "tests/journeys/*",
    "*/test_killed_*.py",
    "tests/proofs/test_clusters.py",
    "tests/proofs/test_parts.py",
    "tests/platform/core/test_outages.py",
    "tests/platform/jobs/test_lost_database.py",
    "tests/platform/jobs/test_older_workers.py",
    # Oracles, mutants and other computed answers
    "tests/contracts/*",
    "tests/domains/availability/*",
    "tests/domains/analytics/test_daily_figures.py",
    "tests/domains/bookings/test_far_dates.py",
    "tests/domains/bookings/test_state_machine.py",
    "tests/domains/payments/test_state_machine.py",
    "tests/domains/payments/test_mutants.py",
    "tests/domains/payments/test_rules.py",
    "tests/domains/calendars/test_drawn_calendars.py",
    "tests/domains/calendars/test_longer_events.py",
    "tests/domains/calendars/test_recurrence.py",
    "tests/domains/teams/test_choice.py",
    "tests/domains/teams/test_ledger_model.py",
    "tests/doors/http/test_golden.py",
)


def is_named(path: str) -> bool:
    """Tell whether the page names a file of tests, or a folder that it is in."""
    return any(str(each) in NAMED for each in (Path(path), *Path(path).parents))


def is_promise(path: str, *, in_browser: bool = False) -> bool:
    """Tell whether the tests of a file hold promises; those that drive a browser do only where a pattern says so."""
    return (is_named(path) and not in_browser) or any(fnmatch(path, pattern) for pattern in PROMISES)


def mark_promises(items: list[pytest.Item]) -> None:
    """Mark the tests of these files."""
    for item in items:
        in_browser = BROWSER in getattr(item, "fixturenames", ())
        if is_promise(item.nodeid.partition("::")[0], in_browser=in_browser):
            item.add_marker(pytest.mark.promise)
