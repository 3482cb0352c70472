"""The wire shapes of availability."""

from typing import Annotated
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

from openslot.availability.models import SlotContext, Slots
from openslot.availability.slot_json import write_slots
from openslot.core.moments import Instant
from openslot.event_types.schemas import EmbeddedEventType, embed
from openslot.routing.declarations import DescribedAs


class Slot(Struct, frozen=True, rename="camel"):
    """An available slot."""

    date: Annotated[str, Meta(description="In the requested time zone", examples=["2026-03-16"])]
    time: Annotated[str, Meta(description="In the requested time zone, HH:MM", examples=["10:00"])]
    start_time: Instant
    end_time: Instant


class OpenSlots(Struct, frozen=True, kw_only=True, rename="camel"):
    """The available slots, in order."""

    data: list[Slot]
    event_type: EmbeddedEventType
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]


class WrittenSlots(Struct, frozen=True, kw_only=True, rename="camel"):
    """`OpenSlots` whose list is written already: one text is many times faster than a Struct for each slot."""

    data: msgspec.Raw
    event_type: EmbeddedEventType
    timezone: str


ShownSlots = Annotated[WrittenSlots, DescribedAs(OpenSlots)]


def show_open(found: SlotContext, slots: Slots, zone: ZoneInfo) -> WrittenSlots:
    """Write slots in the requested time zone."""
    written = msgspec.Raw(write_slots(slots, viewer=zone))
    return WrittenSlots(data=written, event_type=embed(found.inputs.event_type), timezone=str(zone))
