"""A Monday morning in March 2026, which lasts until a test lets time pass."""

from datetime import UTC, datetime, timedelta

import pytest

MONDAY = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)


class MovingClock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = MONDAY

    def __call__(self) -> datetime:
        """Tell the time that was set."""
        return self.now

    def pass_time(self, **time: float) -> None:
        """Let time pass."""
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> MovingClock:
    """The clock of runtime and server."""
    return MovingClock()
