"""Page: whose public holidays close a schedule."""

from datetime import date
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.schedules import rules
from openslot.domains.schedules.models import HolidayCalendar, Schedule
from openslot.domains.schedules.operations import change_schedule_holidays, get_schedule
from openslot.doors.web.shared import words
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, parse_formats
from openslot.platform.routing import Form, Response, get, post

SAVED = Text("The holidays were saved.")
MAX_SHOWN = 12


class HolidaysForm(Struct, frozen=True, kw_only=True):
    country: str = ""
    region: str = ""
    shown_country: str = ""
    """The country whose regions were shown."""
    version: str = ""


class NextHoliday(Struct, frozen=True):
    on: date
    day: Weekday
    name: str
    is_worked: bool
    """Whether hours of its own open it."""


def list_countries(locale: Locale) -> tuple[tuple[str, str], ...]:
    """List the countries by their names in the reader's language."""
    names = parse_formats(locale.formats).territories
    return tuple(
        sorted(((code, names.get(code, code)) for code in rules.list_holiday_countries()), key=lambda each: each[1])
    )


def list_regions(country: str) -> tuple[tuple[str, str], ...]:
    """List the regions of a country that have holidays of their own, by name."""
    return tuple(sorted(rules.list_holiday_regions(country).items(), key=lambda each: each[1]))


def next_holidays(schedule: Schedule, *, today: date) -> list[NextHoliday]:
    if schedule.holidays is None:
        return []
    years = (today.year, today.year + 1)
    found = sorted((on, name) for year in years for on, name in rules.holidays_of(schedule.holidays, year).items())
    return [
        NextHoliday(on, Weekday(on, today), name, bool((own := rules.find_override(schedule, on)) and own.hours))
        for on, name in found
        if on >= today
    ][:MAX_SHOWN]


def name_place(holidays: HolidayCalendar | None, locale: Locale) -> str:
    """Return the region and the country of holidays."""
    if holidays is None:
        return ""
    country = parse_formats(locale.formats).territories.get(holidays.country, holidays.country)
    region = dict(list_regions(holidays.country)).get(holidays.region or "")
    return f"{region}, {country}" if region else country


@get("/availability/{schedule_id}/holidays")
async def show_holidays(work: Work, user: User, schedule_id: UUID, form: Form[Any] = Form()) -> Response:
    schedule = await get_schedule(work, user, schedule_id)
    saved = schedule.holidays
    values = {"country": saved.country, "region": saved.region or ""} if saved else {}
    return page(
        "dashboard/availability/holidays.html",
        user,
        here="/availability",
        notices={"holidays": SAVED},
        schedule=schedule,
        form=form.of(HolidaysForm).begin(values),
        version=rules.version_of(saved),
        list_countries=list_countries,
        regions=list_regions(saved.country) if saved else (),
        next_holidays=next_holidays(schedule, today=words.day(work.now, schedule.zone)),
    )


@post(
    "/availability/{schedule_id}/holidays",
    shows=show_holidays,
    at={Conflict: "country"},
    names={"holidays.country": "country", "holidays.region": "region"},
    own_status=True,
)
async def change_holidays(work: Work, user: User, schedule_id: UUID, form: Form[HolidaysForm]) -> Response:
    """Save whose public holidays are free."""
    # The regions on the page are those of the country before.
    region = form["region"] if form["country"] == form["shown_country"] else ""
    calendar = HolidayCalendar(form["country"], region or None) if form["country"] else None
    await change_schedule_holidays(work, user, schedule_id, calendar, version=form["version"])
    has_more = form["country"] != form["shown_country"] and list_regions(form["country"])
    return redirect(
        f"/availability/{schedule_id}{'/holidays?done=holidays' if has_more else '?done=holidays#holidays'}"
    )
