"""What a page says when it is not shown or a form was refused, and where links with a former username lead."""

from collections.abc import Awaitable, Callable
from functools import wraps
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from openslot.domains.accounts.models import DEFAULT_COLOR
from openslot.domains.accounts.profiles.operations import find_current_username
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.availability.errors import DayHoldLimitExceeded
from openslot.domains.bookings.errors import EmailCodeNotSent, EmailVerificationRequired, RescheduleLimitExceeded
from openslot.domains.bookings.public_api import READS
from openslot.domains.event_types.errors import LinkClosed, LinkEnded, LinkRevoked, LinkUsedUp
from openslot.domains.payments.errors import CheckoutNotOpened
from openslot.doors.http.doors import take
from openslot.doors.http.errors import headers_of, status_of
from openslot.doors.web.booking_page.for_assistants import HEADERS, Format, choose_format, write_refusal
from openslot.doors.web.shared import words
from openslot.doors.web.shared.booking_view import show
from openslot.doors.web.shared.options import read_options
from openslot.doors.web.shared.pages import NOT_KEPT
from openslot.doors.web.shared.views import VIEWS
from openslot.platform.core.errors import NotFound, RateLimited, Refusal, RefusalKind
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Request, Response

TOO_MANY = Text("Too many bookings were sent from your network. What you typed is still here.")
NOT_PAID = Text("Nothing was booked or paid. What you typed is still here: try again in a moment.")

ASK_FOR_LINK = Text("Ask the person who sent it to you for a new link.")
ADVICE: dict[type[LinkClosed], Text] = {
    LinkUsedUp: Text(
        "It was for a limited number of bookings, and all of them are made. If one of them is yours, the link in its"
        " confirmation email leads to it. Otherwise, ask the person who sent it to you for a new link."
    ),
    LinkEnded: ASK_FOR_LINK,
    LinkRevoked: ASK_FOR_LINK,
}


Show = Callable[..., Awaitable[Response]]
# Only for a time, because the owner may take the name back; a form is sent again as it is.
MOVED = 307
IN_QUERY = "%!$&'()*+,;=:@/?-._~"


def limit_views(handler: Show) -> Show:
    """Count a handler's pages by the visitor's address, and show visitors who open too many when to come back.

    Forms are counted too, because one that was filled in wrongly is shown again.

    Assistants share the limit of the public API instead; each page counts for one limit only.
    """

    @wraps(handler)
    async def show_within_limit(*, work: Work, request: Request, **values: object) -> Response:
        wanted = choose_format(request)
        try:
            await take(work.runtime, VIEWS if wanted is Format.HTML else READS, request.address)
        except RateLimited as refusal:
            return _show_too_many(request, refusal) if wanted is Format.HTML else write_refusal(refusal, wanted)
        return await handler(work=work, request=request, **values)

    return show_within_limit


def _show_too_many(request: Request, refusal: RateLimited) -> Response:
    options = read_options(request)
    again = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
    wait = words.wait(refusal.retry_after)
    shown = show("booking/too_many.html", options, color=DEFAULT_COLOR, status=429, again=again, wait=wait)
    return replace(shown, headers={**shown.headers, "x-error-code": refusal.code, **headers_of(refusal)})


def explain_closed(handler: Show) -> Show:
    """Show why nothing can be booked through a link that is used up, has ended or was revoked."""

    @wraps(handler)
    async def show_or_explain(*, request: Request, **values: object) -> Response:
        try:
            return await handler(request=request, **values)
        except LinkClosed as refusal:
            options = read_options(request)
            status, advice = status_of(refusal), ADVICE[type(refusal)]
            shown = show(
                "booking/closed.html",
                options,
                color=DEFAULT_COLOR,
                status=status,
                message=refusal.sentence,
                advice=advice,
            )
            return replace(shown, headers={**shown.headers, "x-error-code": refusal.code})

    return show_or_explain


def list_warnings(refusal: Refusal, is_open: bool) -> tuple[str, ...]:
    """Say why nothing was done, unless the fields or the chosen time say it already."""
    if isinstance(refusal, RescheduleLimitExceeded | DayHoldLimitExceeded | EmailCodeNotSent):
        return (Text("%(message)s.", message=refusal.sentence), words.wait(refusal.retry_after))
    if isinstance(refusal, EmailVerificationRequired):
        return (Text("We sent a code to %(email)s. Enter it below to book this time.", email=refusal.invitee.email),)
    if isinstance(refusal, RateLimited) and not isinstance(refusal, AllowanceUsed):
        return (TOO_MANY, words.wait(refusal.retry_after))
    if isinstance(refusal, CheckoutNotOpened):
        return (Text("%(message)s.", message=refusal.sentence), NOT_PAID)
    if refusal.faults or refusal.kind is RefusalKind.INVALID or not is_open:
        return ()
    return (Text("%(message)s.", message=refusal.sentence),)


def follow_former(handler: Show) -> Show:
    """Redirect to the current username if a handler finds nothing and its path begins with a former one."""

    @wraps(handler)
    async def show_or_redirect(*, work: Work, request: Request, username: str, **values: object) -> Response:
        try:
            answer = await handler(work=work, request=request, username=username, **values)
        except NotFound:
            moved = await _find_moved(work, request, username)
            if moved is None:
                raise
            return moved
        # Assistants get the refusal as an answer.
        return answer if answer.status != 404 else await _find_moved(work, request, username) or answer

    return show_or_redirect


async def _find_moved(work: Work, request: Request, username: str) -> Response | None:
    wanted = choose_format(request)
    former = username.removesuffix(wanted.suffix)
    current = await find_current_username(work, former)
    if current is None:
        return None
    path = quote(f"/{current}{request.path[len(former) + 1 :]}")
    query = quote(request.query_string, safe=IN_QUERY)
    headers = NOT_KEPT if wanted is Format.HTML else {**HEADERS, **NOT_KEPT}
    return Response(status=MOVED, headers={**headers, "location": f"{path}?{query}" if query else path})
