"""Where a meeting takes place, as the form of an event type offers it: rows with a field for each kind."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct

from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from openslot.doors.web.dashboard.event_types.typed_rows import TypedRow, change_rows, list_rows, put_rows
from openslot.platform.core.text import LINE, is_web_url
from openslot.platform.i18n import Text

NAME = "locations"
LOCATIONS = {
    LocationKind.VIDEO_LINK.value: Text("Video call"),
    LocationKind.PHONE.value: Text("Phone call"),
    LocationKind.IN_PERSON.value: Text("In person"),
    LocationKind.TEXT.value: Text("Other"),
}
# A phone call in which the host has the number to call, and a place that the invitee names.
CALL, ASK = "call", "ask"
KINDS = {
    LocationKind.VIDEO_LINK.value: Text("Video call"),
    CALL: Text("Phone call: I call the invitee"),
    LocationKind.PHONE.value: Text("Phone call: the invitee calls me"),
    LocationKind.IN_PERSON.value: Text("In person"),
    ASK: Text("Ask the invitee"),
    LocationKind.TEXT.value: Text("Other"),
}
# The field that says more about a kind.
FIELDS = {
    LocationKind.VIDEO_LINK.value: "link",
    LocationKind.PHONE.value: "number",
    LocationKind.IN_PERSON.value: "address",
    LocationKind.TEXT.value: "text",
}
ASKED = {
    CALL: Location(LocationKind.PHONE, asks=LocationAsks.PHONE),
    ASK: Location(LocationKind.TEXT, asks=LocationAsks.PLACE),
}
PARTS = ("kind", *FIELDS.values(), "id")
NEW = {"kind": LocationKind.VIDEO_LINK.value}
# What the choice of a service that makes a link for each booking begins with.
CONFERENCE = "conference:"
MADE = Text("Video call, link made per booking (%(service)s)")
NOT_SET_UP = Text("Video call, link made per booking (no longer set up)")
NO_NUMBER = Text("must be the number that the invitee calls")
Line = Annotated[str, Meta(pattern=LINE, max_length=500)]


class LocationForm(Struct, frozen=True, kw_only=True):
    kind: Annotated[str, Meta(max_length=100)] = ""
    """A kind of location, or `conference:` and the name of a service."""
    link: Line = ""
    number: Line = ""
    address: Line = ""
    text: Line = ""
    id: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


def list_kinds(services: Mapping[str, str], typed: Sequence[TypedRow]) -> dict[str, Text]:
    """List what can be chosen: with services that are set up, and always with what is chosen already."""
    made = {f"{CONFERENCE}{name}": MADE.fill(service=label) for name, label in services.items()}
    for each in typed:
        if each.get("kind", "").startswith(CONFERENCE):
            made.setdefault(each["kind"], NOT_SET_UP)
    return {**made, **KINDS}


def list_typed(values: Mapping[str, str]) -> list[TypedRow]:
    return list_rows(values, NAME, PARTS) or [dict(NEW)]


def change_locations(values: Mapping[str, str], act: str) -> tuple[dict[str, str], str]:
    """Add, remove or move a location of a form, and return which field to continue with; leave any other act alone."""
    typed = list_typed(values)
    place = change_rows(typed, act, new=NEW)
    return (dict(values), "") if place is None else (put_rows(values, NAME, typed), f"{NAME}.{place}.kind")


def write_locations(locations: Sequence[Location]) -> dict[str, str]:
    return put_rows({}, NAME, [_write(each) for each in locations])


def _write(location: Location) -> TypedRow:
    named = {"id": location.id} if location.id else {}
    if location.conference:
        return {"kind": f"{CONFERENCE}{location.conference}", **named}
    if location.asks:
        return {"kind": CALL if location.asks is LocationAsks.PHONE else ASK, **named}
    return {"kind": location.kind.value, FIELDS[location.kind.value]: location.value, **named}


def read_locations(sent: Sequence[LocationForm], base: EventType) -> tuple[tuple[Location, ...], dict[str, str]]:
    """Read the locations that a form has, the default first; one that is none is a fault."""
    read: list[Location] = []
    faults: dict[str, str] = {}
    for index, each in enumerate(sent):
        location = _read(each)
        if location is None:
            location, faults[f"{NAME}.{index}.kind"] = base.location, Text("must be one of the choices")
        elif location.kind is LocationKind.PHONE and not location.asks and not location.value:
            faults[f"{NAME}.{index}.number"] = NO_NUMBER
        read.append(location)
    return tuple(read) or base.all_locations, faults


def _read(sent: LocationForm) -> Location | None:
    named = sent.id.strip() or UNSET
    service = sent.kind.removeprefix(CONFERENCE)
    if service != sent.kind:
        return Location(LocationKind.VIDEO_LINK, conference=service, id=named) if service else None
    if sent.kind in ASKED:
        return Location(ASKED[sent.kind].kind, asks=ASKED[sent.kind].asks, id=named)
    if sent.kind not in FIELDS:
        return None
    value = str(getattr(sent, FIELDS[sent.kind])).strip()
    is_link = value.lower().startswith("https://") and is_web_url(value)
    return Location(LocationKind.VIDEO_LINK if is_link else LocationKind(sent.kind), value, id=named)


def name_fault(field: str, sent: Sequence[LocationForm]) -> str:
    """Name the field of the form for what the domain finds wrong with a location."""
    path, _, part = field.rpartition(".")
    index = int(path.partition(".")[2] or 0)
    if part == "value" and index < len(sent):
        return f"{NAME}.{index}.{FIELDS.get(sent[index].kind, 'kind')}"
    return f"{NAME}.{index}.kind"
