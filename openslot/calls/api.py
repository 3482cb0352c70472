"""REST reads: voice calls."""

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from openslot.accounts.models import User
from openslot.calls import operations
from openslot.calls.schemas import CallFilter, ShownCall, read_filter, show_call
from openslot.core.moments import MOMENTS, From, To, read_span
from openslot.core.paging import Listing, Page, ShortLimit, paginate
from openslot.core.responses import ERRORS
from openslot.core.work import Work

Status = Annotated[CallFilter, QueryParameter(description="How the calls ended, in any letter case")]


@get(
    "/calls",
    tags=["Calls"],
    summary="List voice calls",
    operation_id="listCalls",
    responses=ERRORS,
    type_decoders=[MOMENTS],
)
async def list_calls(
    work: NamedDependency[Work],
    user: NamedDependency[User],
    *,
    status: Status = CallFilter.ALL,
    from_: From = None,
    to: To = None,
    page: Page = 1,
    limit: ShortLimit = 20,
) -> Listing[ShownCall]:
    """List your voice calls that are over, newest first; `from` and `to` act on `startedAt`."""
    wanted, span = read_filter(status), read_span(from_, to)
    found, total = await operations.list_finished_calls(work, user, status=wanted, span=span, page=page, limit=limit)
    return Listing(data=[show_call(each) for each in found], pagination=paginate(page, limit, total))
