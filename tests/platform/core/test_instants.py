"""Instants as the wire shows them, whether Python or the database writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from openslot.platform.core.times import iso, iso_of
from openslot.platform.core.work import Runtime

NOON = datetime(2026, 3, 16, 12, tzinfo=UTC)
WRITTEN = [
    (NOON, "2026-03-16T12:00:00Z"),
    (NOON.replace(microsecond=999), "2026-03-16T12:00:00Z"),
    (NOON.replace(microsecond=1000), "2026-03-16T12:00:00.001Z"),
    (NOON.replace(microsecond=120_000), "2026-03-16T12:00:00.120Z"),
    (NOON.replace(microsecond=999_999), "2026-03-16T12:00:00.999Z"),
    (NOON.astimezone(timezone(timedelta(hours=5, minutes=45))), "2026-03-16T12:00:00Z"),
]


@pytest.mark.parametrize(("instant", "text"), WRITTEN)
def test_an_instant_is_written_in_utc_with_the_milliseconds_that_it_has(instant: datetime, text: str) -> None:
    assert iso(instant) == text


async def test_the_database_writes_an_instant_just_the_same(runtime: Runtime) -> None:
    for instant, text in WRITTEN:
        assert await runtime.pool.fetchval(f"select {iso_of('$1::timestamptz')}", instant) == text
