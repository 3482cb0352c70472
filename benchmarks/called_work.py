"""Work of caches that is a call of one function: as parts of a page, a request or a job."""

import importlib
import itertools
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from benchmarks import engine
from openslot.domains.accounts.models import User
from openslot.domains.availability.grid import Steps
from openslot.domains.availability.models import Days
from openslot.domains.availability.schemas import write_slots
from openslot.domains.availability.slots import list_slots
from openslot.domains.calendars.busy_times import read_events
from openslot.domains.schedules.models import HolidayCalendar
from openslot.doors.web.shared import zone_picker, zone_search
from openslot.doors.web.shared.words import MonthDay
from openslot.platform.core.ids import Signer
from openslot.platform.core.outbound.client import Outbound
from openslot.platform.core.times import day_number, get_zone
from openslot.platform.i18n.languages import LANGUAGES, Locale
from tests.support.ical import calendar, event, scope

TEXT = "Bring *what* you have, and see [this](https://example.com/a).\n\n- one\n- two"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ZONE = """BEGIN:VTIMEZONE\r
TZID:Ours\r
BEGIN:DAYLIGHT\r
DTSTART:19700329T020000\r
TZOFFSETFROM:+0100\r
TZOFFSETTO:+0200\r
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r
END:DAYLIGHT\r
BEGIN:STANDARD\r
DTSTART:19701025T030000\r
TZOFFSETFROM:+0200\r
TZOFFSETTO:+0100\r
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r
END:STANDARD\r
END:VTIMEZONE"""

Run = Callable[[], object]
_addresses = itertools.count(1)


def list_calls() -> dict[str, Run]:
    return {**_list_calls_of_slots(), **_list_calls_of_pages(), **_list_calls_of_zones(), **_list_other_calls()}


def _in(module: str) -> Any:
    """Return a module: what it names is looked up with each call, because it is replaced meanwhile."""
    return importlib.import_module(f"openslot.{module}")


def _list_calls_of_slots() -> Mapping[str, Run]:
    inputs, viewer = engine._make_setting(7, 50), get_zone("Europe/Berlin")  # noqa: SLF001
    days = Days(engine.FIRST, engine.FIRST + timedelta(days=6))
    with_holidays = replace(inputs.calendar, holidays=HolidayCalendar("US"))
    hosts = {no: replace(host, schedule=with_holidays) for no, host in inputs.hosts.items()}
    free = replace(inputs, calendar=with_holidays, hosts=hosts)
    slots = list_slots(inputs, days, viewer=viewer)
    grids, worked = _in("domains.availability.grid"), _in("domains.availability.free_hosts")
    first = day_number(engine.FIRST)
    steps = Steps(viewer, first, first + 61, 900)
    imported = calendar(ZONE, event("one", start="TZID=Ours:20260316T120000", end="TZID=Ours:20260316T130000"))
    return {
        "lay the grid of a team's 62 days": lambda: grids.lay_steps(steps),
        "find when a team's host works, once for all with the same hours": lambda: worked.find_worked(
            steps, inputs.calendar, 1800
        ),
        "find 7 days of slots": lambda: list_slots(inputs, days, viewer=viewer),
        "find 7 days of slots with holidays": lambda: list_slots(free, days, viewer=viewer),
        "write 7 days of slots": lambda: write_slots(slots, viewer=viewer),
        "read an event with a zone of its own": lambda: read_events(imported, scope("2026-03-01", "2026-04-30")),
    }


def _list_calls_of_pages() -> Mapping[str, Run]:
    locale, now = Locale(language=LANGUAGES["de"], formats="de"), date(2026, 3, 4)
    month, marks, words = (
        _in("doors.web.shared.booking_calendar"),
        _in("doors.web.shared.marks"),
        _in("doors.web.shared.words"),
    )
    navigation, static, figures = (
        _in(f"doors.web.shared.{each}") for each in ("navigation", "static_files", "figures")
    )
    accepting, forms = _in("doors.web.booking_page.for_assistants"), _in("doors.web.booking_page.forms")
    say = _in("doors.web.shared.templating")._words_of(LANGUAGES["de"])["gettext"]  # noqa: SLF001
    everywhere = frozenset(navigation.NavigationAudience)
    asked = forms.AskedFields(questions=(), keeps_mail=False, sends_messages=False, max_weeks=1)
    return {
        "read what a visitor accepts, in every booking page": lambda: accepting._choose_accepted(BROWSER),  # noqa: SLF001
        "write the empty form, in every booking page": lambda: forms._write_empty(asked, locale),  # noqa: SLF001
        "write the weekdays, in every booking page": lambda: month.write_weekdays("de"),
        "write a month, twice in every booking page": lambda: month.format_month(now, "de"),
        "write a day of a chart, a hundred times in a page": lambda: figures._format_short_day(now, "de"),  # noqa: SLF001
        "find the color of an event type, in every row": lambda: marks.find_color("#7c3aed"),
        "write an icon, dozens of times in a page": lambda: marks.write_icon("check"),
        "group the items of the navigation, in every page": lambda: navigation.group_items(everywhere),
        "make the style of a color, in every page with one": lambda: static._make("7c3aed"),
        "write a day with its weekday, a hundred times in a page": lambda: words.format_day(now, "de"),
        "say a text, dozens of times in every page": lambda: say("Sign in"),
        "say a day": lambda: MonthDay(now).localize(locale),
        "write a number, up to 200 times in a page": lambda: figures._format_number(1206, "de"),  # noqa: SLF001
    }


def _list_calls_of_zones() -> Mapping[str, Run]:
    locale, now = Locale(language=LANGUAGES["de"], formats="de"), datetime.now(UTC)
    languages, times = _in("platform.i18n.languages"), _in("platform.i18n.localization")
    zones, names = _in("doors.web.shared.zones"), ("Europe/Berlin", "Asia/Tokyo", "Africa/Lagos", "UTC") * 5
    return {
        "find a language, several times in every page": lambda: languages.find_locale("de-DE"),
        "tell how a place counts hours, in every booking page": lambda: languages.usual_hours("de"),
        "write a time of day, up to 400 times in a page": lambda: times.format_minute(570, "de", 12),
        "find a zone": lambda: get_zone("Europe/Berlin"),
        "search a zone": lambda: zone_search.find_zones("par", locale, now=now),
        "name 20 zones": lambda: [zone_search.name_zone(each, locale) for each in names],
        "make the list of zones": lambda: zone_picker.find_list.__wrapped__(locale.language),
        "make what zones are found by": lambda: zone_search.list_entries.__wrapped__(locale.language),
        "group the zones by region, in a booking page's list of them": lambda: zones.zones_by_region(locale),
    }


def _list_other_calls() -> Mapping[str, Run]:
    door, edge, quoting = _in("domains.access.door"), _in("doors.http.edge"), _in("doors.agents.quoting")
    build, markdown, text = (_in(f"platform.core.{each}") for each in ("build", "markdown", "text"))
    events, packing, rendering = (
        _in("platform.core.events"),
        _in("doors.http.compression"),
        _in("domains.mail.rendering"),
    )
    changes = ("update bookings set status = $1 where id = $2", "update claims set active = $1 where id = $2")
    signer = Signer(("k" * 40,))
    return {
        "read the address of a caller, in every request": lambda: door._parse_short("203.0.113.7"),  # noqa: SLF001
        "find the series of a request, in every request": lambda: edge._series("api", "/api/v1/me", "GET", 200),  # noqa: SLF001
        "read what a browser unpacks, in every page and file": lambda: packing._accepts_gzip("gzip, deflate, br, zstd"),  # noqa: SLF001
        "list what a result consists of, in every call of a tool": lambda: quoting.list_shapes(User),
        "choose a color of a mail, six times in each": lambda: rendering.readable_on("#7c3aed", rendering.PAPER),
        "write the statement that records an event, in every change": lambda: events._recording(changes, ()),  # noqa: SLF001
        "sign a link": lambda: signer.sign("manage", UUID(int=1).bytes),
        "write a description as HTML, in every booking page with one": lambda: markdown.render(TEXT),
        "tell the version, for which git is asked": lambda: str(build.describe_version()),
        "open a client, for which certificates are read": Outbound,
        "check a new address three times, as a booking does": lambda: _check_address(text),
    }


def _check_address(text: Any) -> None:
    address = f"ada{next(_addresses)}@okafor.example"
    for _ in range(3):
        text.parse_email(address)
