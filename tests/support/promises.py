"""Which tests hold promises: of races, crashes, wrong code and attacks. One that fails is never tried again."""

from fnmatch import fnmatch

import pytest

PROMISES = (
    # Attacks, and servers that misbehave
    "tests/hostile/*",
    "*/test_*hostile*.py",
    "*/test_safety.py",
    "tests/core/test_outbound_*.py",
    "tests/http/test_edge.py",
    "tests/webhooks/test_holding_up.py",
    "tests/agents/test_fuzz.py",
    "tests/scim/test_isolation.py",
    # Races
    "*/test_*races.py",
    "*/test_*at_once.py",
    "*/test_*beside_others.py",
    "tests/bookings/test_guards.py",
    "tests/bookings/test_pairs.py",
    "tests/bookings/test_team_pairs.py",
    "tests/payments/test_pairs.py",
    "tests/wait_list/test_lives.py",
    "tests/access/test_key_limit.py",
    "tests/web/event_types/test_two_tabs.py",
    # Crashes and lost connections
    "tests/journeys/*",
    "*/test_killed_*.py",
    "tests/proofs/test_clusters.py",
    "tests/core/test_outages.py",
    "tests/jobs/test_lost_database.py",
    "tests/jobs/test_taking.py",
    "tests/jobs/test_older_workers.py",
    # Oracles, mutants and other computed answers
    "tests/contracts/*",
    "tests/availability/*",
    "tests/analytics/test_daily_figures.py",
    "tests/bookings/test_far_dates.py",
    "tests/bookings/test_state_machine.py",
    "tests/payments/test_state_machine.py",
    "tests/payments/test_mutants.py",
    "tests/payments/test_rules.py",
    "tests/integrations/calendars/test_drawn_calendars.py",
    "tests/integrations/calendars/test_longer_events.py",
    "tests/integrations/calendars/test_recurrence.py",
    "tests/scim/test_searching.py",
    "tests/teams/test_choice.py",
    "tests/teams/test_fairness.py",
    "tests/teams/test_ledger_lives.py",
    "tests/teams/test_ledger_model.py",
    "tests/webhooks/test_answers.py",
    "tests/http/test_golden.py",
    "tests/upgrades/*",
)


def mark_promises(items: list[pytest.Item]) -> None:
    """Mark the tests of these files."""
    for item in items:
        if any(fnmatch(item.nodeid.partition("::")[0], pattern) for pattern in PROMISES):
            item.add_marker(pytest.mark.promise)
