"""Addresses of an organization's logs: the filter, the days, and the line before which to begin."""

from collections.abc import Iterable

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.moments import Span
from openslot.core.text import is_line
from openslot.i18n import Text
from openslot.routing import Form, Request
from openslot.web import list_addresses
from openslot.web.list_addresses import read_before, read_days, read_typed


class LogAddress(Struct, frozen=True, kw_only=True):
    """What an address asks for, and which of its days could not be used."""

    path: str
    form: Form[Struct]
    span: Span
    before_id: int | None
    """The line before which to begin; None is the newest."""
    is_first: bool

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is searched or chosen."""
        return any(self.form.values.values())

    def link(self, path: str | None = None, **changes: object) -> str:
        """Write an address with the same filter."""
        return list_addresses.link(path or self.path, {**self.form.values, **changes})


def read_log_address(request: Request, user: User, path: str, fields: Iterable[str]) -> LogAddress:
    """Read an address; what is not a line is left out, and a wrong day is a fault of its field."""
    typed = {name: value if is_line(value) else "" for name, value in read_typed(request, fields).items()}
    faults: dict[str, Text] = {}
    span = read_days(typed, faults, user)
    return LogAddress(
        path=path,
        form=Form(values=typed, faults=faults),
        span=span,
        before_id=read_before(request),
        is_first=not request.query.get("before"),
    )
