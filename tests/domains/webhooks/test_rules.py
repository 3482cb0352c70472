"""Decisions: what an answer means, and what a wish to be left alone says."""

from datetime import UTC, datetime, timedelta

import pytest

from openslot.domains.webhooks.rules import DELAYS, describe_failure, is_hopeless, is_taken, read_retry_after

NOW = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)


def test_ten_tries_take_75_hours_and_35_minutes() -> None:
    assert len(DELAYS) + 1 == 10
    assert sum(DELAYS, timedelta()) == timedelta(hours=75, minutes=35, seconds=5)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_taken(status: int) -> None:
    assert is_taken(status)


@pytest.mark.parametrize("status", [199, 300, 301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503])
def test_nothing_else_is_taken(status: int) -> None:
    assert not is_taken(status)
    assert str(status) in describe_failure(status)


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        (None, None),
        ("0", timedelta()),
        ("120", timedelta(minutes=2)),
        ("Mon, 16 Mar 2026 07:10:00 GMT", timedelta(minutes=10)),
        ("Mon, 16 Mar 2026 06:00:00 GMT", None),
        ("Mon, 16 Mar 2026 07:10:00", timedelta(minutes=10)),
        ("-5", None),
        ("1.5", None),
        ("", None),
        ("soon", None),
        ("²", None),
        ("Mon, 99 Mar 2026 07:10:00 GMT", None),
        ("Mon, 16 Mar 2026 07:10:00 +999999999999", None),
        ("Mon, 16 Mar 99999999999 07:10:00 GMT", None),
    ],
)
def test_a_wish_is_read_where_it_is_sound(text: str | None, wait: timedelta | None) -> None:
    assert read_retry_after(text, now=NOW) == wait


def test_a_number_without_end_is_a_long_time_and_no_fault() -> None:
    wait = read_retry_after("9" * 5_000, now=NOW)

    assert wait is not None
    assert wait > timedelta(days=1)


@pytest.mark.parametrize(("days", "hopeless"), [(0, False), (4.99, False), (5, True), (30, True)])
def test_five_days_are_too_long(days: float, hopeless: bool) -> None:
    assert is_hopeless(NOW - timedelta(days=days), now=NOW) is hopeless
