"""When a failed effect is tried again."""

from datetime import timedelta

import pytest

from openslot.platform.jobs.places import hand_over_delay, next_delay

DELAYS = (timedelta(seconds=5), timedelta(minutes=5))


def no_spread(_low: float, _high: float) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("attempts", "expected"), [(1, timedelta(seconds=5)), (2, timedelta(minutes=5)), (3, None), (9, None)]
)
def test_the_schedule_is_followed_and_ends(attempts: int, expected: timedelta | None) -> None:
    assert next_delay(DELAYS, attempts, spread=no_spread) == expected


def test_delays_are_spread_by_a_tenth_either_way() -> None:
    found = {next_delay(DELAYS, 2) for _ in range(200)}

    assert len(found) > 100
    assert all(timedelta(minutes=4.5) <= delay <= timedelta(minutes=5.5) for delay in found if delay)


@pytest.mark.parametrize(
    ("wished", "expected"),
    [
        (timedelta(seconds=1), timedelta(seconds=5)),
        (timedelta(hours=2), timedelta(hours=2)),
        (timedelta(days=9), timedelta(hours=24)),
    ],
)
def test_a_wish_of_the_other_side_lengthens_the_wait_up_to_a_day(wished: timedelta, expected: timedelta) -> None:
    assert next_delay(DELAYS, 1, wished=wished, spread=no_spread) == expected


def test_a_wish_gives_no_try_beyond_the_last() -> None:
    assert next_delay(DELAYS, 3, wished=timedelta(hours=1)) is None


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(), timedelta(seconds=5)),
        (timedelta(seconds=20), timedelta(seconds=5)),
        (timedelta(seconds=60), timedelta(seconds=15)),
        (timedelta(days=40), timedelta(seconds=30)),
    ],
)
def test_who_waits_for_a_newer_worker_is_looked_at_every_few_seconds(age: timedelta, expected: timedelta) -> None:
    assert hand_over_delay(age, spread=no_spread) == expected


def test_those_who_wait_for_a_newer_worker_do_not_all_come_at_once() -> None:
    assert len({hand_over_delay(timedelta(hours=1)) for _ in range(200)}) > 100
