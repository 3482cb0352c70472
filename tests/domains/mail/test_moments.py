"""How a mail names a time zone."""

from datetime import UTC, datetime

import pytest

from openslot.domains.bookings.words import format_zone
from openslot.platform.i18n.languages import LANGUAGES, choose_locale
from openslot.platform.i18n.localization import localize

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize("tag", list(LANGUAGES))
@pytest.mark.parametrize(
    ("zone", "said"), [("UTC", "UTC"), ("Etc/UTC", "UTC"), ("Zulu", "UTC"), ("GMT", "GMT"), ("Etc/Greenwich", "GMT")]
)
def test_a_zone_that_is_its_offset_is_said_once(tag: str, zone: str, said: str) -> None:
    assert localize(format_zone(MARCH, zone, choose_locale(tag)), choose_locale(tag)) == said


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("Etc/GMT+5", "GMT-05:00"),
        ("EST", "EST, GMT-05:00"),
        ("Europe/London", "London time, GMT+00:00"),
        ("Africa/Abidjan", "Abidjan time, GMT+00:00"),
    ],
)
def test_every_other_zone_is_said_with_its_offset(zone: str, said: str) -> None:
    assert localize(format_zone(MARCH, zone, choose_locale("en")), choose_locale("en")) == said
