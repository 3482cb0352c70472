"""What the list of bookings is filtered by, as its address says it."""

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings.models import AgendaFilter, AgendaView
from openslot.core.text import NOT_ALLOWED, is_line
from openslot.routing import Form, Request
from openslot.web import list_addresses
from openslot.web.list_addresses import read_days, read_page, read_typed

FIELDS = ("view", "q", "type", "from", "to")


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
