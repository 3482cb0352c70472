"""What the log of deliveries is filtered by, as its address says it."""

from msgspec import Struct

from openslot.accounts.models import User
from openslot.i18n import Text
from openslot.routing import Form, Request
from openslot.web import list_addresses
from openslot.web.dashboard.webhooks.event_words import LOGGED_TYPES
from openslot.web.list_addresses import read_days, read_page, read_typed
from openslot.webhooks.models import DeliveryFilter

FIELDS = ("event", "result", "from", "to")
RESULTS = {"delivered": True, "failed": False}


class LogQuery(Struct, frozen=True, kw_only=True):
    """The filter and the page of the log, and what of the address could not be used."""

    filter: DeliveryFilter
    page: int
    form: Form[DeliveryFilter]

    def link(self, path: str, *, page: int) -> str:
        """Write the address of another page of the same log."""
        return f"{list_addresses.link(path, {**self.form.values, 'page': page})}#log"

    @property
    def is_narrowed(self) -> bool:
        """Whether something is chosen."""
        return any(self.form[name] for name in FIELDS)


def read_log_query(request: Request, user: User) -> LogQuery:
    """Read an address; what can't be understood is left out of the filter, and a wrong day is a fault of its field."""
    values = read_typed(request, FIELDS)
    if values["event"] not in LOGGED_TYPES:
        values["event"] = ""
    if values["result"] not in RESULTS:
        values["result"] = ""
    faults: dict[str, Text] = {}
    span = read_days(values, faults, user)
    wanted = DeliveryFilter(event_type=values["event"] or None, is_delivered=RESULTS.get(values["result"]), span=span)
    return LogQuery(filter=wanted, page=read_page(request), form=Form(values=values, faults=faults))
