"""The form of an event type: its fields, what they begin with, and the event type that they describe."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.core.text import LINE, Name, Prose
from openslot.event_types.models import (
    BookingWindow,
    BusinessDaysWindow,
    EventType,
    Limits,
    Location,
    LocationKind,
    RangeWindow,
    RollingWindow,
)
from openslot.event_types.rules import find_event_type_faults
from openslot.i18n import Text
from openslot.routing import WhenEmpty
from openslot.web.dashboard.event_types.amounts import BadAmount, read_price, write_amount
from openslot.web.dashboard.event_types.questions import QuestionForm, read_questions, write_questions

UNITS = {"minutes": 1, "hours": 60, "days": 1440}
# The fields of the form, by those of the domain.
FIELDS = {
    "durationMinutes": "duration",
    "bufferBefore": "buffer_before",
    "bufferAfter": "buffer_after",
    "minNoticeMinutes": "notice",
    "slotIntervalMinutes": "interval",
    "limits.perDay": "per_day",
    "limits.perWeek": "per_week",
    "location.value": "location_value",
    "bookingWindow.days": "window_days",
    "bookingWindow.to": "window_to",
    "price.amount": "price",
    "price.currency": "currency",
}
WORDS = {
    "notice": Text("must be from 0 to 365 days"),
    "price": Text("must be more than 0 and less than a million"),
    "window_to": Text("must not be before the first day"),
}
ENTER_NUMBER = Text("Enter a number")
ENTER_DAY = Text("Enter a day")

ShortText = Annotated[str, Meta(pattern=LINE, max_length=500)]
Number = Annotated[int, WhenEmpty(ENTER_NUMBER)]


class EventTypeForm(Struct, frozen=True, kw_only=True):
    """Everything that can be set of an event type."""

    name: Annotated[Name, WhenEmpty(Text("Enter a name"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    description: Prose = ""
    colour: ShortText = "#2563eb"
    duration: Number
    location_kind: LocationKind
    location_value: ShortText = ""
    schedule: Annotated[UUID, WhenEmpty(Text("Choose a schedule"))]
    window: Literal["rolling", "businessDays", "range"]
    window_days: int | None = None
    window_from: date | None = None
    window_to: date | None = None
    notice: Number
    notice_unit: Literal["minutes", "hours", "days"]
    buffer_before: Number
    buffer_after: Number
    interval: int | None = None
    per_day: int | None = None
    per_week: int | None = None
    seats: Number
    price: ShortText = ""
    currency: ShortText = "EUR"
    questions: tuple[QuestionForm, ...] = ()
    private: bool = False
    """Whether a new one is left off the host's page."""
    edition: Annotated[str, Meta(max_length=500)] = ""
    """What the form has shown of the event type when it was opened."""
    act: ShortText = ""
    """What to do with the form instead of saving it."""


def write_values(event_type: EventType) -> dict[str, str]:
    """Write what the form of an event type begins with."""
    notice, unit = _split_notice(event_type.min_notice_minutes)
    price = event_type.price
    values = {
        "name": event_type.name,
        "slug": event_type.slug,
        "description": event_type.description,
        "colour": event_type.colour,
        "duration": str(event_type.duration_minutes),
        "location_kind": event_type.location.kind.value,
        "location_value": event_type.location.value,
        "schedule": str(event_type.schedule_id),
        **_write_window(event_type.booking_window),
        "notice": str(notice),
        "notice_unit": unit,
        "buffer_before": str(event_type.buffer_before),
        "buffer_after": str(event_type.buffer_after),
        "interval": _write(event_type.slot_interval_minutes),
        "per_day": _write(event_type.limits.per_day),
        "per_week": _write(event_type.limits.per_week),
        "seats": str(event_type.seats),
        "price": write_amount(price) if price else "",
        "currency": price.currency if price else "EUR",
        **write_questions(event_type.questions),
    }
    return values | ({"private": "on"} if event_type.is_private else {})


def read_event_type(sent: EventTypeForm, base: EventType) -> tuple[EventType, dict[str, str]]:
    """Read the event type that a form describes, and every fault of it at its field."""
    faults: dict[str, str] = dict(_find_missing(sent))
    try:
        price = read_price(sent.price, sent.currency)
    except BadAmount as bad:
        price, faults["price"] = base.price, bad.fault
    described = replace(
        base,
        name=sent.name,
        slug=sent.slug.strip() or base.slug,
        description=sent.description,
        colour=sent.colour.strip().lower(),
        duration_minutes=sent.duration,
        location=Location(sent.location_kind, sent.location_value.strip()),
        schedule_id=sent.schedule,
        booking_window=_read_window(sent) or base.booking_window,
        min_notice_minutes=sent.notice * UNITS[sent.notice_unit],
        buffer_before=sent.buffer_before,
        buffer_after=sent.buffer_after,
        slot_interval_minutes=sent.interval,
        limits=Limits(sent.per_day, sent.per_week),
        seats=sent.seats,
        price=price,
        questions=read_questions(sent.questions),
    )
    return described, name_faults(find_event_type_faults(described)) | faults


def name_faults(faults: Mapping[str, str]) -> dict[str, str]:
    """Put what the domain finds wrong at the form's own fields."""
    named = {FIELDS.get(field, field): fault for field, fault in faults.items()}
    return {field: WORDS.get(field, fault) for field, fault in named.items()}


def _find_missing(sent: EventTypeForm) -> Iterator[tuple[str, str]]:
    if sent.window != "range" and sent.window_days is None:
        yield "window_days", ENTER_NUMBER
    if sent.window == "range":
        yield from ((name, ENTER_DAY) for name in ("window_from", "window_to") if getattr(sent, name) is None)


def _read_window(sent: EventTypeForm) -> BookingWindow | None:
    if sent.window == "range":
        days = sent.window_from, sent.window_to
        return RangeWindow(days[0], days[1]) if days[0] and days[1] else None
    if sent.window_days is None:
        return None
    return RollingWindow(sent.window_days) if sent.window == "rolling" else BusinessDaysWindow(sent.window_days)


def _write_window(window: BookingWindow) -> dict[str, str]:
    if isinstance(window, RangeWindow):
        days = {"window_from": window.first.isoformat(), "window_to": window.last.isoformat()}
        return {"window": "range", "window_days": "", **days}
    kind = "rolling" if isinstance(window, RollingWindow) else "businessDays"
    return {"window": kind, "window_days": str(window.days), "window_from": "", "window_to": ""}


def _split_notice(minutes: int) -> tuple[int, str]:
    unit = "days" if minutes and minutes % 1440 == 0 else "hours" if minutes and minutes % 60 == 0 else "minutes"
    return minutes // UNITS[unit], unit


def _write(number: int | None) -> str:
    return "" if number is None else str(number)
