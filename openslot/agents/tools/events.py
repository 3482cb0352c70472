"""Tools: event types and their availability."""

from datetime import date
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from openslot.accounts import operations as accounts
from openslot.agents.models import ToolCall
from openslot.agents.registry import CallTarget, tool
from openslot.agents.tools.arguments import EventTypeId, Paging, ToolArguments, UserId, naming
from openslot.availability import operations as availability
from openslot.availability.models import BySlug
from openslot.availability.schemas import ShownSlots, show_open
from openslot.core.work import Work
from openslot.core.zones import Zone
from openslot.event_types import operations as event_types
from openslot.event_types.schemas import DetailedEventType, ListedEventType, show_detailed, show_listed
from openslot.routing.declarations import Pagination, paginate

HostId = Annotated[str, Meta(description="The host")]


class ListEventTypes(Paging, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which event types."""

    user_id: UserId | None = None
    active: Annotated[bool | None, Meta(description="Whether it can be booked; both if omitted")] = None


class EventTypeArguments(ToolArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which event type."""

    event_type_id: EventTypeId


class CheckAvailability(EventTypeArguments, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which event type, on which days."""

    timezone: Annotated[Zone, Meta(description="Time zone of the returned dates and times, as an IANA name")]
    start_date: Annotated[date | None, Meta(description="First day, in that time zone; today if omitted")] = None
    end_date: Annotated[
        date | None, Meta(description="Last day, inclusive, at most 62 days in total; a week later if omitted")
    ] = None


class PlatformEventType(ListedEventType, frozen=True, kw_only=True, rename="camel"):
    """An event type as the REST API lists it, with its host."""

    user_id: HostId


class DetailedPlatformEventType(DetailedEventType, frozen=True, kw_only=True, rename="camel"):
    """An event type with its scheduling configuration as the REST API shows it, with its host."""

    user_id: HostId


class EventTypeList(Struct, frozen=True, kw_only=True):
    """One page of event types."""

    data: list[PlatformEventType]
    pagination: Pagination


def _target(arguments: EventTypeArguments) -> CallTarget:
    return CallTarget("event_type", str(arguments.event_type_id))


def _list_target(arguments: ListEventTypes) -> CallTarget | None:
    return CallTarget("user", str(arguments.user_id)) if arguments.user_id else None


@tool(scope="events:read", target=_list_target)
async def list_event_types(work: Work, call: ToolCall, arguments: ListEventTypes) -> EventTypeList:
    """List what can be booked: the event types of one host in the order of the booking page, or of all hosts.

    The event types of all hosts are listed newest first. Use it to find the id of an event type. It costs nothing and
    changes nothing.
    """
    del call
    page, limit = arguments.page, arguments.limit
    if arguments.user_id is not None:
        with naming("userId"):
            await accounts.get_user(work, arguments.user_id)
    found, total = await event_types.list_all_event_types(
        work, owner_id=arguments.user_id, active=arguments.active, page=page, limit=limit
    )
    shown = [PlatformEventType(**asdict(show_listed(each)), user_id=str(each.owner_id)) for each in found]
    return EventTypeList(data=shown, pagination=paginate(page, limit, total))


@tool(scope="events:read", target=_target)
async def get_event_type(work: Work, call: ToolCall, arguments: EventTypeArguments) -> DetailedPlatformEventType:
    """Get one event type, active or not, with everything that determines which slots are available.

    Use it to explain why a time can't be booked: hours, notice, booking window, limits and buffers. It costs nothing
    and changes nothing.
    """
    del call
    with naming("eventTypeId"):
        event_type = await event_types.get_any_event_type(work, arguments.event_type_id)
        owner = await accounts.get_user(work, event_type.owner_id)
        shown = show_detailed(*await event_types.get_with_schedule(work, owner, event_type.id))
    return DetailedPlatformEventType(**asdict(shown), user_id=str(owner.id))


@tool(scope="events:read", target=_target)
async def check_availability(work: Work, call: ToolCall, arguments: CheckAvailability) -> ShownSlots:
    """List the starts of an event type that can be booked now, on some days in a time zone.

    Use it before reschedule_booking, or to tell someone when there is time. At most 62 days are listed; without dates,
    a week from today. An event type that is not active is refused. It costs nothing and changes nothing.
    """
    del call
    with naming("eventTypeId"):
        event_type = await event_types.get_any_event_type(work, arguments.event_type_id)
        found, slots, zone = await availability.list_open(
            work,
            BySlug(event_type.owner_id, event_type.slug),
            timezone=arguments.timezone,
            first=arguments.start_date,
            last=arguments.end_date,
        )
    return show_open(found, slots, zone)


EVENT_TOOLS = (list_event_types, get_event_type, check_availability)
