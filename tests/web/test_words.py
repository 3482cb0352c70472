"""Days, moments, waits and plans as one would say them."""

from datetime import UTC, datetime, timedelta

import pytest

from openslot.accounts.plans import Plan, PlanGrant, PlanOrigin
from openslot.web import words

NOW = datetime(2026, 3, 16, 22, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "said"),
    [("UTC", "16 March 2026"), ("Asia/Tokyo", "17 March 2026"), ("America/Los_Angeles", "16 March 2026")],
)
def test_a_day_is_the_one_that_the_zones_calendar_shows(zone: str, said: str) -> None:
    assert words.day(NOW, zone) == said


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (timedelta(minutes=5), "Today, 22:25"),
        (timedelta(hours=23), "Yesterday, 23:30"),
        (timedelta(days=3), "13 March 2026"),
    ],
)
def test_a_moment_is_told_by_its_distance(ago: timedelta, said: str) -> None:
    assert words.moment(NOW - ago, "UTC", now=NOW) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(1, "1 second"), (42, "42 seconds"), (90, "90 seconds"), (91, "2 minutes"), (600, "10 minutes")],
)
def test_a_wait_is_told_in_whole_units(seconds: int, said: str) -> None:
    assert words.wait(seconds) == said


def own(plan: Plan, until: datetime | None = None) -> PlanGrant:
    return PlanGrant(origin=PlanOrigin.OWN, plan=plan, until=until)


STUDIO = PlanGrant(origin=PlanOrigin.ORGANIZATION, plan=Plan.BUSINESS, organization="Studio")
TRIAL = PlanGrant(origin=PlanOrigin.TRIAL, plan=Plan.PRO, until=NOW + timedelta(days=2))
OVER = PlanGrant(origin=PlanOrigin.TRIAL, plan=Plan.BUSINESS, until=NOW)


@pytest.mark.parametrize(
    ("grants", "said"),
    [
        ([own(Plan.FREE)], "Free"),
        ([own(Plan.PRO)], "Pro"),
        ([own(Plan.PRO, NOW + timedelta(days=1))], "Pro, until 17 March 2026"),
        ([own(Plan.PRO, NOW - timedelta(days=1))], "Free, since Pro ended on 15 March 2026"),
        ([own(Plan.FREE), TRIAL], "Pro, on trial until 18 March 2026"),
        ([own(Plan.FREE), OVER], "Free"),
        ([own(Plan.PRO), TRIAL], "Pro"),
        ([own(Plan.PRO), STUDIO], "Business, through Studio"),
        ([own(Plan.BUSINESS), STUDIO], "Business"),
    ],
)
def test_a_plan_says_why_it_counts(grants: list[PlanGrant], said: str) -> None:
    assert words.plan(grants, zone="UTC", now=NOW) == said
