"""The clocks of tests: a Monday morning in March 2026 that lasts until a test lets time pass, and the real one."""

from datetime import UTC, datetime, timedelta

import pytest

from openslot.platform.core.work import Clock, system_clock

MONDAY = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)


class MovingClock:
    """A clock that tests set."""

    def __init__(self, now: datetime = MONDAY) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Tell the time that was set."""
        return self.now

    def pass_time(self, **time: float) -> None:
        """Let time pass."""
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> MovingClock:
    """A clock that stands still until the test moves it."""
    return MovingClock()


@pytest.fixture
def real_clock() -> Clock:
    """The clock of the machine, for tests in a folder where another clock is the rule."""
    return system_clock
