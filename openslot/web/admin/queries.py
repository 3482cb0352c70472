"""Lists by page and filter, as their addresses say them."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.core.moments import Span
from openslot.core.text import NOT_ALLOWED, is_line
from openslot.i18n import Text
from openslot.routing import Form, Request
from openslot.web.dashboard import phrases
from openslot.web.dashboard.list_queries import Pager, read_page
from openslot.web.dashboard.queries import BEFORE_FROM, NOT_A_DATE, read_day

LONGEST = 200


class AdminQuery(Struct, frozen=True, kw_only=True):
    """The filter of a list as it was asked for, what of it could not be used, and which page is shown."""

    path: str
    form: Form[Struct]
    page: int
    has_more: bool = False
    """Whether there is a page after this one."""

    def __getitem__(self, name: str) -> str | None:
        """Return what a field asks for; None if nothing, or nothing usable."""
        return (self.form[name] or None) if name not in self.form.faults else None

    def with_more(self, *, has_more: bool) -> "AdminQuery":
        """Return the query, knowing whether there is a page after this one."""
        return replace(self, has_more=has_more)

    def link(self, path: str | None = None, **changes: object) -> str:
        """Write the address of this list with some of it changed; an empty value is left out."""
        values = {**self.form.values, **changes}
        kept = {name: str(value) for name, value in values.items() if value}
        return f"{path or self.path}?{urlencode(kept)}" if kept else path or self.path

    @property
    def pager(self) -> Pager:
        """The pages beside this one."""
        return Pager(
            page=self.page,
            earlier=self.link(page=self.page - 1) if self.page > 1 else None,
            later=self.link(page=self.page + 1) if self.has_more else None,
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether something is chosen."""
        return any(self.form.values.values())

    def span(self, user: User) -> Span:
        """Return the days from `from` to `to`, in the reader's zone."""
        first, last = (read_day(self[name] or "") for name in ("from", "to"))
        return Span(
            phrases.begin_day(first, user.zone) if first else None,
            phrases.begin_day(last + timedelta(days=1), user.zone) if last else None,
        )


def read_admin_query(
    request: Request, path: str, fields: Sequence[str], *, choices: Mapping[str, Sequence[str]] | None = None
) -> AdminQuery:
    """Read an address; what can't be understood is a fault of its field, and a choice that does not exist is none."""
    values = {name: request.query.get(name, "").strip()[:LONGEST] for name in fields}
    for name, known in (choices or {}).items():
        if values[name] not in known:
            values[name] = ""
    faults: dict[str, Text] = {name: NOT_ALLOWED for name, value in values.items() if not is_line(value)}
    days = [_read_day(values, name, faults) for name in ("from", "to")]
    if days[0] and days[1] and days[1] < days[0]:
        faults["to"] = BEFORE_FROM
    shown = {name: "" if faults.get(name) is NOT_ALLOWED else value for name, value in values.items()}
    return AdminQuery(path=path, form=Form(values=shown, faults=faults), page=read_page(request))


def _read_day(values: dict[str, str], name: str, faults: dict[str, Text]) -> date | None:
    if not values.get(name):
        return None
    on = read_day(values[name])
    if on is None:
        faults.setdefault(name, NOT_A_DATE)
    return on
