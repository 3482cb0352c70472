"""Locations: what each must have, how several are told apart, and what a process of the last release leaves."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from openslot.domains.event_types.locations import find_location, find_location_faults, name_locations
from openslot.domains.event_types.models import EventType, Location, LocationAsks, LocationKind
from tests.domains.event_types.support import TALK

VIDEO = Location(LocationKind.VIDEO_LINK, "https://meet.example/a")
ROOM = Location(LocationKind.IN_PERSON, "Room 2")
CALL = Location(LocationKind.PHONE, asks=LocationAsks.PHONE)
ASK = Location(LocationKind.TEXT, asks=LocationAsks.PLACE)


def with_locations(*locations: Location, **changes: Any) -> EventType:
    several = locations if len(locations) > 1 else ()
    return replace(TALK, location=locations[0], locations=several, **changes)


@pytest.mark.parametrize(
    ("locations", "changes", "faults"),
    [
        ((CALL,), {}, {}),
        ((ASK,), {}, {}),
        ((VIDEO, ROOM, CALL, ASK, Location(LocationKind.PHONE, "+49 30 1")), {}, {}),
        ((VIDEO, replace(VIDEO, id="x")), {}, {"locations"}),
        (tuple(Location(LocationKind.TEXT, f"{n}") for n in range(10)), {}, {}),
        (tuple(Location(LocationKind.TEXT, f"{n}") for n in range(11)), {}, {"locations"}),
        ((VIDEO, ROOM), {"seats": 2}, {"locations"}),
        ((CALL,), {"seats": 2}, {"locations"}),
        ((VIDEO,), {"seats": 2}, {}),
        ((ROOM, Location(LocationKind.VIDEO_LINK, "javascript:alert(1)")), {}, {"locations.1.value"}),
        ((ROOM, Location(LocationKind.VIDEO_LINK, "ftp://meet.example")), {}, {"locations.1.value"}),
        ((ROOM, Location(LocationKind.TEXT, " ")), {}, {"locations.1.value"}),
        ((Location(LocationKind.TEXT),), {}, {}),
        ((Location(LocationKind.VIDEO_LINK, "x"),), {}, {"location.value"}),
        ((replace(CALL, value="+49 30 1"),), {}, {"location.value"}),
        ((replace(ASK, kind=LocationKind.IN_PERSON),), {}, {"location.value"}),
        ((Location(LocationKind.TEXT, "x" * 501), ROOM), {}, {"locations.0.value"}),
    ],
)
def test_each_location_has_what_its_kind_needs(
    locations: tuple[Location, ...], changes: dict[str, Any], faults: set[str]
) -> None:
    assert {field for field, _ in find_location_faults(with_locations(*locations, **changes))} == set(faults)


def test_each_gets_an_id_that_it_keeps() -> None:
    jitsi = Location(LocationKind.VIDEO_LINK, conference="jitsi")
    other = Location(LocationKind.IN_PERSON, "Room 3")
    named = name_locations(with_locations(VIDEO, ROOM, other, CALL, ASK, jitsi))
    ids = [each.id for each in named.locations]
    assert ids == ["video_link", "in_person", "in_person_2", "phone", "place", "jitsi"]
    assert named.location == named.locations[0]

    moved = replace(named, location=named.locations[2], locations=(named.locations[2], named.locations[0]))
    assert [each.id for each in name_locations(moved).locations] == ["in_person_2", "video_link"]
    assert find_location(named, "phone") == replace(CALL, id="phone")
    assert find_location(named, None) == named.location
    assert find_location(named, "moon") is None


def test_a_single_one_needs_neither_a_list_nor_an_id() -> None:
    named = name_locations(with_locations(VIDEO, ROOM))
    single = name_locations(replace(named, locations=named.locations[:1]))

    assert (single.location, single.locations, single.all_locations) == (VIDEO, (), (VIDEO,))
    assert find_location(single, "video_link") is None


def test_what_a_process_of_the_last_release_has_changed_is_the_only_one() -> None:
    changed = replace(name_locations(with_locations(VIDEO, CALL)), location=ROOM)

    assert changed.all_locations == (ROOM,)
    assert name_locations(changed).locations == ()


def test_the_last_release_reads_what_is_stored() -> None:
    class Former(msgspec.Struct, frozen=True):
        """A location as version 0.1 has it."""

        kind: LocationKind
        value: str = ""

    stored = msgspec.json.encode(name_locations(with_locations(CALL, VIDEO)).location)
    assert msgspec.json.decode(stored, type=Former) == Former(LocationKind.PHONE)
