"""The order of tests: what takes longest begins first, so that no process is left with it in the end."""

import pytest

# By how long their slowest test takes, measured on two cores.
LONGEST = (
    # Installs programs, if there are none.
    "tests/agents/test_mcp_peers.py",
    "tests/journeys/",
    "tests/cli/test_secret.py",
    "tests/cli/test_serve.py",
    "tests/cli/test_restore_beside_others.py",
    "tests/hostile/test_full_disk.py",
    "tests/contracts/test_openapi.py",
    "tests/http/test_golden.py",
    "tests/bookings/test_pairs.py",
    "tests/contacts/test_killed_imports.py",
    "tests/jobs/test_killed_workers.py",
    "tests/hostile/test_hanging_process.py",
    "tests/availability/test_against_oracle.py",
    "tests/web/",
    "tests/cli/",
    "tests/webhooks/test_holding_up.py",
    "tests/hostile/",
    "tests/integrations/calendars/",
    "tests/bookings/",
)


def put_longest_first(items: list[pytest.Item]) -> None:
    """Sort tests in place; those that take as long as each other keep their order."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(name: str) -> int:
    return next((number for number, path in enumerate(LONGEST) if name.startswith(path)), len(LONGEST))
