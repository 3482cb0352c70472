"""The wire shapes of availability."""

from typing import Annotated, cast
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

from openslot.availability.models import Slot, SlotContext, Slots
from openslot.availability.slot_json import write_slots
from openslot.event_types.schemas import EmbeddedEventType, embed


class OpenSlots(Struct, frozen=True, kw_only=True, rename="camel"):
    """The available slots, in order."""

    data: list[Slot]
    event_type: EmbeddedEventType
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]


def show_open(found: SlotContext, slots: Slots, zone: ZoneInfo) -> OpenSlots:
    """Write slots in the requested time zone; the list is already written, and only inserted."""
    written = msgspec.Raw(write_slots(slots, viewer=zone))
    return OpenSlots(data=cast("list[Slot]", written), event_type=embed(found.setting.event_type), timezone=str(zone))
