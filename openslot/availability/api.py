"""REST and public reads: when something can be booked."""

from datetime import date
from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter

from openslot.accounts.models import User
from openslot.availability import operations
from openslot.availability.schemas import OpenSlots, show_open
from openslot.availability.store import OfOwner, OfPage
from openslot.core.responses import ERRORS, PUBLIC_ERRORS
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.event_types.schemas import ShownHost, ShownOffer, show_offered

Timezone = Annotated[
    str, QueryParameter(description="The zone to show times in, any IANA name", pattern=LINE, max_length=100)
]
StartDate = Annotated[
    date | None, QueryParameter(name="startDate", description="The first day in that zone; none: today")
]
EndDate = Annotated[
    date | None,
    QueryParameter(name="endDate", description="The last day, included, at most 62 in all; none: a week later"),
]
Token = Annotated[str | None, QueryParameter(description="What opens a private event type", pattern=LINE)]


@get(
    "/availability/{slug:str}",
    tags=["Availability"],
    summary="List open slots",
    operation_id="listSlots",
    responses=ERRORS,
)
async def list_slots(
    work: NamedDependency[Work],
    user: NamedDependency[User],
    *,
    slug: FromPath[str],
    timezone: Timezone,
    start_date: StartDate = None,
    end_date: EndDate = None,
) -> OpenSlots:
    """List the starts that may be booked for one of your event types."""
    which = OfOwner(user.id, slug)
    found, slots, zone = await operations.list_open(work, which, timezone=timezone, first=start_date, last=end_date)
    return show_open(found, slots, zone)


@get(
    "/{username:str}/{slug:str}",
    tags=["Public"],
    summary="Read what a host offers",
    operation_id="getOffer",
    responses=PUBLIC_ERRORS,
)
async def get_offer(
    work: NamedDependency[Work], username: FromPath[str], slug: FromPath[str], token: Token = None
) -> ShownOffer:
    """Read one event type as those who book see it."""
    found = await operations.get_offer(work, OfPage(username, slug, token))
    host = ShownHost(name=found.host_name, username=found.host_username, timezone=found.host_zone)
    return ShownOffer(host=host, event_type=show_offered(found.setting.event_type))


@get(
    "/{username:str}/{slug:str}/slots",
    tags=["Public"],
    summary="List open slots of a host",
    operation_id="listPublicSlots",
    responses=PUBLIC_ERRORS,
)
async def list_public_slots(
    work: NamedDependency[Work],
    *,
    username: FromPath[str],
    slug: FromPath[str],
    timezone: Timezone,
    start_date: StartDate = None,
    end_date: EndDate = None,
    token: Token = None,
) -> OpenSlots:
    """List the starts that anyone may book."""
    which = OfPage(username, slug, token)
    found, slots, zone = await operations.list_open(work, which, timezone=timezone, first=start_date, last=end_date)
    return show_open(found, slots, zone)
