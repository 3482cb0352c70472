"""REST: the feed of past events."""

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from openslot.accounts.models import User
from openslot.core.errors import Invalid, NotFound
from openslot.core.ids import parse_id
from openslot.core.paging import Limit
from openslot.core.responses import ERRORS
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.webhooks import operations
from openslot.webhooks.schemas import Feed, show_event

After = Annotated[
    str | None,
    QueryParameter(
        description="The `next` of an earlier answer, or the `webhook-id` of an event: the feed goes on behind it",
        pattern=LINE,
        max_length=100,
        schema_extra={"examples": ["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7eb1"]},
    ),
]
Kind = Annotated[
    str | None,
    QueryParameter(
        name="type",
        description="Only events of this type; several by commas",
        pattern=LINE,
        max_length=500,
        schema_extra={"examples": ["booking.created", "booking.created,booking.cancelled"]},
    ),
]


@get("/events", tags=["Events"], summary="Read past events", operation_id="listEvents", responses=ERRORS)
async def list_events(
    work: NamedDependency[Work],
    user: NamedDependency[User],
    *,
    after: After = None,
    kind: Kind = None,
    limit: Limit = 20,
) -> Feed:
    """Read what happened, the first first; who goes on from `next` misses nothing and gets nothing twice."""
    types = tuple(name.strip() for name in kind.split(",") if name.strip()) if kind else ()
    try:
        start = parse_id(after) if after else None
    except NotFound:
        raise Invalid(details={"after": "is not the id of an event of yours"}) from None
    found, has_more = await operations.list_feed(work, user, after=start, types=types, limit=limit)
    shown = [show_event(each) for each in found]
    return Feed(data=shown, next=shown[-1].id if shown else after or None, has_more=has_more)
