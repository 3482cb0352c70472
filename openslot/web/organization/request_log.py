"""Pages: what identity providers asked for, and how it was answered."""

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.ids import SHAPE, parse_id
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.i18n import Text
from openslot.routing import Response, get
from openslot.scim.models import LoggedRequest, RequestFilter
from openslot.scim.operations import KEPT, search_requests
from openslot.web.dashboard import phrases
from openslot.web.organization.current import get_administered, organization_page
from openslot.web.organization.log_addresses import LogAddress, read_log_address
from openslot.web.organization.provisioning import HERE

PATH = "/organization/provisioning/log"
ROWS = 50
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
STATUSES = {"2": Text("Done"), "4": Text("Refused"), "5": Text("Failed")}
FIELDS = ("method", "status", "path", "user", "token", "from", "to")


class RequestRow(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    when: Text
    request: LoggedRequest
    tone: str


@get("/organization/provisioning/log")
async def show_request_log(request: Exchange, work: Work, user: User) -> Response:
    """Show the requests that the address asks for, newest first."""
    own = get_administered(request)
    query = read_log_address(request, user, PATH, FIELDS)
    found = await search_requests(work, own.organization_id, _filter(query), before_id=query.before_id, limit=ROWS + 1)
    return organization_page(
        "requests.html",
        request,
        user,
        own,
        here=HERE,
        status=400 if query.form.faults else 200,
        rows=[_row(each, user, work) for each in found[:ROWS]],
        form=query.form,
        methods=[(name, name) for name in METHODS],
        statuses=STATUSES,
        kept=KEPT.days,
        is_narrowed=query.is_narrowed,
        is_first=query.is_first,
        first=query.link(),
        older=query.link(before=found[ROWS - 1].id) if len(found) > ROWS else None,
    )


def _filter(query: LogAddress) -> RequestFilter:
    typed = query.form
    return RequestFilter(
        method=typed["method"] if typed["method"] in METHODS else "",
        status=typed["status"] if typed["status"] in STATUSES else "",
        path=typed["path"],
        user=typed["user"],
        token_id=parse_id(typed["token"]) if SHAPE.fullmatch(typed["token"]) else None,
        span=query.span,
    )


def _row(logged: LoggedRequest, user: User, work: Work) -> RequestRow:
    when = phrases.at(logged.at, user.zone, now=work.now)
    return RequestRow(when=when, request=logged, tone="good" if logged.status < 400 else "bad")
