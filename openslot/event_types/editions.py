"""Editions: what a form has shown of an event type, so that a later save undoes nobody else's change."""

import hashlib

import msgspec
from msgspec.structs import replace

from openslot.event_types.models import EventType

# The fields that a form edits. Its order, its link and whether it is offered have verbs of their own.
EDITED = (
    "schedule_id",
    "name",
    "slug",
    "description",
    "colour",
    "duration_minutes",
    "buffer_before",
    "buffer_after",
    "location",
    "min_notice_minutes",
    "booking_window",
    "slot_interval_minutes",
    "limits",
    "seats",
    "questions",
    "price",
)
LENGTH = 8


def edition_of(event_type: EventType) -> str:
    """Write a few digits for each field that a form edits, which change with its value."""
    return "".join(_digits(getattr(event_type, field)) for field in EDITED)


def find_changed(event_type: EventType, *, since: str) -> tuple[str, ...]:
    """Name the fields that are not what they were in an edition; all of them if it can't be read."""
    known = [since[place : place + LENGTH] for place in range(0, len(EDITED) * LENGTH, LENGTH)]
    return tuple(
        field for field, digits in zip(EDITED, known, strict=True) if digits != _digits(getattr(event_type, field))
    )


def take_edits(current: EventType, edited: EventType) -> EventType:
    """Take the edited fields over, and nothing else."""
    return replace(current, **{field: getattr(edited, field) for field in EDITED})


def _digits(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:LENGTH]
