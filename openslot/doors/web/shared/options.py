"""What a booking page's address asks for, and which requests are visits."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Literal
from urllib.parse import urlencode, urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.analytics.models import PageView
from openslot.domains.analytics.operations import count_view
from openslot.domains.analytics.rules import is_robot
from openslot.domains.event_types.rules import LONGEST_MINUTES
from openslot.doors.web.shared.list_queries import read_day
from openslot.doors.web.shared.pages import locale_of
from openslot.platform.core.sources import DIRECT, INTERNAL, name_source
from openslot.platform.core.text import is_line, is_prose
from openslot.platform.core.times import FIRST_YEAR, LAST_YEAR, find_zone, get_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n.languages import Locale, find_locale
from openslot.platform.routing import Request

# Where a visitor came from, as one page tells the next.
CAME_FROM = "came_from"
# Parameters of one step, which the next one does not need; where a visitor came from is added by the page itself.
STEPS = frozenset({"date", "shown", "month", "start", "view", "search", "done", "payment", CAME_FROM})
LONGEST_NAME = 60
DURATION = "duration"
MINUTES = re.compile(r"[0-9]{1,4}", re.ASCII)
MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
HEX = re.compile(r"[0-9a-f]{6}", re.ASCII)
# An origin as browsers write it: neither a path nor a user nor a wildcard.
ORIGIN = re.compile(r"https?://[a-z0-9]([a-z0-9.-]{0,252}[a-z0-9])?(:[0-9]{1,5})?", re.ASCII)

Theme = Literal["light", "dark", "auto"]


class Options(Struct, frozen=True, kw_only=True):
    """A booking page's address, read leniently: what can't be understood is left out."""

    locale: Locale
    zone: ZoneInfo | None = None
    hours: Literal[12, 24] | None = None
    on: date | None = None
    month: date | None = None
    start: datetime | None = None
    view: str = ""
    search: str = ""
    done: str = ""
    token: str | None = None
    minutes: int | None = None
    """The duration that was chosen."""
    theme: Theme = "auto"
    accent: str | None = None
    is_embedded: bool = False
    embed_origin: str | None = None
    """Where messages to the embedding page are sent."""

    came_from: str = ""

    carried: Mapping[str, str] = {}
    """The parameters that every later step is sent again."""

    @property
    def query(self) -> str:
        """What is carried, as the end of an address."""
        return f"?{urlencode(self.carried)}" if self.carried else ""

    @property
    def campaign(self) -> str:
        return self.carried.get("utm_source", "").strip()

    @property
    def embedded_in(self) -> str | None:
        return self.embed_origin if self.is_embedded else None

    def prefill(self, name: str) -> str:
        """Return what the address says a field begins with."""
        return self.carried.get(name, "")


def read_options(request: Request) -> Options:
    given = {name: value for name, value in request.query.items() if _is_sound(name, value)}
    asked = given.get("accent", "").lower().removeprefix("#")
    hours, theme, month = given.get("h"), given.get("theme"), given.get("month", "")
    origin = given.get("embed_origin", "")
    return Options(
        locale=find_locale(given.get("lang", "")) or locale_of(request),
        zone=find_zone(given.get("tz", "")),
        hours=12 if hours == "12" else 24 if hours == "24" else None,
        # A press on a day asks for it; every other press keeps the day that is shown.
        on=read_day(given.get("date", "")) or read_day(given.get("shown", "")),
        month=read_day(f"{month}-01") if MONTH.fullmatch(month) else None,
        start=read_start(given.get("start", "")),
        view=given.get("view", ""),
        search=given.get("search", "")[:LONGEST_NAME],
        # People who have paid are sent back with the word of the payment provider.
        done="booked" if given.get("payment") == "done" else given.get("done", ""),
        token=given.get("token") or None,
        minutes=read_minutes(given.get(DURATION, "")),
        theme="light" if theme == "light" else "dark" if theme == "dark" else "auto",
        accent=asked if HEX.fullmatch(asked) else None,
        is_embedded=given.get("embed") == "1",
        embed_origin=origin if ORIGIN.fullmatch(origin) else None,
        came_from=given.get(CAME_FROM, ""),
        carried={name: value for name, value in given.items() if name not in STEPS},
    )


def read_minutes(text: str) -> int | None:
    """Read a duration; None if a text is none."""
    minutes = int(text) if MINUTES.fullmatch(text) else 0
    return minutes if 0 < minutes <= LONGEST_MINUTES else None


def with_minutes(options: Options, minutes: int | None) -> Options:
    """Ask for another duration, here and in every later step."""
    others = {name: value for name, value in options.carried.items() if name != DURATION}
    return replace(options, minutes=minutes, carried=others | ({DURATION: str(minutes)} if minutes else {}))


def with_zone(options: Options, zone: str) -> Options:
    """Fill in the zone that a form was filled in with, if the address names none."""
    return options if options.zone else replace(options, zone=find_zone(zone))


def read_start(text: str) -> datetime | None:
    """Read an instant in whole seconds; None if a text is none."""
    try:
        start = datetime.fromisoformat(text)
    except ValueError:
        return None
    known = start.tzinfo is not None and not start.microsecond and FIRST_YEAR < start.year < LAST_YEAR
    return start if known else None


def _is_sound(name: str, value: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and is_line(name) and is_prose(value)


def count_visit(
    work: Work,
    request: Request,
    options: Options,
    *,
    username: str,
    zone: str,
    event_type_id: UUID | None = None,
    source: str | None = None,
) -> None:
    """Count a visit of a host's page or of an event type's page, if this request is one."""
    own_hosts = list_own_hosts(work, request)
    if not is_visit(request, own_hosts):
        return
    source = source or _name_visit(request, options, own_hosts)
    on = work.now.astimezone(get_zone(zone)).date()
    view = PageView(username=username, event_type_id=event_type_id, on=on, source=source)
    count_view(work.runtime, view)


def find_source(work: Work, request: Request, options: Options) -> str:
    """Name where a visitor comes from; a page to which another one of ours leads is told by that one."""
    own_hosts = list_own_hosts(work, request)
    source = _name_visit(request, options, own_hosts)
    if source != INTERNAL:
        return source
    campaign = options.campaign or options.came_from
    return name_source(campaign=campaign, embedded_in=options.embedded_in, referrer="", own_hosts=own_hosts)


def carry_source(options: Options, source: str) -> Options:
    """Tell the next page where the visitor came from, unless the address says it already."""
    if source == DIRECT or options.campaign or options.embedded_in is not None:
        return options
    return replace(options, carried={**options.carried, CAME_FROM: source})


def _name_visit(request: Request, options: Options, own_hosts: set[str]) -> str:
    referrer = request.headers.get("referer", "")
    return name_source(
        campaign=options.campaign, embedded_in=options.embedded_in, referrer=referrer, own_hosts=own_hosts
    )


def list_own_hosts(work: Work, request: Request) -> set[str]:
    """List the names under which this service is reached."""
    return {request.headers.get("host", "").lower(), urlsplit(work.runtime.settings.public_url).netloc.lower()}


def is_visit(request: Request, own_hosts: set[str]) -> bool:
    """Return whether a person opened the page: no program, no prefetch, and no further step on the same page."""
    headers = request.headers
    return (
        request.method == "GET"
        and headers.get("sec-fetch-dest", "document") in {"document", "iframe", "frame"}
        and "prefetch" not in headers.get("sec-purpose", headers.get("purpose", ""))
        and not is_robot(headers.get("user-agent", ""))
        and not _is_step(request, own_hosts)
    )


def _is_step(request: Request, own_hosts: set[str]) -> bool:
    try:
        referrer = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return False
    return referrer.netloc.lower() in own_hosts and referrer.path == request.path
