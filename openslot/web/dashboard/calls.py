"""Pages: the list of calls, and one call."""

from collections.abc import Iterator
from datetime import date, datetime
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.calls import operations as history
from openslot.calls.models import CallDirection, CallStatus, KnownCall
from openslot.calls.operations import CallsFilter
from openslot.core.work import Work
from openslot.i18n import PluralText, Text
from openslot.routing import Request, Response, get
from openslot.web import words
from openslot.web.dashboard.curl import Curl, curl
from openslot.web.list_queries import ListQuery, read_list_query
from openslot.web.pages import page

DIRECTIONS = {CallDirection.INBOUND: Text("Incoming"), CallDirection.OUTBOUND: Text("Outgoing")}
STATUSES = {
    CallStatus.COMPLETED: (Text("Completed"), "good"),
    CallStatus.NO_ANSWER: (Text("No answer"), "warn"),
    CallStatus.FAILED: (Text("Failed"), "bad"),
}
ROWS = 25


class CallRow(Struct, frozen=True, kw_only=True):
    id: UUID
    name: str
    direction: Text
    at: Text | date
    length: Text | None
    status: Text
    tone: str
    agent: str


def call_row(known: KnownCall, user: User, *, now: datetime) -> CallRow:
    """Describe a call that is over as a row."""
    call = known.call
    status, tone = STATUSES[call.status or CallStatus.FAILED]
    return CallRow(
        id=call.id,
        name=known.contact.name if known.contact else call.caller_phone,
        direction=DIRECTIONS[call.direction],
        at=words.moment(call.started_at, user.zone, now=now),
        length=length_of(call.duration_seconds) if call.duration_seconds else None,
        status=status,
        tone=tone,
        agent=call.agent_name,
    )


def length_of(seconds: int) -> Text:
    """Write `3 min 4 s`."""
    if seconds < 60:
        return PluralText("%(count)s s", "%(count)s s", count=seconds)
    if seconds < 3600:
        return Text("%(minutes)s min %(seconds)s s", minutes=seconds // 60, seconds=seconds % 60)
    return Text("%(hours)s h %(minutes)s min", hours=seconds // 3600, minutes=seconds // 60 % 60)


@get("/calls")
async def show_calls(request: Request, work: Work, user: User) -> Response:
    """Show one page of the finished calls that the address asks for."""
    choices: dict[str, set[str]] = {"direction": set(CallDirection), "status": set(CallStatus)}
    query = read_list_query(request, user, "/calls", "q", "direction", "status", "from", "to", choices=choices)
    direction, status = query["direction"], query["status"]
    wanted = CallsFilter(
        search=query["q"],
        direction=CallDirection(direction) if direction else None,
        status=CallStatus(status) if status else None,
        span=query.span,
    )
    found, total = await history.list_calls(work, user, wanted, page=query.page, limit=ROWS)
    return page(
        "dashboard/calls/list.html",
        user,
        here="/calls",
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
    yield Text("Start"), words.at(call.started_at, user.zone, now=now)
    if call.ended_at:
        yield Text("End"), words.at(call.ended_at, user.zone, now=now)
    if row.length:
        yield Text("Length"), row.length
    yield Text("Voice agent"), call.agent_name


def _write_curl(work: Work, user: User, query: ListQuery) -> Curl | None:
    status = {"status": query["status"].upper()} if query["status"] else {}
    return curl(work, user, "/calls", query={**status, **query.days, "page": str(query.page), "limit": str(ROWS)})
