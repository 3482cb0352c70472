"""Bookings as a CSV file that a spreadsheet can open safely."""

import asyncio
from collections.abc import Iterator

from openslot.accounts.models import User
from openslot.bookings import agenda
from openslot.bookings.models import AgendaEntry, Status
from openslot.core.work import Work
from openslot.core.zones import get_zone
from openslot.i18n import Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.routing import Request, Response, get
from openslot.web import words
from openslot.web.csv_files import send_csv, write_csv
from openslot.web.dashboard.queries import read_bookings_query
from openslot.web.pages import locale_of

MOST_ROWS = 10_000
COLUMNS = (
    Text("Start"),
    Text("End"),
    Text("Time zone"),
    Text("Status"),
    Text("Event type"),
    Text("Name"),
    Text("Email address"),
    Text("Time zone of the invitee"),
    Text("Where"),
    Text("Guests"),
    Text("Notes"),
    Text("Reason for cancelling"),
)
STATUSES = {Status.CONFIRMED: Text("Confirmed"), Status.CANCELLED: Text("Cancelled")}


@get("/bookings/export.csv")
async def export_bookings(request: Request, work: Work, user: User) -> Response:
    """Send the bookings that the address asks for, 10,000 at most."""
    query = read_bookings_query(request, user)
    found = await agenda.list_agenda(work, user, query.filter, limit=MOST_ROWS)
    # Thousands of lines take a while, and other requests must not wait for them.
    body = await asyncio.to_thread(_write, found.entries, user, locale_of(request))
    return send_csv(f"bookings-{query.filter.view}-{words.day(work.now, user.zone)}.csv", body)


def _write(entries: list[AgendaEntry], user: User, locale: Locale) -> bytes:
    columns = (str(localize(column, locale)) for column in COLUMNS)
    return write_csv(columns, (_cells(entry, user, locale) for entry in entries))


def _cells(entry: AgendaEntry, user: User, locale: Locale) -> Iterator[str]:
    zone = get_zone(user.zone)
    for instant in (entry.starts_at, entry.ends_at):
        yield f"{instant.astimezone(zone):%Y-%m-%d %H:%M}"
    yield user.zone
    yield str(localize(STATUSES[entry.status], locale))
    yield entry.event_type_name
    yield entry.invitee_name
    yield entry.invitee_email
    yield entry.invitee_zone
    yield entry.location.value
    yield ", ".join(entry.guests)
    yield entry.notes or ""
    yield entry.cancel_reason or ""
