"""What the list of bookings is filtered by, as its address says it."""

from collections.abc import Mapping
from datetime import date, timedelta
from urllib.parse import urlencode

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings.models import AgendaFilter, AgendaView
from openslot.core.moments import Span
from openslot.core.text import NOT_ALLOWED, is_line
from openslot.core.zones import FIRST_YEAR, LAST_YEAR
from openslot.i18n import Text
from openslot.routing import Form, Request
from openslot.web.dashboard import phrases

NOT_A_DATE = Text("must be a date, such as 2026-03-16")
BEFORE_FROM = Text("must not be before the first day")
LONGEST, MOST_PAGES = 200, 100_000
FIELDS = ("view", "q", "type", "from", "to")


class BookingsQuery(Struct, frozen=True, kw_only=True):
    """The filter and the page of a list of bookings, and what of the address could not be used."""

    filter: AgendaFilter
    page: int
    form: Form[AgendaFilter]

    def link(self, path: str = "/bookings", **changes: object) -> str:
        """Write the address of this list with some of it changed; an empty value is left out."""
        values = {name: self.form[name] for name in FIELDS} | changes
        kept = {name: str(value) for name, value in values.items() if value}
        return f"{path}?{urlencode(kept)}" if kept else path

    @property
    def is_narrowed(self) -> bool:
        """Whether something beside the view is chosen."""
        return any(self.form[name] for name in FIELDS[1:])


def read_bookings_query(request: Request, user: User) -> BookingsQuery:
    """Read an address; what can't be understood is left out of the filter, and is a fault of its field."""
    values = {name: request.query.get(name, "").strip()[:LONGEST] for name in FIELDS}
    if values["view"] not in set(AgendaView):
        values["view"] = ""
    faults = {name: NOT_ALLOWED for name in ("q", "type") if not is_line(values[name])}
    first, last = (_read_day(values, name, faults) for name in ("from", "to"))
    if first and last and last < first:
        faults["to"], last = BEFORE_FROM, None
    wanted = AgendaFilter(
        view=AgendaView(values["view"] or AgendaView.UPCOMING),
        search="" if "q" in faults else values["q"],
        slug="" if "type" in faults else values["type"],
        span=Span(
            phrases.begin_day(first, user.zone) if first else None,
            phrases.begin_day(last + timedelta(days=1), user.zone) if last else None,
        ),
    )
    shown = {name: "" if name in faults and faults[name] is NOT_ALLOWED else value for name, value in values.items()}
    return BookingsQuery(filter=wanted, page=read_page(request), form=Form(values=shown, faults=faults))


def read_day(text: str) -> date | None:
    """Read a day that the engine can work with, or return None."""
    try:
        on = date.fromisoformat(text)
    except ValueError:
        return None
    return on if FIRST_YEAR < on.year < LAST_YEAR else None


def _read_day(values: Mapping[str, str], name: str, faults: dict[str, Text]) -> date | None:
    if not values[name]:
        return None
    on = read_day(values[name])
    if on is None:
        faults[name] = NOT_A_DATE
    return on


def read_page(request: Request) -> int:
    """Read which page of a list is asked for; the first if that can't be understood."""
    text = request.query.get("page", "1")
    return min(max(int(text), 1), MOST_PAGES) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
