"""REST reads: voice calls, and their wire shapes."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.calls import operations
from openslot.domains.calls.models import Call, CallDirection, CallStatus
from openslot.platform.core.moments import read_span
from openslot.platform.core.shapes import Shape
from openslot.platform.core.times import Instant
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, get
from openslot.platform.routing.listings import From, Listing, PageNumber, ShortLimit, To, check_span, paginate


class CallFilter(StrEnum):
    """The status to filter calls by, case-insensitive."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    NO_ANSWER = "NO_ANSWER"
    ALL = "all"

    @classmethod
    def _missing_(cls, value: object) -> "CallFilter | None":
        return next((each for each in cls if isinstance(value, str) and each.lower() == value.lower()), None)


class ShownCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """A finished voice call."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e93"])]
    direction: Annotated[CallDirection, Meta(description="inbound: the other party called", examples=["inbound"])]
    caller_phone: Annotated[str, Meta(description="Phone number of the other party, E.164", examples=["+493012345678"])]
    duration_seconds: Annotated[int, Meta(ge=0, examples=[245])]
    status: Annotated[CallStatus, Meta(description="How it ended", examples=["completed"])]
    agent_name: Annotated[str, Meta(description="The voice agent that handled the call", examples=["Reception"])]
    started_at: Instant
    created_at: Instant
    updated_at: Instant


def read_filter(wanted: CallFilter) -> CallStatus | None:
    """Return which status is asked for; None is any."""
    return None if wanted is CallFilter.ALL else CallStatus(wanted.lower())


show_call = Shape(ShownCall, Call).show


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
