"""The one place that reads the time."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Tell the time as aware UTC."""
    return datetime.now(UTC)


def iso(instant: datetime) -> str:
    """Write an instant as the wire shows it: UTC, milliseconds where there are any, and Z."""
    utc = instant if instant.tzinfo is UTC else instant.astimezone(UTC)
    return utc.isoformat()[: 23 if utc.microsecond else 19] + "Z"
