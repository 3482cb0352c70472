"""Forms that book: where they begin, and what they ask."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.availability.models import ByBooking, Drafted, EventTypeRef, SlotContext
from openslot.domains.availability.operations import list_month_of_slots
from openslot.domains.bookings.schemas import ConsentText
from openslot.domains.bookings.series.models import OnConflict, Recurrence
from openslot.domains.event_types.locations import find_location
from openslot.domains.event_types.models import EventType, QuestionKind
from openslot.doors.web.shared.booking_calendar import NOTHING_FULL, ShownMonth, find_full, show_month
from openslot.doors.web.shared.booking_view import hours_of
from openslot.doors.web.shared.offers import format_duration
from openslot.doors.web.shared.options import Options
from openslot.platform.core.text import EmailAddress, Name, Prose
from openslot.platform.core.times import Zone, floor_second
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, WhenEmpty

CHOOSE = Text("Choose a time")
Start = Annotated[datetime, Meta(tz=True), WhenEmpty(CHOOSE)]


class BookingForm(Struct, frozen=True, kw_only=True):
    """What an invitee sends; answers are read beside it, as each event type asks its own questions."""

    start: Start
    name: Annotated[Name, WhenEmpty(Text("Enter your name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter your email address"))]
    tz: Zone
    notes: Prose | None = None
    guests: Annotated[str, Meta(max_length=5000)] = ""
    hold: Annotated[str, Meta(max_length=100)] = ""
    duration: Annotated[str, Meta(max_length=10)] = ""
    location: Annotated[str, Meta(max_length=100)] = ""
    """The id of the one that was chosen; what it asks for is read beside it."""
    messages: ConsentText | None = None
    """The text beside the box, if the invitee has ticked it."""
    phone: Annotated[str, Meta(max_length=50)] = ""
    phone_key: Annotated[str, Meta(max_length=50)] = ""
    """The question whose answer is the phone number, if there is one."""
    weeks: Annotated[str, Meta(max_length=10)] = ""
    on_conflict: Annotated[str, Meta(max_length=10)] = ""
    email_code: Annotated[str, Meta(max_length=50)] = ""
    new_code: Annotated[str, Meta(max_length=10)] = ""
    """Whether another code is wanted, whatever was entered."""


def read_recurrence(weeks: str, on_conflict: str) -> Recurrence | None:
    """Read in how many weeks to book; None if once. What is no number is refused as too few."""
    if weeks in {"", "1"}:
        return None
    return Recurrence(
        weeks=int(weeks) if weeks.isascii() and weeks.isdigit() else 0,
        on_conflict=OnConflict.SKIP if on_conflict == OnConflict.SKIP else OnConflict.REFUSE,
    )


def begin_form(event_type: EventType, options: Options) -> Form[BookingForm]:
    values = {name: options.prefill(name) for name in ("name", "email", "notes", "guests")}
    if find_location(event_type, options.prefill("location")):
        values["location"] = options.prefill("location")
    for question in event_type.questions:
        given = options.prefill(question.key) if question.key not in values else ""
        if question.kind is QuestionKind.CHOICES:
            picked = [each.strip() for each in given.split(",")]
            chosen = [(index, option) for index, option in enumerate(question.options) if option in picked]
            values |= {f"picks.{question.key}.{place}": option for place, option in chosen}
        elif question.kind is QuestionKind.CHECKBOX:
            if given.lower() in {"1", "true", "on", "yes"}:
                values[f"checks.{question.key}"] = "on"
        elif question.kind is not QuestionKind.CONSENT:
            values[f"answers.{question.key}"] = given
    return Form(values=values)


class ShownStart(Struct, frozen=True, kw_only=True):
    start: str
    day: str
    time: str


class ShownDuration(Struct, frozen=True, kw_only=True):
    minutes: int
    words: Text
    is_chosen: bool


def list_durations(which: EventTypeRef | Drafted, found: SlotContext) -> list[ShownDuration]:
    """List the durations that an invitee chooses from; a booking that moves keeps its own."""
    event_type, chosen = found.inputs.event_type, which.minutes or found.inputs.event_type.duration_minutes
    if isinstance(which, ByBooking) or not event_type.durations:
        return []
    return [
        ShownDuration(minutes=each, words=format_duration(each), is_chosen=each == chosen)
        for each in event_type.durations
    ]


class Picked(Struct, frozen=True, kw_only=True):
    """What there is to choose from, or what was chosen."""

    found: SlotContext
    zone: ZoneInfo
    month: ShownMonth | None = None
    chosen: ShownStart | None = None
    nearest: Sequence[ShownStart] = ()
    is_open: bool = True
    durations: Sequence[ShownDuration] = ()
    """The durations that invitees choose from; empty if there is nothing to choose."""

    @property
    def duration(self) -> ShownDuration | None:
        """The one that was chosen."""
        return next((each for each in self.durations if each.is_chosen), None)


async def pick_month(
    work: Work,
    which: EventTypeRef | Drafted,
    options: Options,
    *,
    zone: ZoneInfo | None = None,
    without: UUID | None = None,
    apart_from: datetime | None = None,
    wait_at: str | None = None,
) -> Picked:
    """Read the month that a page shows; a booking that moves is not offered its own time.

    What is full can be waited for if `wait_at` says where.
    """
    month = options.month or (options.on and options.on.replace(day=1))
    read = await list_month_of_slots(work, which, zone=options.zone or zone, month=month, without=without)
    if apart_from is not None:
        others = [start for start in read.slots.starts if start != floor_second(apart_from)]
        read = replace(read, slots=replace(read.slots, starts=others))
    full = NOTHING_FULL if wait_at is None else find_full(read, _write_wait_url(wait_at, options, read.zone))
    shown = show_month(read, locale=options.locale, hours=hours_of(options), on=options.on, full=full)
    return Picked(found=read.found, zone=read.zone, month=shown, durations=list_durations(which, read.found))


def _write_wait_url(path: str, options: Options, zone: ZoneInfo) -> str:
    carried = {**options.carried, "tz": str(zone)}
    return f"{path}/wait-list?{urlencode(carried)}&date="
