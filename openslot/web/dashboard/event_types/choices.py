"""What the fields of an event type are called, and what they can be."""

from msgspec import Struct

from openslot.event_types.models import LocationKind, QuestionKind
from openslot.i18n import Text
from openslot.web.dashboard.event_types.amounts import CURRENCIES, CurrencyName

LOCATIONS = {
    LocationKind.VIDEO_LINK.value: Text("Video call"),
    LocationKind.PHONE.value: Text("Phone call"),
    LocationKind.IN_PERSON.value: Text("In person"),
    LocationKind.TEXT.value: Text("Other"),
}
WINDOWS = {
    "rolling": Text("A number of days ahead"),
    "businessDays": Text("A number of business days ahead"),
    "range": Text("Date range"),
}
UNITS = {"minutes": Text("minutes"), "hours": Text("hours"), "days": Text("days")}
KINDS = {
    QuestionKind.TEXT.value: Text("Single line of text"),
    QuestionKind.LONG_TEXT.value: Text("Multiple lines of text"),
    QuestionKind.CHOICE.value: Text("Single choice"),
    QuestionKind.CHECKBOX.value: Text("Checkbox"),
    QuestionKind.PHONE.value: Text("Phone number"),
    QuestionKind.EMAIL.value: Text("Email address"),
}
CURRENCY_NAMES = {code: CurrencyName(code) for code in CURRENCIES}


class EditedField(Struct, frozen=True, kw_only=True):
    """A field of an event type: its name for people, and the fields of the form that describe it."""

    name: Text
    fields: tuple[str, ...]


EDITED_FIELDS = {
    "schedule_id": EditedField(name=Text("Schedule"), fields=("schedule",)),
    "name": EditedField(name=Text("Name"), fields=("name",)),
    "slug": EditedField(name=Text("Link"), fields=("slug",)),
    "description": EditedField(name=Text("Description"), fields=("description",)),
    "colour": EditedField(name=Text("Colour"), fields=("colour",)),
    "duration_minutes": EditedField(name=Text("Duration"), fields=("duration",)),
    "buffer_before": EditedField(name=Text("Buffer before"), fields=("buffer_before",)),
    "buffer_after": EditedField(name=Text("Buffer after"), fields=("buffer_after",)),
    "location": EditedField(name=Text("Where"), fields=("location_kind", "location_value")),
    "min_notice_minutes": EditedField(name=Text("Minimum notice"), fields=("notice", "notice_unit")),
    "booking_window": EditedField(
        name=Text("How far ahead"), fields=("window", "window_days", "window_from", "window_to")
    ),
    "slot_interval_minutes": EditedField(name=Text("Start times"), fields=("interval",)),
    "limits": EditedField(name=Text("Limits"), fields=("per_day", "per_week")),
    "seats": EditedField(name=Text("Seats"), fields=("seats",)),
    "questions": EditedField(name=Text("Questions"), fields=("questions",)),
    "price": EditedField(name=Text("Price"), fields=("price", "currency")),
}
# The sections of the form that are folded, and the fields in each: one with a fault is shown open.
SECTIONS = {
    "questions": ("questions",),
    "limits": ("buffer_before", "buffer_after", "interval", "per_day", "per_week"),
    "more": ("seats", "price", "currency", "private"),
}
