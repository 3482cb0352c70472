"""What a list is filtered by, as its address says it: a search, choices, days, and the page."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from urllib.parse import urlencode

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.instants import iso
from openslot.core.moments import Span
from openslot.core.text import NOT_ALLOWED, is_line
from openslot.i18n import Text
from openslot.routing import Form, Request
from openslot.web.dashboard import phrases
from openslot.web.dashboard.queries import BEFORE_FROM, LONGEST, MOST_PAGES, NOT_A_DATE, read_day

NO_CHOICES: Mapping[str, frozenset[str]] = {}


class Pager(Struct, frozen=True, kw_only=True):
    """Which page of a list is shown, and the addresses of those beside it."""

    page: int
    pages: int | None = None
    """None if they are not counted."""
    earlier: str | None
    later: str | None


class ListQuery(Struct, frozen=True, kw_only=True):
    """The filter and the page of a list, and what of the address could not be used."""

    path: str
    form: Form[object]
    page: int
    span: Span

    @property
    def search(self) -> str:
        """What is searched for; empty if it has a fault."""
        return self.form["q"]

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is searched or chosen."""
        return any(self.form.values.values())

    @property
    def status(self) -> int:
        """The status of the page that shows the list."""
        return 400 if self.form.faults else 200

    def link(self, path: str | None = None, **changes: object) -> str:
        """Write the address of this list with some of it changed; an empty value is left out."""
        kept = {name: str(value) for name, value in {**self.form.values, **changes}.items() if value}
        target = path or self.path
        return f"{target}?{urlencode(kept)}" if kept else target

    @property
    def days(self) -> dict[str, str]:
        """The days as the API takes them."""
        starts_at, ends_before = self.span.starts_at, self.span.ends_before
        given = {"from": iso(starts_at)} if starts_at else {}
        return {**given, "to": iso(ends_before - timedelta(seconds=1))} if ends_before else given

    def pager(self, total: int, rows: int) -> Pager:
        """Return which pages there are."""
        return make_pager(self.page, total, rows, lambda page: self.link(page=page))


def read_list_query(
    request: Request, user: User, path: str, *, choices: Mapping[str, frozenset[str]] = NO_CHOICES, days: bool = False
) -> ListQuery:
    """Read an address; what can't be understood is left out of the filter, and is a fault of its field."""
    names = ("q", *choices, *(("from", "to") if days else ()))
    values = {name: request.query.get(name, "").strip()[:LONGEST] for name in names}
    faults: dict[str, Text] = {}
    if not is_line(values["q"]):
        values["q"], faults["q"] = "", NOT_ALLOWED
    for name, allowed in choices.items():
        values[name] = values[name] if values[name] in allowed else ""
    first, last = (_read_day(values.get(name, ""), name, faults) for name in ("from", "to"))
    if first and last and last < first:
        faults["to"], last = BEFORE_FROM, None
    span = Span(
        phrases.begin_day(first, user.zone) if first else None,
        phrases.begin_day(last + timedelta(days=1), user.zone) if last else None,
    )
    return ListQuery(path=path, form=Form(values=values, faults=faults), page=read_page(request), span=span)


def make_pager(page: int, total: int, rows: int, link: Callable[[int], str]) -> Pager:
    """Return which page of a list is shown, and which are beside it."""
    pages = -(-total // rows)
    return Pager(
        page=page,
        pages=pages,
        earlier=link(page - 1) if 1 < page <= pages + 1 else None,
        later=link(page + 1) if page < pages else None,
    )


def read_page(request: Request, name: str = "page") -> int:
    """Read the number of the page; the first if there is none."""
    text = request.query.get(name, "1")
    return min(max(int(text), 1), MOST_PAGES) if text.isascii() and text.isdecimal() and len(text) < 9 else 1


def _read_day(text: str, name: str, faults: dict[str, Text]) -> date | None:
    if not text:
        return None
    on = read_day(text)
    if on is None:
        faults[name] = NOT_A_DATE
    return on
