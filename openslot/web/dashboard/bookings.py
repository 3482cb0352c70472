"""Pages: the list of bookings, by view, filter and search."""

from datetime import timedelta

from openslot.accounts.models import User
from openslot.bookings import agenda
from openslot.bookings.models import AgendaView
from openslot.core.instants import iso
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.i18n import Text
from openslot.integrations.timeline import operations as timeline
from openslot.routing import Request, Response, get
from openslot.web.dashboard.curl import Curl, curl
from openslot.web.dashboard.entries import by_day
from openslot.web.dashboard.queries import BookingsQuery, read_bookings_query
from openslot.web.list_addresses import make_pager
from openslot.web.pages import page

ROWS = 25
VIEWS = {
    AgendaView.UPCOMING: Text("Upcoming"),
    AgendaView.PAST: Text("Past"),
    AgendaView.CANCELLED: Text("Cancelled"),
}
# What to say where there is nothing, by view.
EMPTY = {
    AgendaView.UPCOMING: Text("Nothing is booked. Share your link, or make a booking for someone yourself."),
    AgendaView.PAST: Text("No meeting has taken place yet."),
    AgendaView.CANCELLED: Text("No booking was cancelled."),
}


@get("/bookings")
async def show_bookings(request: Request, work: Work, user: User) -> Response:
    """Show one page of the bookings that the address asks for."""
    query = read_bookings_query(request, user)
    found = await agenda.list_agenda(work, user, query.filter, page=query.page, limit=ROWS)
    failed = await timeline.count_failed(work, user, [entry.id for entry in found.entries])
    offered, _ = await event_types.list_event_types(work, user)
    view = query.filter.view
    return page(
        "dashboard/bookings.html",
        user,
        here="/bookings",
        status=400 if query.form.faults else 200,
        form=query.form,
        view=view,
        tabs=[(name, query.link(view=each), each is view) for each, name in VIEWS.items()],
        upcoming=found.upcoming,
        total=found.total,
        days=by_day(found.entries, user, failed=failed, now=work.now),
        event_types=[(each.slug, each.name) for each in offered],
        nothing=None if query.is_narrowed else EMPTY[view],
        pager=make_pager(query.page, found.total, ROWS, lambda number: query.link(page=number)),
        export=query.link("/bookings/export.csv"),
        clear=query.link(q="", type="", **{"from": "", "to": ""}),
        curl=_write_curl(work, user, query),
    )


def _write_curl(work: Work, user: User, query: BookingsQuery) -> Curl | None:
    view, span = query.filter.view, query.filter.span
    starts_at = span.starts_at or (work.now if view is AgendaView.UPCOMING else None)
    ends_before = span.ends_before or (work.now if view is AgendaView.PAST else None)
    given = {"status": "CANCELLED" if view is AgendaView.CANCELLED else "CONFIRMED"}
    if starts_at is not None:
        given["from"] = iso(starts_at)
    if ends_before is not None:
        given["to"] = iso(ends_before - timedelta(seconds=1))
    return curl(work, user, "/bookings", query={**given, "page": str(query.page), "limit": str(ROWS)})
