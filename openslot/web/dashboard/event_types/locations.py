"""Where a meeting takes place, as the form of an event type offers it."""

from collections.abc import Mapping

from openslot.event_types.models import Location, LocationKind
from openslot.i18n import Text

LOCATIONS = {
    LocationKind.VIDEO_LINK.value: Text("Video call"),
    LocationKind.PHONE.value: Text("Phone call"),
    LocationKind.IN_PERSON.value: Text("In person"),
    LocationKind.TEXT.value: Text("Other"),
}
# What the choice of a service that makes a link for each booking begins with.
CONFERENCE = "conference:"
MADE = Text("Video call, link made per booking (%(service)s)")
NOT_SET_UP = Text("Video call, link made per booking (no longer set up)")


def list_locations(services: Mapping[str, str], chosen: str) -> dict[str, Text]:
    """List what can be chosen: with services that are set up, and always with what is chosen already."""
    made = {f"{CONFERENCE}{name}": MADE.fill(service=label) for name, label in services.items()}
    if chosen.startswith(CONFERENCE) and chosen not in made:
        made[chosen] = NOT_SET_UP
    return {**made, **LOCATIONS}


def write_location_kind(location: Location) -> str:
    return f"{CONFERENCE}{location.conference}" if location.conference else location.kind.value


def read_location(kind: str, value: str) -> Location | None:
    """Read a choice and what belongs to it; None if it is none. A link that is made needs no value."""
    if kind in LOCATIONS:
        return Location(LocationKind(kind), value.strip())
    service = kind.removeprefix(CONFERENCE)
    return Location(LocationKind.VIDEO_LINK, conference=service) if service != kind and service else None
