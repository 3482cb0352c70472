"""What lists are filtered by, as their addresses say it: a view, a search, choices, days, and the page."""

from collections.abc import Mapping
from datetime import timedelta

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings.models import AgendaFilter, AgendaView
from openslot.core.moments import Span, iso
from openslot.core.text import NOT_ALLOWED, is_line
from openslot.i18n import Text
from openslot.routing import Form, Request
from openslot.web import list_addresses
from openslot.web.list_addresses import Pager, make_pager, read_days, read_page, read_typed

NO_CHOICES: Mapping[str, frozenset[str]] = {}
FIELDS = ("view", "q", "type", "from", "to")


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
        return list_addresses.link(path or self.path, {**self.form.values, **changes})

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
    values = read_typed(request, names)
    faults: dict[str, Text] = {}
    if not is_line(values["q"]):
        values["q"], faults["q"] = "", NOT_ALLOWED
    for name, allowed in choices.items():
        values[name] = values[name] if values[name] in allowed else ""
    span = read_days(values, faults, user)
    return ListQuery(path=path, form=Form(values=values, faults=faults), page=read_page(request), span=span)


class BookingsQuery(Struct, frozen=True, kw_only=True):
    """The filter and the page of a list of bookings, and what of the address could not be used."""

    filter: AgendaFilter
    page: int
    form: Form[AgendaFilter]

    def link(self, path: str = "/bookings", **changes: object) -> str:
        """Write the address of this list with some of it changed; an empty value is left out."""
        values = {name: self.form[name] for name in FIELDS} | changes
        return list_addresses.link(path, values)

    @property
    def is_narrowed(self) -> bool:
        """Whether something beside the view is chosen."""
        return any(self.form[name] for name in FIELDS[1:])


def read_bookings_query(request: Request, user: User) -> BookingsQuery:
    """Read an address; what can't be understood is left out of the filter, and is a fault of its field."""
    values = read_typed(request, FIELDS)
    if values["view"] not in set(AgendaView):
        values["view"] = ""
    faults = {name: NOT_ALLOWED for name in ("q", "type") if not is_line(values[name])}
    span = read_days(values, faults, user)
    wanted = AgendaFilter(
        view=AgendaView(values["view"] or AgendaView.UPCOMING),
        search="" if "q" in faults else values["q"],
        slug="" if "type" in faults else values["type"],
        span=span,
    )
    shown = {name: "" if name in faults and faults[name] is NOT_ALLOWED else value for name, value in values.items()}
    return BookingsQuery(filter=wanted, page=read_page(request), form=Form(values=shown, faults=faults))
