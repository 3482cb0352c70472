"""Slots as the wire shows them."""

from datetime import UTC, date, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from openslot.domains.availability.api import list_slots
from openslot.domains.availability.models import Slots
from openslot.domains.availability.schemas import OpenSlots, Slot, WrittenSlots, write_slots
from openslot.doors.http.handlers import read_handler
from openslot.platform.core.times import get_zone
from openslot.platform.routing import find_declaration
from tests.domains.availability.cases import ZONES, days_of_change, second, show_slots
from tests.support.parts import how_many


def slow(slots: Slots, zone: str) -> list[Slot]:
    """Show each slot by itself, with the library's own conversion."""
    shown = []
    for start in slots.starts:
        local = datetime.fromtimestamp(start, get_zone(zone))
        begin, end = (datetime.fromtimestamp(at, UTC) for at in (start, start + slots.duration))
        shown.append(
            Slot(f"{local:%Y-%m-%d}", f"{local:%H:%M}", f"{begin:%Y-%m-%dT%H:%M:%SZ}", f"{end:%Y-%m-%dT%H:%M:%SZ}")
        )
    return shown


def test_written_slots_have_the_fields_that_are_described() -> None:
    written, described = ([field.encode_name for field in fields(kind)] for kind in (WrittenSlots, OpenSlots))

    assert written == described
    declaration = find_declaration(list_slots)
    assert declaration is not None
    assert read_handler(list_slots, declaration, declaration.path).returns is OpenSlots


def test_no_slots_are_an_empty_list() -> None:
    assert write_slots(Slots([], 1800), viewer=get_zone("UTC")) == b"[]"


def test_slot_has_its_four_strings() -> None:
    written = write_slots(Slots([second("2026-03-02 23:45")], 1800), viewer=get_zone("Asia/Kathmandu"))
    assert msgspec.json.decode(written) == [
        {
            "date": "2026-03-03",
            "time": "05:30",
            "startTime": "2026-03-02T23:45:00Z",
            "endTime": "2026-03-03T00:15:00Z",
        }
    ]


def test_odd_seconds_are_shown_in_utc_alone() -> None:
    slots = Slots([second("1971-06-01 00:44:30")], 3600)
    (slot,) = show_slots(slots, viewer=get_zone("Africa/Monrovia"))
    assert slot == Slot("1971-06-01", "00:00", "1971-06-01T00:44:30Z", "1971-06-01T01:44:30Z")


@pytest.mark.parametrize("zone", ZONES)
def test_slots_are_shown_right_through_every_change(zone: str) -> None:
    for on in days_of_change(zone):
        begin = int(datetime(on.year, on.month, on.day, tzinfo=UTC).timestamp()) - 2 * 86_400
        slots = Slots(list(range(begin, begin + 4 * 86_400, 900)), 2700)
        assert show_slots(slots, viewer=get_zone(zone)) == slow(slots, zone)


@given(
    st.sampled_from(ZONES),
    st.lists(st.integers(0, 400 * 24 * 60), unique=True, max_size=30).map(sorted),
    st.integers(1, 1440),
)
@settings(max_examples=how_many(100), database=None, derandomize=True, deadline=None)
def test_any_slots_are_shown_as_the_library_would(zone: str, minutes: list[int], duration: int) -> None:
    base = (date(2026, 1, 1) - date(1970, 1, 1)).days * 86_400
    slots = Slots([base + minute * 60 for minute in minutes], duration * 60)
    assert show_slots(slots, viewer=get_zone(zone)) == slow(slots, zone)
