"""REST: the feed of past events."""

from typing import Annotated

from msgspec import Meta

from openslot.accounts.models import User
from openslot.core.errors import Invalid, NotFound
from openslot.core.ids import parse_id
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.routing import Query, get
from openslot.routing.paging import Limit
from openslot.webhooks import operations
from openslot.webhooks.schemas import Feed, show_event

After = Annotated[
    Annotated[str, Meta(pattern=LINE, max_length=100)] | None,
    Meta(
        description="The `next` of an earlier answer, or the `webhook-id` of an event: the feed goes on behind it",
        examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7eb1"],
    ),
    Query(),
]
Kind = Annotated[
    Annotated[str, Meta(pattern=LINE, max_length=500)] | None,
    Meta(
        description="Only events of this type; several by commas",
        examples=["booking.created", "booking.created,booking.cancelled"],
    ),
    Query("type"),
]


@get("/events", tag="Events", summary="Read past events")
async def list_events(work: Work, user: User, *, after: After = None, kind: Kind = None, limit: Limit = 20) -> Feed:
    """Read what happened, the first first; who goes on from `next` misses nothing and gets nothing twice."""
    types = tuple(name.strip() for name in kind.split(",") if name.strip()) if kind else ()
    try:
        start = parse_id(after) if after else None
    except NotFound:
        raise Invalid(details={"after": "is not the id of an event of yours"}) from None
    found, has_more = await operations.list_feed(work, user, after=start, types=types, limit=limit)
    shown = [show_event(each) for each in found]
    return Feed(data=shown, next=shown[-1].id if shown else after or None, has_more=has_more)
