"""REST: the feed of past events."""

from typing import Annotated, ClassVar
from uuid import UUID

from msgspec import Meta

from openslot.domains.accounts.models import User
from openslot.domains.webhooks import operations
from openslot.domains.webhooks.rules import describe_unknown
from openslot.domains.webhooks.schemas import PUBLISHED_TYPES, Feed, show_event
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.text import CheckedText
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, get
from openslot.platform.routing.listings import Limit

LONGEST = 500


class EventId(CheckedText):
    """The id of an event."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {
        "type": "string",
        "maxLength": 100,
        "examples": ["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7eb1"],
    }

    @classmethod
    def parse(cls, text: str) -> str:
        """Leave an id as it is, and an empty text too: the feed from its beginning."""
        if text and SHAPE.fullmatch(text) is None:
            raise ValueError("must be the id of one of your events")
        return text


class EventTypes(CheckedText):
    """Names of events, by commas."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {
        "type": "string",
        "maxLength": LONGEST,
        "examples": ["booking.created", "booking.created,booking.cancelled"],
    }

    @classmethod
    def parse(cls, text: str) -> str:
        """Write the names without spaces; none mean all."""
        if len(text) > LONGEST:
            raise ValueError(f"must have at most {LONGEST} characters")
        names = [name.strip() for name in text.split(",") if name.strip()]
        if unknown := sorted(set(names) - set(PUBLISHED_TYPES)):
            raise ValueError(describe_unknown(unknown, PUBLISHED_TYPES))
        return ",".join(names)


After = Annotated[
    EventId | None,
    Meta(description="`next` of an earlier response, or the `webhook-id` of an event; the feed continues after it"),
    Query(),
]
EventKinds = Annotated[
    EventTypes | None, Meta(description="Only events of this type; separate several with commas"), Query("type")
]


@get("/events", tag="Events")
async def list_events(
    work: Work, user: User, *, after: After = None, kind: EventKinds = None, limit: Limit = 20
) -> Feed:
    """List past events, oldest first. Continue with `next` of the last response: no event is skipped or repeated.

    Events are kept for 90 days, or as long as the operator has configured. Continuing after an event that is no longer
    in the feed is refused with the code `event_expired`.
    """
    types = tuple(kind.split(",")) if kind else ()
    start = UUID(after) if after else None
    found, has_more = await operations.list_feed(work, user, after=start, types=types, limit=limit)
    shown = [show_event(each) for each in found]
    return Feed(data=shown, next=shown[-1].id if shown else after or None, has_more=has_more)
