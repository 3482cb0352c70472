"""Decisions about locations: what each must have, how several are told apart, and which of them was chosen."""

from collections.abc import Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.platform.core.text import EMPTY, NOT_A_URL, is_web_url
from openslot.platform.i18n import Text

MAX_LOCATIONS = 10
LONGEST_VALUE = 500
# What is asked for, and the kind of location that can ask for it.
ASKING = {LocationAsks.PHONE: LocationKind.PHONE, LocationAsks.PLACE: LocationKind.TEXT}

Faults = Iterator[tuple[str, str]]


class WantedLocation(Struct, frozen=True, kw_only=True):
    """Which location is wanted, and what the invitee tells of it if it asks."""

    id: str | None = None
    """None if it is the default location."""
    value: str = ""


def find_location_faults(event_type: EventType) -> Faults:
    locations = event_type.all_locations
    if len(locations) > MAX_LOCATIONS:
        yield "locations", Text("must have at most %(max)s entries", max=MAX_LOCATIONS)
    elif len({replace(each, id=UNSET) for each in locations}) < len(locations):
        yield "locations", Text("must not have the same location twice")
    elif event_type.seats > 1 and (len(locations) > 1 or event_type.location.asks):
        # Those who share a session are at the same place.
        yield "locations", Text("can't be combined with more than one seat")
    for index, each in enumerate(locations):
        path = path_of(event_type, index)
        if len(locations) > 1 and each.kind is LocationKind.TEXT and not each.asks and not each.value.strip():
            # Nobody could tell what they choose.
            yield f"{path}.value", EMPTY
        yield from _value_faults(path, each)


def path_of(event_type: EventType, index: int) -> str:
    """Name a location as the API does."""
    return f"locations.{index}" if len(event_type.all_locations) > 1 else "location"


def _value_faults(path: str, location: Location) -> Faults:
    if len(location.value) > LONGEST_VALUE:
        yield f"{path}.value", Text("must be at most 500 characters")
    elif location.asks:
        if location.value or location.conference or location.kind is not ASKING[location.asks]:
            yield f"{path}.value", "must be empty: the invitee is asked"
    elif location.conference:
        if location.value or location.kind is not LocationKind.VIDEO_LINK:
            yield f"{path}.value", "must be empty: a link is made for each booking"
    elif location.kind is LocationKind.VIDEO_LINK and not is_web_url(location.value):
        yield f"{path}.value", NOT_A_URL
    elif location.kind is LocationKind.IN_PERSON and not location.value.strip():
        yield f"{path}.value", Text("must name the place to meet")


def name_locations(event_type: EventType) -> EventType:
    """Give each location to choose from an id that it keeps; a single one needs neither an id nor a list."""
    locations = event_type.all_locations
    if len(locations) == 1:
        return replace(event_type, location=replace(locations[0], id=UNSET), locations=())
    taken: set[str] = set()
    named: list[Location] = []
    for each in locations:
        base = each.id or each.conference or each.asks or each.kind.value
        names = (str(base) if number == 1 else f"{base}_{number}" for number in range(1, len(locations) + 2))
        own = next(name for name in names if name not in taken)
        taken.add(own)
        named.append(replace(each, id=own))
    default = named[locations.index(event_type.location)]
    return replace(event_type, location=default, locations=tuple(named))


def find_location(event_type: EventType, location_id: str | None) -> Location | None:
    """Find a location by its id; without one it is the default."""
    if location_id is None:
        return event_type.location
    return next((each for each in event_type.all_locations if each.id == location_id), None)
