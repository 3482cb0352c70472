"""The zones to choose from: those that countries use today, under their current names; others stay valid."""

from collections import Counter

import httpx2
import pytest

from openslot.doors.web.shared.zones import former_names, zones_by_region
from openslot.platform.core.times import find_zone
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES, Locale
from tests.support.host import ZONE, clock, member, settings, user

__all__ = ["clock", "member", "settings", "user"]

ENGLISH = Locale(language=LANGUAGES["en"], formats="en")
OUTDATED = ("Asia/Calcutta", "US/Eastern", "Europe/Kiev", "America/Buenos_Aires", "Australia/ACT", "Asia/Saigon")
CURRENT = (
    "Asia/Kolkata",
    "America/New_York",
    "Europe/Kyiv",
    "Europe/Stockholm",
    "Australia/Sydney",
    "Arctic/Longyearbyen",
)
PAGES = ("/settings/profile", "/availability", "/bookings/new", "/setup")


def offered(locale: Locale) -> dict[str, str]:
    return {zone: city for region in zones_by_region(locale) for zone, city in region.zones}


def test_only_current_names_are_offered() -> None:
    zones = offered(ENGLISH)

    assert set(CURRENT) <= set(zones)
    assert not set(OUTDATED) & set(zones)
    assert all(find_zone(zone) for zone in zones)
    assert len(zones) > 400


def test_every_outdated_name_leads_to_the_zone_that_is_offered() -> None:
    zones = offered(ENGLISH)
    links = [(zone, former) for zone, names in former_names().items() for former in names]

    assert former_names()["Asia/Kolkata"] == ("Asia/Calcutta",)
    assert {zone for zone, _ in links} <= set(zones)
    assert not {former for _, former in links} & set(zones)
    assert len({former for _, former in links}) == len(links) > 100


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_city_appears_twice(language: str) -> None:
    regions = zones_by_region(Locale(language=LANGUAGES[language], formats=language))
    twice = [
        city for region in regions for city, count in Counter(name for _, name in region.zones).items() if count > 1
    ]

    assert twice == []


def test_cities_are_named_in_the_language_of_the_page() -> None:
    german = offered(Locale(language=LANGUAGES["de"], formats="de"))

    assert (german["Asia/Kolkata"], german["Europe/Vienna"], german["Asia/Tokyo"]) == ("Kalkutta", "Wien", "Tokio")


async def test_an_outdated_zone_stays_chosen_until_another_is(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    form = {"name": "Mara Lindqvist", "welcome": "", "timezone": "Asia/Calcutta", "locale": "en"}
    await member.post("/settings/profile", data=form)
    shown = (await member.get("/settings/profile")).text

    assert await runtime.pool.fetchval("select zone from users where email like 'mara%'") == "Asia/Calcutta"
    assert shown.count('value="Asia/Calcutta"') == 1
    await member.post("/settings/profile", data={**form, "timezone": ZONE})
    assert "Asia/Calcutta" not in (await member.get("/settings/profile")).text
