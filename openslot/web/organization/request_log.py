"""Pages: what identity providers asked for, and how it was answered."""

from urllib.parse import urlencode

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.ids import SHAPE, parse_id
from openslot.core.text import is_line
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.routing import Response, get
from openslot.scim.models import LoggedRequest, RequestFilter
from openslot.scim.requests import KEPT, search_requests
from openslot.web.dashboard import phrases
from openslot.web.organization.current import get_administered, organization_page
from openslot.web.organization.days import DayFilter, read_days
from openslot.web.organization.provisioning import HERE

PATH = "/organization/provisioning/log"
ROWS = 50
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
STATUSES = {"2": Text("Done"), "4": Text("Refused"), "5": Text("Failed")}
FIELDS = ("method", "status", "path", "user", "token", "from", "to")
LONGEST = 200


class RequestRow(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    when: Text
    request: LoggedRequest
    tone: str


@get("/organization/provisioning/log")
async def show_request_log(request: Exchange, work: Work, user: User) -> Response:
    """Show the requests that the address asks for, newest first."""
    own = get_administered(request)
    typed = read_typed(request)
    days = read_days(typed, user)
    before = request.query.get("before", "")
    found = await search_requests(
        work,
        own.organization_id,
        _read_filter(typed, days),
        before_id=int(before) if before.isascii() and before.isdecimal() and len(before) < 18 else None,
        limit=ROWS + 1,
    )
    return organization_page(
        "requests.html",
        request,
        user,
        own,
        here=HERE,
        status=400 if days.form.faults else 200,
        rows=[_row(each, user, work) for each in found[:ROWS]],
        form=days.form,
        methods=METHODS,
        statuses=STATUSES,
        kept=KEPT.days,
        is_narrowed=any(typed.values()),
        is_first=not before,
        first=_link(typed),
        older=_link({**typed, "before": str(found[ROWS - 1].id)}) if len(found) > ROWS else None,
    )


def read_typed(request: Exchange) -> dict[str, str]:
    """Read the filter of an address; what can't be a line is left out."""
    typed = {name: request.query.get(name, "").strip()[:LONGEST] for name in FIELDS}
    return {name: value if is_line(value) else "" for name, value in typed.items()}


def _read_filter(typed: dict[str, str], days: DayFilter) -> RequestFilter:
    return RequestFilter(
        method=typed["method"] if typed["method"] in METHODS else "",
        status=typed["status"] if typed["status"] in STATUSES else "",
        path=typed["path"],
        user=typed["user"],
        token_id=parse_id(typed["token"]) if SHAPE.fullmatch(typed["token"]) else None,
        span=days.span,
    )


def _row(logged: LoggedRequest, user: User, work: Work) -> RequestRow:
    when = phrases.at(logged.at, user.zone, now=work.now)
    return RequestRow(when=when, request=logged, tone="good" if logged.status < 400 else "bad")


def _link(typed: dict[str, str]) -> str:
    kept = {name: value for name, value in typed.items() if value}
    return f"{PATH}?{urlencode(kept)}" if kept else PATH
