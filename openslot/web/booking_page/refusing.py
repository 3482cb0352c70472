"""What a page says when it is not shown, and a form when it could not be carried out."""

from collections.abc import Awaitable, Callable
from functools import wraps
from urllib.parse import urlencode

from msgspec.structs import replace

from openslot.bookings.errors import TooManyReschedules
from openslot.bookings.public_api import READS
from openslot.core.errors import Refusal, RefusalKind, TooMany
from openslot.core.work import Work
from openslot.http.limits import take
from openslot.http.refusals import headers_of
from openslot.i18n import Text
from openslot.routing import RateLimit, Request, Response
from openslot.web import words
from openslot.web.booking_page.for_assistants import write_refusal
from openslot.web.booking_page.formats import Format, choose_format
from openslot.web.booking_page.options import read_options
from openslot.web.booking_page.view import DEFAULT_COLOUR, show

TOO_MANY = Text("Too many bookings were sent from your network. What you typed is still here.")

VIEWS = RateLimit("page", 600)
"""Pages that one address may open: many people may share it, and each turns through months."""

Show = Callable[..., Awaitable[Response]]


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
        except TooMany as refusal:
            return _show_too_many(request, refusal) if wanted is Format.HTML else write_refusal(refusal, wanted)
        return await handler(work=work, request=request, **values)

    return show_within_limit


def _show_too_many(request: Request, refusal: TooMany) -> Response:
    options = read_options(request)
    again = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
    wait = words.wait(refusal.retry_after)
    shown = show("booking/too_many.html", options, colour=DEFAULT_COLOUR, status=429, again=again, wait=wait)
    return replace(shown, headers={**shown.headers, "x-error-code": refusal.code, **headers_of(refusal)})


def list_notices(refusal: Refusal, is_open: bool) -> tuple[str, ...]:
    """Say why nothing was done, unless the fields or the chosen time say it already."""
    if isinstance(refusal, TooManyReschedules):
        return (Text("%(message)s.", message=refusal.sentence), words.wait(refusal.retry_after))
    if isinstance(refusal, TooMany):
        return (TOO_MANY, words.wait(refusal.retry_after))
    if refusal.faults or refusal.kind is RefusalKind.INVALID or not is_open:
        return ()
    return (Text("%(message)s.", message=refusal.sentence),)
