"""Pages: the list of calls, and one call."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from openslot.accounts.models import User
from openslot.calls import history
from openslot.calls.history import CallsFilter
from openslot.calls.models import CallDirection, CallStatus, KnownCall
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Request, Response, get
from openslot.web.dashboard import phrases
from openslot.web.dashboard.calls.call_rows import DIRECTIONS, STATUSES, call_row
from openslot.web.dashboard.curl import Curl, curl
from openslot.web.dashboard.list_queries import ListQuery, read_list_query
from openslot.web.pages import page

ROWS = 25


@get("/calls")
async def show_calls(request: Request, work: Work, user: User) -> Response:
    """Show one page of the finished calls that the address asks for."""
    choices = {"direction": frozenset(CallDirection), "status": frozenset(CallStatus)}
    query = read_list_query(request, user, "/calls", choices=choices, days=True)
    direction, status = query.form["direction"], query.form["status"]
    wanted = CallsFilter(
        search=query.search,
        direction=CallDirection(direction) if direction else None,
        status=CallStatus(status) if status else None,
        span=query.span,
    )
    found, total = await history.list_calls(work, user, wanted, page=query.page, limit=ROWS)
    return page(
        "dashboard/calls/list.html",
        user,
        here="/calls",
        status=query.status,
        form=query.form,
        directions=DIRECTIONS,
        statuses={each: name for each, (name, _) in STATUSES.items()},
        rows=[call_row(each, user, now=work.now) for each in found],
        is_narrowed=query.is_narrowed,
        pager=query.pager(total, ROWS),
        curl=_write_curl(work, user, query),
    )


@get("/calls/{call_id}")
async def show_call_page(work: Work, user: User, call_id: UUID) -> Response:
    """Show one call."""
    known = await history.get_call(work, user, call_id)
    return page(
        "dashboard/calls/call.html",
        user,
        here="/calls",
        known=known,
        row=call_row(known, user, now=work.now),
        facts=list(_list_facts(known, user, now=work.now)),
    )


def _list_facts(known: KnownCall, user: User, *, now: datetime) -> Iterator[tuple[str, object]]:
    call, row = known.call, call_row(known, user, now=now)
    yield Text("Direction"), row.direction
    yield Text("Phone number"), call.caller_phone
    yield Text("Start"), phrases.at(call.started_at, user.zone, now=now)
    if call.ended_at:
        yield Text("End"), phrases.at(call.ended_at, user.zone, now=now)
    if row.length:
        yield Text("Length"), row.length
    yield Text("Voice agent"), call.agent_name


def _write_curl(work: Work, user: User, query: ListQuery) -> Curl | None:
    status = {"status": query.form["status"].upper()} if query.form["status"] else {}
    return curl(work, user, "/calls", query={**status, **query.days, "page": str(query.page), "limit": str(ROWS)})
