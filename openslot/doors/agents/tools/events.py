"""Tools: event types and their availability."""

from datetime import date
from typing import Annotated
from uuid import UUID

from msgspec import Meta
from msgspec.structs import asdict

from openslot.domains.accounts.operations import get_user
from openslot.domains.availability.models import BySlug
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.availability.schemas import ShownSlots, show_open
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import (
    get_any_event_type,
    get_event_type_with_schedule,
    list_all_event_types,
)
from openslot.domains.event_types.schemas import DetailedEventType, ListedEventType, WantedMinutes, show_detailed
from openslot.doors.agents.registry import USER, UserId, about, get_named_user, tool
from openslot.doors.mcp.tools import Paging, naming
from openslot.platform.core.shapes import Shape
from openslot.platform.core.times import Zone
from openslot.platform.core.work import Work
from openslot.platform.routing.listings import Listing

EventTypeId = Annotated[UUID, Meta(description="The event type's id")]
HostId = Annotated[str, Meta(description="The host")]
EVENT_TYPE = about("event_type", "event_type_id")


class PlatformEventType(ListedEventType, frozen=True, kw_only=True, rename="camel"):
    """An event type as the REST API lists it, with its host."""

    user_id: HostId


class DetailedPlatformEventType(DetailedEventType, frozen=True, kw_only=True, rename="camel"):
    """An event type with its scheduling configuration as the REST API shows it, with its host."""

    user_id: HostId


_show = Shape(PlatformEventType, EventType, names={"user_id": "owner_id"}).show


@tool(scope="events:read", target=USER)
async def list_event_types(
    work: Work,
    *,
    arguments: Paging,
    user_id: UserId | None = None,
    active: Annotated[bool | None, Meta(description="Whether it can be booked; both if omitted")] = None,
) -> Listing[PlatformEventType]:
    """List what can be booked: the event types of one host in the order of the booking page, or of all hosts.

    The event types of all hosts are listed newest first. Use it to find the id of an event type. It costs nothing and
    changes nothing.
    """
    if user_id is not None:
        await get_named_user(work, user_id)
    found, total = await list_all_event_types(
        work, owner_id=user_id, active=active, page=arguments.page, limit=arguments.limit
    )
    return arguments.show([_show(each) for each in found], total)


@tool(scope="events:read", target=EVENT_TYPE)
async def get_event_type(work: Work, *, event_type_id: EventTypeId) -> DetailedPlatformEventType:
    """Get one event type, active or not, with everything that determines which slots are available.

    Use it to explain why a time can't be booked: hours, notice, booking window, limits and buffers. It costs nothing
    and changes nothing.
    """
    with naming("eventTypeId"):
        event_type = await get_any_event_type(work, event_type_id)
        owner = await get_user(work, event_type.owner_id)
        shown = show_detailed(*await get_event_type_with_schedule(work, owner, event_type.id))
    return DetailedPlatformEventType(**asdict(shown), user_id=str(owner.id))


@tool(scope="events:read", target=EVENT_TYPE)
async def check_availability(
    work: Work,
    *,
    event_type_id: EventTypeId,
    timezone: Annotated[Zone, Meta(description="Time zone of the returned dates and times, as an IANA name")],
    start_date: Annotated[date | None, Meta(description="First day, in that time zone; today if omitted")] = None,
    end_date: Annotated[
        date | None, Meta(description="Last day, inclusive, at most 62 days in total; a week later if omitted")
    ] = None,
    duration_minutes: Annotated[
        WantedMinutes, Meta(description="One of the event type's durations, in minutes; the default if omitted")
    ] = None,
) -> ShownSlots:
    """List the starts of an event type that can be booked now, on some days in a time zone.

    Use it before reschedule_booking, with the booking's own duration, or to tell someone when there is time. At most 62
    days are listed; without dates, a week from today. An event type that is not active is refused. One with a price
    lists what its host can book: invitees see no times of it until payments are connected. It costs nothing and changes
    nothing.
    """
    with naming("eventTypeId"):
        event_type = await get_any_event_type(work, event_type_id)
        by_slug = BySlug(event_type.owner_id, event_type.slug, duration_minutes)
        found, slots, zone = await list_open_slots(work, by_slug, timezone=timezone, first=start_date, last=end_date)
    return show_open(found, slots, zone)
