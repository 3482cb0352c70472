"""Days, moments, waits and plans as one would say them."""

from datetime import UTC, date, datetime, time, timedelta

import pytest

from openslot.domains.accounts.plans import Plan, PlanGrant, PlanOrigin
from openslot.doors.web.shared import words
from openslot.platform.i18n.languages import DEFAULT, negotiate
from openslot.platform.i18n.localization import localize

NOW = datetime(2026, 3, 16, 22, 30, tzinfo=UTC)


@pytest.mark.parametrize(("zone", "on"), [("UTC", 16), ("Asia/Tokyo", 17), ("America/Los_Angeles", 16)])
def test_a_day_is_the_one_that_the_zones_calendar_shows(zone: str, on: int) -> None:
    assert words.day(NOW, zone) == date(2026, 3, on)


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (timedelta(minutes=5), "Today, 22:25"),
        (timedelta(hours=23), "Yesterday, 23:30"),
        (timedelta(days=3), "13 March 2026"),
    ],
)
def test_a_moment_is_told_by_its_distance(ago: timedelta, said: str) -> None:
    assert localize(words.moment(NOW - ago, "UTC", now=NOW), DEFAULT) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1, "Wait 1 second, then try again."),
        (42, "Wait 42 seconds, then try again."),
        (90, "Wait 90 seconds, then try again."),
        (91, "Wait 2 minutes, then try again."),
        (600, "Wait 10 minutes, then try again."),
    ],
)
def test_a_wait_is_told_in_whole_units(seconds: int, said: str) -> None:
    assert localize(words.wait(seconds), DEFAULT) == said


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
    assert localize(words.plan(grants, zone="UTC", now=NOW), DEFAULT) == said


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("en-US", "Today, 2:32\u202fPM"),
        ("de", "Heute, 14:32"),
        ("fr", "Aujourd’hui, 14:32"),
        ("es", "Hoy, 14:32"),
        ("pt", "Hoje, 14:32"),
        ("ja", "今日 14:32"),
        ("ar", "اليوم، 2:32 م"),
    ],
)
def test_a_moment_is_told_in_the_readers_language_and_hours(locale: str, said: str) -> None:
    assert localize(words.moment(NOW.replace(hour=14, minute=32), "UTC", now=NOW), negotiate(locale)) == said


def test_what_stands_inside_a_text_is_told_in_the_same_language() -> None:
    lapsed = words.plan([own(Plan.PRO, NOW - timedelta(days=1))], zone="UTC", now=NOW)

    assert localize(lapsed, negotiate("de")) == "Kostenlos, da Pro am 15. März 2026 endete"


def test_an_instant_is_not_shown_without_a_zone() -> None:
    with pytest.raises(TypeError):
        localize(NOW, DEFAULT)
    assert localize(time(9, 5), DEFAULT) == "09:05"
