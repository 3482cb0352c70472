"""Pages: what was changed in an organization, by whom and from where, in words; also as CSV."""

import asyncio

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.change_log.operations import list_changes
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared import words
from openslot.doors.web.shared.changes import ACTIONS, describe_changes, read_change_filter, write_log
from openslot.doors.web.shared.downloads import send_csv
from openslot.doors.web.shared.list_queries import ListQuery, read_before, read_list_query
from openslot.doors.web.shared.organization import get_administered_membership, organization_page
from openslot.doors.web.shared.pages import locale_of
from openslot.platform.core.text import NOT_ALLOWED
from openslot.platform.core.work import Work
from openslot.platform.routing import Request, Response, get

HERE = "/organization/log"
ROWS, MAX_ROWS = 50, 10_000
FILTERS = ("q", "action", "from", "to")


def read_log_query(request: Request, user: User, path: str, *fields: str) -> ListQuery:
    """Read the address of a log; what is not a line is left out, and a wrong day is a fault of its field."""
    query = read_list_query(request, user, path, *fields)
    faults = {name: fault for name, fault in query.form.faults.items() if fault is not NOT_ALLOWED}
    return replace(query, form=replace(query.form, faults=faults))


@get("/organization/log")
async def show_log(request: Exchange, work: Work, user: User) -> Response:
    own = get_administered_membership(request)
    query = read_log_query(request, user, HERE, *FILTERS)
    wanted, before_id = read_change_filter(query), read_before(request)
    found = await list_changes(work, own.organization_id, wanted, before_id=before_id, limit=ROWS + 1)
    return organization_page(
        "log.html",
        request,
        own,
        here=HERE,
        rows=describe_changes(found[:ROWS], user),
        form=query.form,
        actions=ACTIONS,
        days_kept=work.runtime.settings.keep_changes_days,
        is_narrowed=query.is_narrowed,
        is_first=not request.query.get("before"),
        first=query.link(),
        export=query.link(f"{HERE}.csv"),
        older=query.link(before=found[ROWS - 1].id) if len(found) > ROWS else None,
    )


@get("/organization/log.csv")
async def export_log(request: Exchange, work: Work, user: User) -> Response:
    own = get_administered_membership(request)
    wanted = read_change_filter(read_log_query(request, user, HERE, *FILTERS))
    found = await list_changes(work, own.organization_id, wanted, limit=MAX_ROWS)
    # Thousands of lines take a while, and other requests must not wait for them.
    body = await asyncio.to_thread(write_log, found, user, locale_of(request))
    return send_csv(f"changes-{words.day(work.now, user.zone)}.csv", body)
