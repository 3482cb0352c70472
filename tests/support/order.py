"""The order of tests: what takes longest begins first, so that no process is left with it in the end."""

import pytest

# By how long a file's tests take, measured on two cores: a process takes all tests of a file.
LONGEST = (
    # Installs programs, if there are none.
    "tests/doors/agents/test_mcp_peers.py",
    "tests/doors/public_tools/test_mcp_peers.py",
    "tests/contracts/test_generated_clients.py",
    "tests/packaging/test_engine.py",
    "tests/packaging/test_upgrade_from_release.py",
    "tests/packaging/test_helm.py",
    "tests/proofs/",
    "tests/packaging/test_wheel.py",
    "tests/journeys/",
    "tests/cli/test_serve.py",
    "tests/contracts/test_openapi.py",
    "tests/domains/bookings/test_pairs.py",
    "tests/domains/payments/test_state_machine.py",
    "tests/cli/test_restore_beside_others.py",
    "tests/cli/test_secret.py",
    "tests/platform/jobs/test_killed_workers.py",
    "tests/doors/web/",
    "tests/cli/",
    "tests/hostile/",
    "tests/domains/webhooks/test_holding_up.py",
    "tests/domains/contacts/test_killed_imports.py",
    "tests/domains/contacts/test_added_field.py",
    "tests/doors/scim/test_brake.py",
    "tests/doors/scim/test_conformance.py",
    "tests/doors/agents/test_table.py",
    "tests/domains/calendars/",
    "tests/domains/bookings/",
)


def put_longest_first(items: list[pytest.Item]) -> None:
    """Sort tests in place; those that take as long as each other keep their order."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(name: str) -> int:
    return next((number for number, path in enumerate(LONGEST) if name.startswith(path)), len(LONGEST))
