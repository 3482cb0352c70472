"""REST reads: voice calls."""

from typing import Annotated

from msgspec import Meta

from openslot.accounts.models import User
from openslot.calls import operations
from openslot.calls.schemas import CallFilter, ShownCall, read_filter, show_call
from openslot.core.moments import read_span
from openslot.core.work import Work
from openslot.routing import Query, get
from openslot.routing.declarations import From, Listing, PageNumber, ShortLimit, To, check_span, paginate

StatusQuery = Annotated[CallFilter, Meta(description="How the calls ended, case-insensitive"), Query()]


@get(check=check_span)
async def list_calls(
    work: Work,
    user: User,
    *,
    status: StatusQuery = CallFilter.ALL,
    from_: From = None,
    to: To = None,
    page: PageNumber = 1,
    limit: ShortLimit = 20,
) -> Listing[ShownCall]:
    """List your finished voice calls, newest first. `from` and `to` filter by `startedAt`."""
    wanted, span = read_filter(status), read_span(from_, to)
    found, total = await operations.list_finished_calls(work, user, status=wanted, span=span, page=page, limit=limit)
    return Listing(data=[show_call(each) for each in found], pagination=paginate(page, limit, total))
