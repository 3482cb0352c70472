"""Pages: what was changed in an organization, by whom and from where; also as CSV."""

import asyncio
import csv
from io import StringIO
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from openslot.accounts.models import User
from openslot.change_log.models import ChangeFilter, LoggedChange
from openslot.change_log.operations import list_changes
from openslot.core.spreadsheets import make_safe
from openslot.core.text import is_line
from openslot.core.work import Work
from openslot.core.zones import get_zone
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.routing import Response, get
from openslot.web import words
from openslot.web.dashboard import phrases
from openslot.web.dashboard.booking_csv import BOM
from openslot.web.organization.current import get_administered, organization_page
from openslot.web.organization.days import DayFilter, read_days
from openslot.web.organization.log_words import ACTIONS, list_fields, name_action
from openslot.web.pages import NOT_KEPT, locale_of

HERE = "/organization/log"
ROWS, MOST_ROWS = 50, 10_000
FILTERS = ("q", "action", "from", "to")
LONGEST = 200
COLUMNS = (
    Text("Time"),
    Text("Time zone"),
    Text("Who"),
    Text("Email address"),
    Text("Address"),
    Text("Change"),
    Text("Affected"),
    Text("Before"),
    Text("After"),
)


class ChangeRow(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    when: Text
    change: LoggedChange
    action: str
    fields: list[tuple[str, object, object]]


@get("/organization/log")
async def show_log(request: Exchange, work: Work, user: User) -> Response:
    """Show the changes that the address asks for, newest first."""
    own = get_administered(request)
    typed = _read_typed(request)
    days = read_days(typed, user)
    before = request.query.get("before", "")
    found = await list_changes(
        work,
        own.organization_id,
        _read_filter(typed, days),
        before_id=int(before) if before.isascii() and before.isdecimal() and len(before) < 18 else None,
        limit=ROWS + 1,
    )
    return organization_page(
        "log.html",
        request,
        user,
        own,
        here=HERE,
        status=400 if days.form.faults else 200,
        rows=[describe_change(each, user, work) for each in found[:ROWS]],
        form=days.form,
        actions=ACTIONS,
        days_kept=work.runtime.settings.keep_changes_days,
        is_narrowed=any(typed.values()),
        is_first=not before,
        first=_link(HERE, typed),
        export=_link(f"{HERE}.csv", typed),
        older=_link(HERE, {**typed, "before": str(found[ROWS - 1].id)}) if len(found) > ROWS else None,
    )


@get("/organization/log.csv")
async def export_log(request: Exchange, work: Work, user: User) -> Response:
    """Send the changes that the address asks for, 10,000 at most."""
    own = get_administered(request)
    typed = _read_typed(request)
    wanted = _read_filter(typed, read_days(typed, user))
    found = await list_changes(work, own.organization_id, wanted, limit=MOST_ROWS)
    headers = {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": f"attachment; filename=changes-{words.day(work.now, user.zone)}.csv",
    }
    # Thousands of lines take a while, and other requests must not wait for them.
    body = await asyncio.to_thread(write_log, found, user, locale_of(request))
    return Response(headers={**NOT_KEPT, **headers}, body=body)


def write_log(changes: list[LoggedChange], user: User, locale: Locale) -> bytes:
    """Write one line for each change, below the names of the columns."""
    text, zone = StringIO(), get_zone(user.zone)
    writer = csv.writer(text)
    writer.writerow([localize(column, locale) for column in COLUMNS])
    for each in changes:
        fields = list_fields(each, user)
        cells = (
            f"{each.at.astimezone(zone):%Y-%m-%d %H:%M:%S}",
            user.zone,
            each.actor_name,
            each.actor_email or "",
            each.address or "",
            str(localize(name_action(each), locale)),
            each.subject,
            _join(((name, before) for name, before, _ in fields), locale),
            _join(((name, after) for name, _, after in fields), locale),
        )
        writer.writerow([make_safe(cell) for cell in cells])
    return f"{BOM}{text.getvalue()}".encode()


def _join(fields: Any, locale: Locale) -> str:
    said = [(localize(name, locale), localize(value, locale)) for name, value in fields if value is not None]
    return "; ".join(f"{name}: {value}" for name, value in said)


def describe_change(change: LoggedChange, user: User, work: Work) -> ChangeRow:
    """Describe a change as a line of the page."""
    return ChangeRow(
        when=phrases.at(change.at, user.zone, now=work.now),
        change=change,
        action=name_action(change),
        fields=list_fields(change, user),
    )


def _read_typed(request: Exchange) -> dict[str, str]:
    typed = {name: request.query.get(name, "").strip()[:LONGEST] for name in FILTERS}
    return {name: value if is_line(value) else "" for name, value in typed.items()}


def _read_filter(typed: dict[str, str], days: DayFilter) -> ChangeFilter:
    return ChangeFilter(action=typed["action"], search=typed["q"], span=days.span)


def _link(path: str, typed: dict[str, str]) -> str:
    kept = {name: value for name, value in typed.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path
