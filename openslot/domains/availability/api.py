"""REST: when something can be booked."""

from datetime import date
from typing import Annotated

from msgspec import Meta

from openslot.domains.accounts.models import User
from openslot.domains.availability import operations
from openslot.domains.availability.models import BySlug
from openslot.domains.availability.months import default_days, find_days_faults
from openslot.domains.availability.schemas import ShownSlots, show_open
from openslot.domains.event_types.schemas import WantedMinutes
from openslot.platform.core.times import Zone, get_zone
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, QueryValues, get

Timezone = Annotated[Zone, Meta(description="Time zone of the returned dates and times, as an IANA name"), Query()]
StartDate = Annotated[
    date | None, Meta(description="First day, in that time zone; today if omitted"), Query("startDate")
]
EndDate = Annotated[
    date | None,
    Meta(description="Last day, inclusive, at most 62 days in total; a week later if omitted"),
    Query("endDate"),
]

DurationMinutes = Annotated[
    WantedMinutes,
    Meta(description="One of the event type's durations, in minutes; the default if omitted"),
    Query("durationMinutes"),
]


def check_days(given: QueryValues) -> dict[str, str]:
    """Return whether the dates are in order and not too many, as far as they can be known."""
    first, last = given.values.get("start_date"), given.values.get("end_date")
    zone = given.values.get("timezone")
    if not given.wrong.isdisjoint({"startDate", "endDate"}) or (first is None and zone is None):
        return {}
    return find_days_faults(default_days(first=first, last=last, zone=get_zone(zone or "UTC"), now=given.now))


@get("/availability/{slug}", summary="List available slots", check=check_days)
async def list_slots(
    work: Work,
    user: User,
    *,
    slug: str,
    timezone: Timezone,
    start_date: StartDate = None,
    end_date: EndDate = None,
    duration_minutes: DurationMinutes = None,
) -> ShownSlots:
    """List the available start times of one of your event types."""
    which = BySlug(user.id, slug, duration_minutes)
    found, slots, zone = await operations.list_open_slots(
        work, which, timezone=timezone, first=start_date, last=end_date
    )
    return show_open(found, slots, zone)
