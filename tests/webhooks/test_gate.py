"""The gate: one endpoint never takes the places of others, and whoever is turned away comes again in turn."""

from datetime import UTC, datetime, timedelta

from openslot.core.ids import new_id
from openslot.webhooks.gate import AT_ONCE, AT_ONCE_FOR_ONE_OWNER, LONGEST_LINE, Gate

NOW = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)
QUICK, SLOW = timedelta(milliseconds=20), timedelta(seconds=15)


def test_so_many_go_in_and_the_next_is_told_to_wait() -> None:
    gate, endpoint, owner = Gate(), new_id(), new_id()

    assert [gate.enter(endpoint, owner, now=NOW) for _ in range(AT_ONCE)] == [None] * AT_ONCE
    assert gate.enter(endpoint, owner, now=NOW) is not None
    gate.leave(endpoint, owner)
    assert gate.enter(endpoint, owner, now=NOW) is None


def test_a_full_endpoint_leaves_others_alone() -> None:
    gate, full, owner = Gate(), new_id(), new_id()
    for _ in range(AT_ONCE + 5):
        gate.enter(full, owner, now=NOW)

    assert gate.enter(new_id(), owner, now=NOW) is None
    assert gate.enter(new_id(), new_id(), now=NOW) is None


def test_all_endpoints_of_one_owner_together_have_their_limit() -> None:
    gate, owner = Gate(), new_id()
    inside = sum(gate.enter(new_id(), owner, now=NOW) is None for _ in range(50))

    assert inside == AT_ONCE_FOR_ONE_OWNER
    assert gate.enter(new_id(), new_id(), now=NOW) is None


def test_while_an_endpoint_fails_one_at_a_time_tries_it() -> None:
    gate, endpoint, owner = Gate(), new_id(), new_id()
    gate.enter(endpoint, owner, now=NOW)
    gate.learn(endpoint, took=SLOW, failed=True)
    gate.leave(endpoint, owner)

    assert gate.enter(endpoint, owner, now=NOW) is None
    assert gate.enter(endpoint, owner, now=NOW) is not None
    gate.learn(endpoint, took=QUICK, failed=False)
    assert gate.enter(endpoint, owner, now=NOW) is None


def test_those_who_wait_come_one_after_the_other_and_within_a_minute() -> None:
    gate, endpoint, owner = Gate(), new_id(), new_id()
    for _ in range(AT_ONCE):
        gate.enter(endpoint, owner, now=NOW)
    waits = [gate.enter(endpoint, owner, now=NOW) for _ in range(5_000)]

    told = [wait for wait in waits if wait is not None]
    assert len(told) == 5_000
    assert told[:3] == sorted(told[:3])
    assert max(told) <= LONGEST_LINE
    assert max(told) > LONGEST_LINE / 2


def test_nothing_is_remembered_of_owners_who_are_gone() -> None:
    gate = Gate()
    for _ in range(100):
        endpoint, owner = new_id(), new_id()
        gate.enter(endpoint, owner, now=NOW)
        gate.leave(endpoint, owner)

    assert gate._owners == {}
