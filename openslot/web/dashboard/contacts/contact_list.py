"""Pages: the list of contacts, searched and sorted."""

from datetime import date, datetime
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.contacts import directory
from openslot.contacts.models import ContactEntry, ContactSort
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Request, Response, get
from openslot.web import words
from openslot.web.dashboard.contacts.contact_csv import MOST_ROWS
from openslot.web.dashboard.contacts.contact_query import read_contacts_query, read_sort
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.list_queries import ListQuery
from openslot.web.pages import page

ROWS = 25
SORTS = {ContactSort.NEWEST: Text("Newest first"), ContactSort.NAME: Text("By name")}
NOTICES = {"deleted": Text("The contact was deleted.")}


class ContactRow(Struct, frozen=True, kw_only=True):
    """One contact in the list."""

    id: UUID
    name: str
    email: str
    company: str | None
    last_met: Text | date | None
    next_meeting: Text | date | None
    meetings: int


@get("/contacts")
async def show_contacts(request: Request, work: Work, user: User) -> Response:
    """Show one page of the contacts that the address asks for."""
    query = read_contacts_query(request, user)
    found, total = await directory.list_directory(
        work, user, search=query.search, sort=read_sort(query), page=query.page, limit=ROWS
    )
    parts = range(1, -(-total // MOST_ROWS) + 1)
    return page(
        "dashboard/contacts/list.html",
        user,
        here="/contacts",
        status=query.status,
        form=query.form,
        sorts=SORTS,
        rows=[_row(entry, user, now=work.now) for entry in found],
        total=total,
        is_searched=bool(query.search),
        pager=query.pager(total, ROWS),
        files=[(part, query.link("/contacts/export.csv", part=part if part > 1 else "")) for part in parts],
        clear=query.link(q=""),
        notice=NOTICES.get(request.query.get("done", "")),
        curl=curl(work, user, "/contacts", query=_asked(query)),
    )


def _asked(query: ListQuery) -> dict[str, str]:
    search = {"search": query.search} if query.search else {}
    return {**search, "page": str(query.page), "limit": str(ROWS)}


def _row(entry: ContactEntry, user: User, *, now: datetime) -> ContactRow:
    contact = entry.contact
    return ContactRow(
        id=contact.id,
        name=contact.name,
        email=contact.email,
        company=contact.company,
        last_met=words.moment(entry.last_met_at, user.zone, now=now) if entry.last_met_at else None,
        next_meeting=words.moment(entry.next_meeting_at, user.zone, now=now) if entry.next_meeting_at else None,
        meetings=entry.meeting_count,
    )
