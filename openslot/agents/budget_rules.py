"""Budgets as arithmetic: what is left, when an agent is warned, and when the day begins again."""

from datetime import UTC, date, datetime, time, timedelta

from msgspec import Struct

WARNING_PERCENT = 80


class Spending(Struct, frozen=True, kw_only=True):
    """What was spent and reserved on one day, against a cap; all in micro-dollars."""

    on: date
    limit: int
    spent: int = 0
    reserved: int = 0
    uncounted: int = 0
    """What agents have reported beyond their own caps."""

    @property
    def counted(self) -> int:
        """What is compared with the cap before a call that costs."""
        return self.spent - self.uncounted

    @property
    def remaining(self) -> int:
        """What may still be reserved."""
        return max(self.limit - self.counted - self.reserved, 0)

    @property
    def percent_used(self) -> float:
        """How much of the cap is spent; more than 100 if models cost more than there was."""
        return round(100 * self.spent / self.limit, 2) if self.limit else 100.0

    @property
    def is_warning(self) -> bool:
        """Whether 80 percent of the cap is spent."""
        return self.spent >= warning_at(self.limit)

    @property
    def resets_at(self) -> datetime:
        """When the next day begins: midnight UTC."""
        return datetime.combine(self.on + timedelta(days=1), time(), UTC)


def warning_at(limit: int) -> int:
    """Return the spend from which on an agent is warned."""
    return -(-limit * WARNING_PERCENT // 100)
