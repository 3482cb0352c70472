"""Time zones are found by what people call them: cities, countries, abbreviations and offsets, in their language."""

from datetime import UTC, datetime
from zoneinfo import available_timezones

import pytest

from openslot.doors.web.shared.zone_search import (
    MAX_FOUND,
    find_zones,
    list_entries,
    list_offered,
    name_zone,
    read_zone,
    write_zone,
)
from openslot.platform.core.times import get_zone
from openslot.platform.i18n.cities import list_cities
from openslot.platform.i18n.languages import LANGUAGES, Locale
from tests.support.some import some_cases

WINTER, SUMMER = datetime(2026, 1, 15, 12, tzinfo=UTC), datetime(2026, 7, 15, 12, tzinfo=UTC)
# The language, what is searched for, and what is found first.
FIRST = [
    ("en", "Mumbai", "Mumbai (India)", "Asia/Kolkata"),
    ("en", "San Francisco", "San Francisco (United States)", "America/Los_Angeles"),
    ("en", "Beijing", "Beijing (China)", "Asia/Shanghai"),
    ("en", "Germany", "Berlin (Germany)", "Europe/Berlin"),
    ("en", "India", "Kolkata (India)", "Asia/Kolkata"),
    ("en", "UTC", "UTC", "UTC"),
    ("en", "PST", "Los Angeles (United States)", "America/Los_Angeles"),
    ("en", "pdt", "Los Angeles (United States)", "America/Los_Angeles"),
    ("en", "CET", "Berlin (Germany)", "Europe/Berlin"),
    ("en", "central european summer time", "Berlin (Germany)", "Europe/Berlin"),
    ("en", "USA", "New York (United States)", "America/New_York"),
    ("en", "uk", "London (United Kingdom)", "Europe/London"),
    ("en", "new york usa", "New York (United States)", "America/New_York"),
    ("en", "mumbai india", "Mumbai (India)", "Asia/Kolkata"),
    ("en", "Europe/Berlin", "Berlin (Germany)", "Europe/Berlin"),
    ("en", "america/new_york", "New York (United States)", "America/New_York"),
    ("en", "Calcutta", "Kolkata (India)", "Asia/Kolkata"),
    ("en", "são pau", "Sao Paulo (Brazil)", "America/Sao_Paulo"),
    ("en", "  TOK  ", "Tokyo (Japan)", "Asia/Tokyo"),
    ("en", "+5:30", "Kolkata (India)", "Asia/Kolkata"),
    ("en", "+0530", "Kolkata (India)", "Asia/Kolkata"),
    ("en", "utc + 9", "Tokyo (Japan)", "Asia/Tokyo"),
    ("en", "GMT-3:30", "St John’s (Canada)", "America/St_Johns"),
    ("en", "\u22123:30", "St John’s (Canada)", "America/St_Johns"),
    ("de", "Deutschland", "Berlin (Deutschland)", "Europe/Berlin"),
    ("de", "Germany", "Berlin (Deutschland)", "Europe/Berlin"),
    ("de", "Peking", "Peking (China)", "Asia/Shanghai"),
    ("de", "koln", "Köln (Deutschland)", "Europe/Berlin"),
    ("de", "MEZ", "Berlin (Deutschland)", "Europe/Berlin"),
    ("fr", "allemagne", "Berlin (Allemagne)", "Europe/Berlin"),
    ("fr", "pekin", "Pékin (Chine)", "Asia/Shanghai"),
    ("es", "mexico", "Ciudad de México (México)", "America/Mexico_City"),
    ("pt", "Índia", "Calcutá (Índia)", "Asia/Kolkata"),
    ("ja", "ムンバイ", "ムンバイ (インド)", "Asia/Kolkata"),
    ("ja", "ドイツ", "ベルリン (ドイツ)", "Europe/Berlin"),
    ("ja", "東京", "東京 (日本)", "Asia/Tokyo"),
    ("ar", "بكين", "بكين (الصين)", "Asia/Shanghai"),
    ("ar", "المانيا", "برلين (ألمانيا)", "Europe/Berlin"),
]
NOTHING = [
    "",
    "   ",
    "Atlantis",
    "Mars/Base",
    "x" * 100_000,
    "\x00\x1b\u202e",
    "\ud800",
    "+99",
    "+1:75",
    "%",
    "(",
    "\U0001f600",
]


def locale_of(language: str) -> Locale:
    return Locale(language=LANGUAGES[language], formats=LANGUAGES[language].formats)


@pytest.mark.parametrize(("language", "search", "label", "zone"), FIRST, ids=[f"{each[0]} {each[1]}" for each in FIRST])
def test_a_zone_is_found_first(language: str, search: str, label: str, zone: str) -> None:
    first, *_ = find_zones(search, locale_of(language), now=WINTER)

    assert (first.label, first.zone) == (label, zone)


@pytest.mark.parametrize("search", NOTHING, ids=range(len(NOTHING)))
def test_what_means_no_zone_finds_nothing(search: str) -> None:
    assert find_zones(search, locale_of("en"), now=WINTER) == []
    assert read_zone(search) is None


def test_an_offset_is_that_of_the_day() -> None:
    winter, summer = ({each.zone for each in find_zones("+1", locale_of("en"), now=now)} for now in (WINTER, SUMMER))

    assert "Europe/Berlin" in winter - summer
    assert {"Europe/London", "Africa/Lagos"} <= summer
    assert "Africa/Lagos" in winter


def test_no_search_finds_too_many() -> None:
    assert all(len(find_zones(letter, locale_of("en"), now=WINTER)) <= MAX_FOUND for letter in "aeu+")
    assert len(find_zones("a", locale_of("en"), now=WINTER)) == MAX_FOUND


@pytest.mark.parametrize(
    "language", some_cases(LANGUAGES, daily=2, why="reads every zone; one language is like another")
)
def test_whatever_a_field_shows_can_be_read_again(language: str) -> None:
    entries = list_entries(LANGUAGES[language])

    assert len(entries) == len(list_offered(LANGUAGES[language])) + len(list_cities())
    assert [each.shown for each in entries if read_zone(each.shown.label) != each.shown.zone] == []


@pytest.mark.parametrize(
    "language", some_cases(["en", "ja"], daily=1, why="reads every zone; one language is like another")
)
def test_every_zone_of_the_database_survives_its_field(language: str) -> None:
    zones = available_timezones() - {"localtime", "Factory"}
    shown = {zone: write_zone(zone, locale_of(language)) for zone in zones}

    assert {zone: text for zone, text in shown.items() if read_zone(text) != zone} == {}
    assert (shown["CET"], shown["UTC"]) == ("CET (IANA)", "UTC")
    assert write_zone("xyzzy", locale_of(language)) == "xyzzy"


TYPED = {
    "Tokyo": "Asia/Tokyo",
    "mumbai": "Asia/Kolkata",
    "Peking": "Asia/Shanghai",
    "India": "Asia/Kolkata",
    "utc": "UTC",
    "america/new york": "America/New_York",
    "Asia/Calcutta": "Asia/Calcutta",
    "Germany": None,
    "EST": None,
    "berl": None,
}


@pytest.mark.parametrize("text", TYPED)
def test_a_text_that_names_one_zone_is_read_as_that_zone(text: str) -> None:
    assert read_zone(text) == TYPED[text]


def test_a_zone_that_is_not_offered_is_shown_as_it_is() -> None:
    assert name_zone("Asia/Calcutta", locale_of("de")).label == "Asia/Calcutta"
    assert name_zone("Europe/Vienna", locale_of("de")).label == "Wien (Österreich)"


def test_every_big_city_has_a_zone_and_only_known_languages() -> None:
    for city in list_cities():
        assert get_zone(city.zone).key in list_offered(LANGUAGES["en"])
        assert set(city.names) <= set(LANGUAGES)
