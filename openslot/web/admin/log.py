"""Pages: what administrators have changed on the platform; also as CSV."""

import asyncio

from openslot.accounts.models import User
from openslot.change_log.models import ChangeFilter
from openslot.change_log.operations import list_changes
from openslot.core.work import Work
from openslot.routing import Request, Response, get
from openslot.web import words
from openslot.web.admin.queries import AdminQuery, read_admin_query
from openslot.web.csv_files import send_csv
from openslot.web.list_addresses import read_before
from openslot.web.organization.log import MOST_ROWS, ROWS, describe_change, write_log
from openslot.web.organization.log_words import PLATFORM_ACTIONS
from openslot.web.pages import locale_of, page

FIELDS = ("q", "action", "from", "to")


@get("/admin/log")
async def show_platform_log(request: Request, work: Work, user: User) -> Response:
    """Show the changes that the address asks for, newest first."""
    query = _read_query(request, user)
    found = await list_changes(work, None, _filter(query), before_id=read_before(request), limit=ROWS + 1)
    return page(
        "admin/log.html",
        user,
        here="/admin/log",
        status=400 if query.form.faults else 200,
        query=query,
        form=query.form,
        actions=PLATFORM_ACTIONS,
        rows=[describe_change(each, user, work) for each in found[:ROWS]],
        older=query.link(before=found[ROWS - 1].id) if len(found) > ROWS else None,
        export=query.link("/admin/log.csv"),
        days_kept=work.runtime.settings.keep_changes_days,
    )


@get("/admin/log.csv")
async def export_platform_log(request: Request, work: Work, user: User) -> Response:
    """Send the changes that the address asks for, 10,000 at most."""
    found = await list_changes(work, None, _filter(_read_query(request, user)), limit=MOST_ROWS)
    body = await asyncio.to_thread(write_log, found, user, locale_of(request))
    return send_csv(f"platform-changes-{words.day(work.now, user.zone)}.csv", body)


def _read_query(request: Request, user: User) -> AdminQuery:
    return read_admin_query(request, user, "/admin/log", FIELDS, choices={"action": list(PLATFORM_ACTIONS)})


def _filter(query: AdminQuery) -> ChangeFilter:
    return ChangeFilter(action=query["action"] or "", search=query["q"] or "", span=query.span)
