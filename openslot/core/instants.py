"""Instants as text: UTC, milliseconds where there are any, and Z."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, to_builtins

Instant = Annotated[str, Meta(description="ISO 8601, UTC", examples=["2026-03-16T09:00:00Z"])]


def iso(instant: datetime) -> str:
    """Format an instant as the API does: UTC, milliseconds if there are any, and Z."""
    # Ten times faster than `isoformat`, and lists consist mostly of times.
    text: str = to_builtins(instant if instant.tzinfo is UTC else instant.astimezone(UTC))
    return f"{text[: 23 if instant.microsecond >= 1000 else 19]}Z"


def iso_of(column: str) -> str:
    """Write the SQL that formats a column's instants as `iso` does."""
    # Half the cost of creating a datetime for each only to format it again.
    return f"""replace(to_char({column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '.000Z', 'Z')"""
