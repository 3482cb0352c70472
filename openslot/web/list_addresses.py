"""Addresses of lists: the filter, the days and the page that they ask for, and links that keep them."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from urllib.parse import urlencode

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.moments import Span
from openslot.core.zones import FIRST_YEAR, LAST_YEAR
from openslot.i18n import Text
from openslot.routing import Request
from openslot.web.dashboard import phrases

NOT_A_DATE = Text("must be a date, such as 2026-03-16")
BEFORE_FROM = Text("must not be before the first day")
LONGEST, MAX_PAGES = 200, 100_000


class Pager(Struct, frozen=True, kw_only=True):
    """Which page of a list is shown, and the addresses of those beside it."""

    page: int
    pages: int | None = None
    """None if they are not counted."""
    earlier: str | None
    later: str | None


def read_typed(request: Request, names: Iterable[str]) -> dict[str, str]:
    """Read the fields of a filter as they were typed; one that is missing is empty."""
    return {name: request.query.get(name, "").strip()[:LONGEST] for name in names}


def read_days(typed: Mapping[str, str], faults: dict[str, Text], user: User) -> Span:
    """Read `from` and `to`, both included, in the user's zone; what can't be understood is open, and gets a fault."""
    first, last = (_read_day(typed.get(name, ""), name, faults) for name in ("from", "to"))
    if first and last and last < first:
        faults["to"], last = BEFORE_FROM, None
    return Span(
        phrases.begin_day(first, user.zone) if first else None,
        phrases.begin_day(last + timedelta(days=1), user.zone) if last else None,
    )


def read_day(text: str) -> date | None:
    """Read a day that the engine can work with, or return None."""
    try:
        on = date.fromisoformat(text)
    except ValueError:
        return None
    return on if FIRST_YEAR < on.year < LAST_YEAR else None


def read_page(request: Request, name: str = "page") -> int:
    """Read which page is asked for; the first if that can't be understood."""
    return min(max(_read_number(request, name, max_=8) or 1, 1), MAX_PAGES)


def read_before(request: Request) -> int | None:
    """Read the line of a log before which to begin; None is its newest line."""
    return _read_number(request, "before", max_=17)


def link(path: str, values: Mapping[str, object]) -> str:
    """Write an address with a filter; an empty value is left out."""
    kept = {name: str(value) for name, value in values.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def make_pager(page: int, total: int, rows: int, link_to: Callable[[int], str]) -> Pager:
    """Return which page of a list is shown, and which are beside it."""
    pages = -(-total // rows)
    return Pager(
        page=page,
        pages=pages,
        earlier=link_to(page - 1) if 1 < page <= pages + 1 else None,
        later=link_to(page + 1) if page < pages else None,
    )


def _read_day(text: str, name: str, faults: dict[str, Text]) -> date | None:
    on = read_day(text)
    if text and on is None:
        faults.setdefault(name, NOT_A_DATE)
    return on


def _read_number(request: Request, name: str, *, max_: int) -> int | None:
    text = request.query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= max_ else None
