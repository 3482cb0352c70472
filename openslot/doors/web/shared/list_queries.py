"""Lists as their addresses ask for them: what is searched and chosen, the days, the page, and links that keep all that.

A page reads its address once, `query = read_list_query(request, user, "/calls", "q", "status", "from", "to",
choices={"status": set(CallStatus)})`; takes `query["q"]`, `query.span` and `query.page` for its read; and shows
`form=query.form` and `pager=query.pager(total, ROWS)`. The page has the status 400 if the form has a fault.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.doors.web.shared import words
from openslot.platform.core.moments import Span
from openslot.platform.core.text import NOT_ALLOWED, is_line
from openslot.platform.core.times import FIRST_YEAR, LAST_YEAR, iso
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request

NOT_A_DATE = Text("must be a date, such as 2026-03-16")
LONGEST, MAX_PAGES = 200, 100_000
NO_CHOICES: Mapping[str, Collection[str]] = {}


class Pager(Struct, frozen=True, kw_only=True):
    page: int
    pages: int | None = None
    """None if they are not counted."""
    earlier: str | None
    later: str | None


class ListQuery(Struct, frozen=True, kw_only=True):
    """The filter and the page of a list, and what of the address could not be used."""

    path: str
    form: Form[Any]
    """The typed values, without those that can't be shown, and the faults."""
    span: Span
    page: int

    def __getitem__(self, name: str) -> str:
        """Return what a field asks for; empty if nothing usable."""
        return self.form[name]

    @property
    def is_narrowed(self) -> bool:
        """Whether anything beside the view is searched or chosen."""
        return any(value for name, value in self.form.values.items() if name != "view")

    @property
    def days(self) -> dict[str, str]:
        """The days as the API takes them."""
        starts_at, ends_before = self.span.starts_at, self.span.ends_before
        given = {"from": iso(starts_at)} if starts_at else {}
        return {**given, "to": iso(ends_before - timedelta(seconds=1))} if ends_before else given

    def link(self, path: str | None = None, **changes: object) -> str:
        """Write the address of this list with some of it changed; an empty value is left out."""
        return link(path or self.path, {**self.form.values, **changes})

    def pager(self, total: int, rows: int) -> Pager:
        return make_pager(self.page, total, rows, lambda page: self.link(page=page))

    def pager_of_uncounted(self, *, has_more: bool) -> Pager:
        """Return which pages are beside this one, if nobody counts them."""
        return Pager(
            page=self.page,
            earlier=self.link(page=self.page - 1) if self.page > 1 else None,
            later=self.link(page=self.page + 1) if has_more else None,
        )


def read_list_query(
    request: Request, user: User, path: str, *fields: str, choices: Mapping[str, Collection[str]] = NO_CHOICES
) -> ListQuery:
    """Read an address; what can't be understood is a fault of its field, and a choice that does not exist is none."""
    values = read_typed(request, fields)
    for name, known in choices.items():
        if values[name] not in known:
            values[name] = ""
    faults: dict[str, Text] = {name: NOT_ALLOWED for name, value in values.items() if not is_line(value)}
    span = read_days(values, faults, user)
    shown = {name: "" if faults.get(name) is NOT_ALLOWED else value for name, value in values.items()}
    return ListQuery(path=path, form=Form(values=shown, faults=faults), span=span, page=read_page(request))


def read_typed(request: Request, names: Iterable[str]) -> dict[str, str]:
    """Read the fields of a filter as they were typed; one that is missing is empty."""
    return {name: request.query.get(name, "").strip()[:LONGEST] for name in names}


def read_days(typed: Mapping[str, str], faults: dict[str, Text], user: User) -> Span:
    """Read `from` and `to`, both included, in the user's zone; what can't be understood is open, and gets a fault."""
    first, last = (_read_day(typed.get(name, ""), name, faults) for name in ("from", "to"))
    if first and last and last < first:
        faults["to"], last = Text("must not be before the first day"), None
    return Span(
        words.begin_day(first, user.zone) if first else None,
        words.begin_day(last + timedelta(days=1), user.zone) if last else None,
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


def read_count(request: Request) -> int:
    """Read how many things were changed at once; none if that can't be understood."""
    return _read_number(request, "count", max_=6) or 0


def read_before(request: Request) -> int | None:
    """Read the line of a log before which to begin; None is its newest line."""
    return _read_number(request, "before", max_=17)


def link(path: str, values: Mapping[str, object]) -> str:
    """Write an address with a filter; an empty value is left out."""
    kept = {name: str(value) for name, value in values.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def make_pager(page: int, total: int, rows: int, link_to: Callable[[int], str]) -> Pager:
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
