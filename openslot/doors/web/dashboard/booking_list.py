"""Pages: the list of bookings, also as a CSV file."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import AgendaEntry, AgendaFilter, AgendaView, Status
from openslot.domains.bookings.operations import list_agenda
from openslot.domains.event_types.operations import list_event_types
from openslot.domains.timeline.operations import count_failed_effects
from openslot.doors.web.shared import words
from openslot.doors.web.shared.curl import Curl, curl
from openslot.doors.web.shared.days import by_day
from openslot.doors.web.shared.downloads import send_csv, write_csv
from openslot.doors.web.shared.handed_over import HANDED_OVER
from openslot.doors.web.shared.list_queries import ListQuery, link, read_count, read_list_query
from openslot.doors.web.shared.pages import MailNotice, locale_of, page
from openslot.platform.core.times import get_zone, iso
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text, recall
from openslot.platform.i18n.languages import Locale
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import Form, Request, Response, get

ROWS = 18
VIEWS = {
    AgendaView.UPCOMING: Text("Upcoming"),
    AgendaView.PAST: Text("Past"),
    AgendaView.CANCELLED: Text("Cancelled"),
}
# What to say where there is nothing, by view.
EMPTY = {
    AgendaView.UPCOMING: Text("Nothing is booked. Share your link, or book on someone's behalf."),
    AgendaView.PAST: Text("No meeting has taken place yet."),
    AgendaView.CANCELLED: Text("No booking was cancelled."),
}
MAX_ROWS = 10_000
# What the address asks for that has meetings of colleagues, too.
TEAMS = "teams"
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
    Text("No-show"),
)
STATUSES = {Status.CONFIRMED: Text("Confirmed"), Status.CANCELLED: Text("Cancelled")}


@get("/bookings")
async def show_bookings(request: Request, work: Work, user: User, form: Form[Any] = Form()) -> Response:
    """Show one page of the bookings that the address asks for; the form sends those that are selected."""
    query = read_bookings_query(request, user)
    wanted = _filter(query)
    found = await list_agenda(work, user, wanted, page=query.page, limit=ROWS)
    failed = await count_failed_effects(work, user, [entry.id for entry in found.entries])
    offered, _ = await list_event_types(work, user)
    view = wanted.view
    return page(
        "dashboard/bookings.html",
        user,
        here="/bookings",
        status=400 if form.faults or query.form.faults else 200,
        form=query.form,
        selection=form,
        kept=link("", {**query.form.values, "page": query.page if query.page > 1 else ""}),
        can_cancel=view is AgendaView.UPCOMING,
        can_mark=any(each.status is Status.CONFIRMED and each.starts_at <= work.now for each in found.entries),
        tabs=[(name, query.link(view=each), each is view) for each, name in VIEWS.items()],
        upcoming=found.upcoming,
        requests=found.requests,
        total=found.total,
        days=by_day(found.entries, user, failed=failed, now=work.now),
        event_types=[(each.slug, each.name) for each in offered],
        owns_teams=any(each.team_id for each in offered),
        nothing=None if query.is_narrowed else EMPTY[view],
        pager=query.pager(found.total, ROWS),
        export=query.link("/bookings/export.csv"),
        clear=query.link(q="", type="", hosts="", **{"from": "", "to": ""}),
        curl=_write_curl(work, user, query),
        notices={
            "handed-over": HANDED_OVER,
            "cancelled": tell_cancelled(read_count(request)),
            "no-show": tell_missed(read_count(request)),
        },
    )


def tell_cancelled(count: int) -> MailNotice:
    return MailNotice(
        PluralText(
            "%(count)s booking was cancelled. Everyone will be notified by email.",
            "%(count)s bookings were cancelled. Everyone will be notified by email.",
            count=count,
        ),
        PluralText(
            "%(count)s booking was cancelled. No mail server is set up, so nobody is notified.",
            "%(count)s bookings were cancelled. No mail server is set up, so nobody is notified.",
            count=count,
        ),
    )


def tell_missed(count: int) -> Text:
    return PluralText(
        "%(count)s booking was marked as a no-show. Nobody is notified.",
        "%(count)s bookings were marked as no-shows. Nobody is notified.",
        count=count,
    )


def read_bookings_query(request: Request, user: User) -> ListQuery:
    fields = ("view", "q", "type", "hosts", "from", "to")
    return read_list_query(request, user, "/bookings", *fields, choices={"view": set(AgendaView), "hosts": {TEAMS}})


def _filter(query: ListQuery) -> AgendaFilter:
    view = AgendaView(query["view"] or AgendaView.UPCOMING)
    of_teams = query["hosts"] == TEAMS
    return AgendaFilter(view=view, search=query["q"], slug=query["type"], of_teams=of_teams, span=query.span)


def _write_curl(work: Work, user: User, query: ListQuery) -> Curl | None:
    view, span = _filter(query).view, query.span
    starts_at = span.starts_at or (work.now if view is AgendaView.UPCOMING else None)
    ends_before = span.ends_before or (work.now if view is AgendaView.PAST else None)
    given = {"status": "CANCELLED" if view is AgendaView.CANCELLED else "CONFIRMED"}
    if starts_at is not None:
        given["from"] = iso(starts_at)
    if ends_before is not None:
        given["to"] = iso(ends_before - timedelta(seconds=1))
    return curl(work, user, "/bookings", query={**given, "page": str(query.page), "limit": str(ROWS)})


@get("/bookings/export.csv")
async def export_bookings(request: Request, work: Work, user: User) -> Response:
    """Send the bookings that the address asks for, 10,000 at most."""
    wanted = _filter(read_bookings_query(request, user))
    found = await list_agenda(work, user, wanted, limit=MAX_ROWS)
    # Thousands of lines take a while, and other requests must not wait for them.
    body = await asyncio.to_thread(write_bookings, found.entries, user, locale_of(request))
    return send_csv(f"bookings-{wanted.view}-{words.day(work.now, user.zone)}.csv", body)


def write_bookings(entries: list[AgendaEntry], user: User, locale: Locale) -> bytes:
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
    yield str(localize(recall(entry.cancel_reason or ""), locale))
    yield str(localize(Text("No-show"), locale)) if entry.no_show else ""
