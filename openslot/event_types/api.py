"""REST and public reads: what can be booked."""

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath

from openslot.accounts.models import User
from openslot.core.ids import parse_id
from openslot.core.paging import Limit, Listing, Page, paginate
from openslot.core.responses import ERRORS, PUBLIC_ERRORS
from openslot.core.work import Work
from openslot.event_types import operations
from openslot.event_types.schemas import (
    DetailedEventType,
    ListedEventType,
    ShownHostPage,
    show_detailed,
    show_host,
    show_listed,
    show_offered,
)


@get(
    "/event-types",
    tags=["Event types"],
    summary="List active event types",
    operation_id="listEventTypes",
    responses=ERRORS,
)
async def list_event_types(
    work: NamedDependency[Work], user: NamedDependency[User], page: Page = 1, limit: Limit = 20
) -> Listing[ListedEventType]:
    """List what can be booked with you, in the order of your page."""
    found, total = await operations.list_event_types(work, user, only_active=True, page=page, limit=limit)
    return Listing(data=[show_listed(each) for each in found], pagination=paginate(page, limit, total))


@get(
    "/event-types/{event_type_id:str}",
    tags=["Event types"],
    summary="Read an event type",
    operation_id="getEventType",
    responses=ERRORS,
)
async def get_event_type(
    work: NamedDependency[Work], user: NamedDependency[User], event_type_id: FromPath[str]
) -> DetailedEventType:
    """Read an event type, active or not, with all that decides when it can be booked."""
    event_type, schedule = await operations.get_with_schedule(work, user, parse_id(event_type_id))
    return show_detailed(event_type, schedule)


@get(
    "/{username:str}",
    tags=["Public"],
    summary="Read a host's page",
    operation_id="getHostPage",
    responses=PUBLIC_ERRORS,
)
async def get_host_page(work: NamedDependency[Work], username: FromPath[str]) -> ShownHostPage:
    """Read what a host offers to everyone."""
    page = await operations.get_host_page(work, username)
    return ShownHostPage(host=show_host(page), event_types=[show_offered(each) for each in page.event_types])
