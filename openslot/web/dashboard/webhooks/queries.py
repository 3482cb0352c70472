"""What the log of deliveries is filtered by, and which days are replayed, as an address says it."""

from collections.abc import Mapping
from datetime import date, timedelta
from urllib.parse import urlencode

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.moments import Span
from openslot.routing import Form, Request
from openslot.web.dashboard import phrases
from openslot.web.dashboard.queries import BEFORE_FROM, NOT_A_DATE, read_day
from openslot.web.dashboard.webhooks.event_words import LOGGED_TYPES
from openslot.webhooks.models import DeliveryFilter

LONGEST, MOST_PAGES = 100, 100_000
FIELDS = ("event", "result", "from", "to")
RESULTS = {"delivered": True, "failed": False}


class LogQuery(Struct, frozen=True, kw_only=True):
    """The filter and the page of the log, and what of the address could not be used."""

    filter: DeliveryFilter
    page: int
    form: Form[DeliveryFilter]

    def link(self, path: str, *, page: int) -> str:
        """Write the address of another page of the same log."""
        given = {name: self.form[name] for name in FIELDS if self.form[name]}
        return f"{path}?{urlencode({**given, 'page': page})}#log"

    @property
    def is_narrowed(self) -> bool:
        """Whether something is chosen."""
        return any(self.form[name] for name in FIELDS)


def read_log_query(request: Request, user: User) -> LogQuery:
    """Read an address; what can't be understood is left out of the filter, and a wrong day is a fault of its field."""
    values = {name: request.query.get(name, "").strip()[:LONGEST] for name in FIELDS}
    if values["event"] not in LOGGED_TYPES:
        values["event"] = ""
    if values["result"] not in RESULTS:
        values["result"] = ""
    span, faults = read_days(values, user)
    wanted = DeliveryFilter(event_type=values["event"] or None, is_delivered=RESULTS.get(values["result"]), span=span)
    return LogQuery(filter=wanted, page=_read_page(request), form=Form(values=values, faults=faults))


def read_days(values: Mapping[str, str], user: User) -> tuple[Span, dict[str, str]]:
    """Read the first and the last day, both included, in the user's zone; an empty one leaves that side open."""
    faults: dict[str, str] = {}
    first, last = (_read_day(values, name, faults) for name in ("from", "to"))
    if first and last and last < first:
        faults["to"], last = BEFORE_FROM, None
    return Span(
        phrases.begin_day(first, user.zone) if first else None,
        phrases.begin_day(last + timedelta(days=1), user.zone) if last else None,
    ), faults


def _read_day(values: Mapping[str, str], name: str, faults: dict[str, str]) -> date | None:
    if not values.get(name):
        return None
    on = read_day(values[name])
    if on is None:
        faults[name] = NOT_A_DATE
    return on


def _read_page(request: Request) -> int:
    text = request.query.get("page", "1")
    return min(max(int(text), 1), MOST_PAGES) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
