"""What the pages of administrators have in common: lists by page and filter, and the line in the platform's log."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.change_log.models import ChangeAction, ChangeAuthor, Fields, NewChange
from openslot.change_log.operations import log_change
from openslot.core.moments import Span
from openslot.core.text import NOT_ALLOWED, is_line
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request
from openslot.web import list_addresses
from openslot.web.list_addresses import Pager, read_days, read_page, read_typed

NO_CHOICES: Mapping[str, Sequence[str]] = {}
NOTHING: Fields = {}


class AdminQuery(Struct, frozen=True, kw_only=True):
    """The filter of a list as it was asked for, what of it could not be used, and which page is shown."""

    path: str
    form: Form[Struct]
    span: Span
    """The days that are asked for."""
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
        return list_addresses.link(path or self.path, {**self.form.values, **changes})

    @property
    def pager(self) -> Pager:
        return Pager(
            page=self.page,
            earlier=self.link(page=self.page - 1) if self.page > 1 else None,
            later=self.link(page=self.page + 1) if self.has_more else None,
        )

    @property
    def is_narrowed(self) -> bool:
        return any(self.form.values.values())


def read_admin_query(
    request: Request, user: User, path: str, fields: Sequence[str], *, choices: Mapping[str, Sequence[str]] = NO_CHOICES
) -> AdminQuery:
    """Read an address; what can't be understood is a fault of its field, and a choice that does not exist is none."""
    values = read_typed(request, fields)
    for name, known in choices.items():
        if values[name] not in known:
            values[name] = ""
    faults: dict[str, Text] = {name: NOT_ALLOWED for name, value in values.items() if not is_line(value)}
    span = read_days(values, faults, user)
    shown = {name: "" if faults.get(name) is NOT_ALLOWED else value for name, value in values.items()}
    return AdminQuery(path=path, form=Form(values=shown, faults=faults), span=span, page=read_page(request))


async def log_platform(
    work: Work,
    author: ChangeAuthor,
    action: ChangeAction,
    subject: str,
    *,
    subject_id: UUID | None = None,
    before: Fields = NOTHING,
    after: Fields = NOTHING,
) -> None:
    """Write who changed what on the platform, in the transaction of the change."""
    await log_change(
        work,
        NewChange(action=action, author=author, subject=subject, subject_id=subject_id, before=before, after=after),
    )
