"""Pages: what was changed in an organization, by whom and from where; also as CSV."""

import asyncio
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from openslot.accounts.models import User
from openslot.change_log.models import ChangeFilter, LoggedChange
from openslot.change_log.operations import list_changes
from openslot.core.work import Work
from openslot.core.zones import get_zone
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.routing import Response, get
from openslot.web import words
from openslot.web.csv_files import send_csv, write_csv
from openslot.web.dashboard import phrases
from openslot.web.organization.current import get_administered, organization_page
from openslot.web.organization.log_addresses import LogAddress, read_log_address
from openslot.web.organization.log_words import ACTIONS, list_fields, name_action
from openslot.web.pages import locale_of

HERE = "/organization/log"
ROWS, MOST_ROWS = 50, 10_000
FILTERS = ("q", "action", "from", "to")
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
    query = read_log_address(request, user, HERE, FILTERS)
    found = await list_changes(work, own.organization_id, _filter(query), before_id=query.before_id, limit=ROWS + 1)
    return organization_page(
        "log.html",
        request,
        user,
        own,
        here=HERE,
        status=400 if query.form.faults else 200,
        rows=[describe_change(each, user, work) for each in found[:ROWS]],
        form=query.form,
        actions=ACTIONS,
        days_kept=work.runtime.settings.keep_changes_days,
        is_narrowed=query.is_narrowed,
        is_first=query.is_first,
        first=query.link(),
        export=query.link(f"{HERE}.csv"),
        older=query.link(before=found[ROWS - 1].id) if len(found) > ROWS else None,
    )


@get("/organization/log.csv")
async def export_log(request: Exchange, work: Work, user: User) -> Response:
    """Send the changes that the address asks for, 10,000 at most."""
    own = get_administered(request)
    wanted = _filter(read_log_address(request, user, HERE, FILTERS))
    found = await list_changes(work, own.organization_id, wanted, limit=MOST_ROWS)
    # Thousands of lines take a while, and other requests must not wait for them.
    body = await asyncio.to_thread(write_log, found, user, locale_of(request))
    return send_csv(f"changes-{words.day(work.now, user.zone)}.csv", body)


def write_log(changes: list[LoggedChange], user: User, locale: Locale) -> bytes:
    """Write one line for each change, below the names of the columns."""
    columns = (str(localize(column, locale)) for column in COLUMNS)
    return write_csv(columns, (_cells(each, user, locale) for each in changes))


def _cells(change: LoggedChange, user: User, locale: Locale) -> Iterator[str]:
    fields = list_fields(change, user)
    yield f"{change.at.astimezone(get_zone(user.zone)):%Y-%m-%d %H:%M:%S}"
    yield user.zone
    yield change.actor_name
    yield change.actor_email or ""
    yield change.address or ""
    yield str(localize(name_action(change), locale))
    yield change.subject
    yield _join(((name, before) for name, before, _ in fields), locale)
    yield _join(((name, after) for name, _, after in fields), locale)


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


def _filter(query: LogAddress) -> ChangeFilter:
    return ChangeFilter(action=query.form["action"], search=query.form["q"], span=query.span)
