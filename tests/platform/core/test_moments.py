"""Reading `from` and `to`: dates and date-times, the whole last day, and every fault by its name."""

from datetime import UTC, datetime, timedelta

import pytest

from openslot.platform.core.errors import Invalid
from openslot.platform.core.moments import Span, read_span

NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "starts_at"),
    [
        ("2026-03-16", datetime(2026, 3, 16, tzinfo=UTC)),
        ("2026-03-16T12:00", NOON),
        ("2026-03-16T12:00:00", NOON),
        ("2026-03-16t12:00:00z", NOON),
        ("2026-03-16T14:00:00+02:00", NOON),
        ("2026-03-16T14:00:00 02:00", NOON),
        ("2026-03-16T06:30:00-05:30", NOON),
        ("2026-03-16T12:00:00.250Z", NOON + timedelta(milliseconds=250)),
        ("2026-03-16T12:00:00.123456789Z", NOON + timedelta(microseconds=123456)),
        ("1970-01-01", datetime(1970, 1, 1, tzinfo=UTC)),
        ("2200-12-31", datetime(2200, 12, 31, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_a_date_or_a_date_time_is_read_in_utc_unless_it_has_an_offset(text: str, starts_at: datetime) -> None:
    assert read_span(text, None) == Span(starts_at, None)


def test_nothing_given_is_without_end() -> None:
    assert read_span(None, None) == Span(None, None)


@pytest.mark.parametrize(
    ("text", "ends_before"),
    [
        ("2026-03-16", datetime(2026, 3, 17, tzinfo=UTC)),
        ("2200-12-31", datetime(2201, 1, 1, tzinfo=UTC)),
        ("2026-03-16T12:00:00Z", NOON + timedelta(milliseconds=1)),
        ("2026-03-16T12:00:00.0009Z", NOON + timedelta(milliseconds=1)),
    ],
)
def test_to_is_included_and_a_date_means_its_whole_day(text: str, ends_before: datetime) -> None:
    assert read_span(None, text) == Span(None, ends_before)


@pytest.mark.parametrize(
    ("from_", "to"),
    [("2026-03-16", "2026-03-16"), ("2026-03-16T23:00", "2026-03-16"), ("2026-03-16T12:00Z", "2026-03-16T12:00Z")],
)
def test_from_may_lie_on_the_same_day_and_at_the_same_moment_as_to(from_: str, to: str) -> None:
    span = read_span(from_, to)

    assert span.starts_at
    assert span.ends_before
    assert span.starts_at < span.ends_before


@pytest.mark.parametrize(
    ("from_", "to"),
    [
        ("2026-03-17", "2026-03-16"),
        ("2026-03-17T00:00Z", "2026-03-16"),
        ("2026-03-16T12:00:01Z", "2026-03-16T12:00:00Z"),
        ("2026-03-16T12:00:00-01:00", "2026-03-16T12:00:00Z"),
    ],
)
def test_from_after_to_is_refused(from_: str, to: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_span(from_, to)

    assert refused.value.details == {"to": "must not be before from"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-3-16",
        "20260316",
        "16.03.2026",
        "2026-W12-1",
        "2026-03-16 12:00",
        "2026-03-16+02:00",
        "2026-03-16T",
        "2026-03-16T12",
        "2026-03-16T12:00:00+0200",
        "2026-03-16\n",
        "2026-03-16\x00",
        "٢٠٢٦-٠٣-١٦",
        "1742126400",
        "2026-02-29",
        "2026-13-01",
        "2026-03-16T24:00",
        "2026-03-16T12:00:60Z",
        "2026-03-16T12:00+24:00",
        "1969-12-31",
        "2201-01-01",
        "0000-00-00",
        "9999-12-31T23:59:59-23:59",
        "2" * 10_000,
    ],
)
def test_every_wrong_moment_is_named_by_its_parameter(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_span(text, text)

    assert refused.value.details
    assert set(refused.value.details) == {"from", "to"}
