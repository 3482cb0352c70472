"""Choosing a time and filling in the form: what there is to choose, what is typed, and the booking that it asks for."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from markupsafe import Markup
from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.availability import operations as availability
from openslot.domains.availability.models import ByBooking, Drafted, EventTypeRef, SlotContext
from openslot.domains.bookings.models import Answers, BookingWanted, ConsentSource, Invitee, MessageConsent
from openslot.domains.bookings.schemas import ConsentText
from openslot.domains.bookings.series.models import OnConflict, Recurrence
from openslot.domains.event_types.locations import WantedLocation, find_location
from openslot.domains.event_types.models import EventType, Question, QuestionKind
from openslot.doors.web.booking_page.for_assistants import ShownPlace, format_duration, list_places
from openslot.doors.web.shared.booking_calendar import NOTHING_FULL, ShownMonth, find_full, show_month
from openslot.doors.web.shared.booking_view import hours_of
from openslot.doors.web.shared.options import Options
from openslot.doors.web.shared.templating import get_template
from openslot.doors.web.shared.words import format_day
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.sources import name_campaign
from openslot.platform.core.text import EmailAddress, LanguageTag, Name, Prose, ReasonText
from openslot.platform.core.times import Zone, at_second, floor_second, get_zone, iso
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Hours, Locale
from openslot.platform.i18n.localization import format_minute
from openslot.platform.routing import Form, WhenEmpty

# A field that people do not see; whatever fills in every field fills in this one too.
TRAP = "website"
TRAPPED = Text("must be empty")
GUESTS = re.compile(r"[\s,;]+")
CHOOSE = Text("Choose a time")

Start = Annotated[datetime, Meta(tz=True), WhenEmpty(CHOOSE)]
Questions = tuple[Question, ...]


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
    """What the invitee has agreed to, as the box says it; None: it is not ticked."""
    phone: Annotated[str, Meta(max_length=50)] = ""
    phone_key: Annotated[str, Meta(max_length=50)] = ""
    """The question whose answer is the phone number, if there is one."""
    weeks: Annotated[str, Meta(max_length=10)] = ""
    on_conflict: Annotated[str, Meta(max_length=10)] = ""
    email_code: Annotated[str, Meta(max_length=50)] = ""
    new_code: Annotated[str, Meta(max_length=10)] = ""
    """Whether another code is wanted, whatever was entered."""


class RescheduleForm(Struct, frozen=True, kw_only=True):
    start: Start
    reason: ReasonText | None = None


class CancelForm(Struct, frozen=True, kw_only=True):
    reason: ReasonText | None = None
    series: Annotated[str, Meta(max_length=10)] = ""
    """Whether all dates of its series are meant; empty: this one alone."""


def read_wanted(which: EventTypeRef, form: Form[BookingForm], options: Options) -> BookingWanted:
    """Read the booking that a form without faults asks for."""
    sent = form.get()
    locale = LanguageTag.parse(options.locale.formats)
    return BookingWanted(
        which=which,
        starts_at=sent.start,
        invitee=Invitee(name=sent.name, email=sent.email, zone=sent.tz, locale=locale),
        notes=sent.notes,
        answers=_read_answers(form.values),
        guests=tuple(filter(None, GUESTS.split(sent.guests))),
        hold_id=read_id(sent.hold),
        message_consent=_read_consent(form),
        location=WantedLocation(id=sent.location or None, value=form[name_place(form)]),
        source=read_source(form),
        email_code=None if sent.new_code else sent.email_code.strip() or None,
    )


def read_recurrence(weeks: str, on_conflict: str) -> Recurrence | None:
    """Read in how many weeks to book; None: once. What is no number is refused as too few."""
    if weeks in {"", "1"}:
        return None
    return Recurrence(
        weeks=int(weeks) if weeks.isascii() and weeks.isdigit() else 0,
        on_conflict=OnConflict.SKIP if on_conflict == OnConflict.SKIP else OnConflict.REFUSE,
    )


def _read_consent(form: Form[BookingForm]) -> MessageConsent | None:
    sent = form.get()
    if sent.messages is None:
        return None
    return MessageConsent(phone=form[name_phone(form)].strip(), text=sent.messages, source=ConsentSource.BOOKING_PAGE)


def name_place(form: Form[BookingForm]) -> str:
    """Name the field that has what the location asks for."""
    return f"place.{form['location']}" if form["location"] else "place"


def name_phone(form: Form[BookingForm]) -> str:
    """Name the field that has the phone number for messages."""
    return f"answers.{form['phone_key']}" if form["phone_key"] else "phone"


def read_id(text: str) -> UUID | None:
    """Read the id of a hold, or of a form; None if there is none."""
    return UUID(text) if SHAPE.fullmatch(text) else None


def read_source(form: Form[BookingForm]) -> str | None:
    """Read where the visitor came from, as the page has written it; whatever else stands there is counted together."""
    return name_campaign(form["source"]) if form["source"] else None


def begin_form(event_type: EventType, options: Options) -> Form[BookingForm]:
    values = {name: options.prefill(name) for name in ("name", "email", "notes", "guests")}
    if find_location(event_type, options.prefill("location")):
        values["location"] = options.prefill("location")
    for question in event_type.questions:
        given = options.prefill(question.key) if question.key not in values else ""
        if question.kind is QuestionKind.CHOICES:
            picked = [each.strip() for each in given.split(",")]
            chosen = [(place, option) for place, option in enumerate(question.options) if option in picked]
            values |= {f"picks.{question.key}.{place}": option for place, option in chosen}
        elif question.kind is QuestionKind.CHECKBOX:
            if given.lower() in {"1", "true", "on", "yes"}:
                values[f"checks.{question.key}"] = "on"
        elif question.kind is not QuestionKind.CONSENT:
            values[f"answers.{question.key}"] = given
    return Form(values=values)


def name_faults(faults: Mapping[str, str], *, phone: str = "phone", place: str = "place") -> dict[str, str]:
    """Put what a verb finds wrong at the form's own fields."""
    own_names = {
        "inviteeName": "name",
        "inviteeEmail": "email",
        "inviteeTimezone": "tz",
        "durationMinutes": "duration",
        "messageConsent.phone": phone,
        "recurrence": "weeks",
        "recurrence.weeks": "weeks",
        "location.id": "location",
        "location.value": place,
        "emailCode": "email_code",
    }
    named: dict[str, str] = {}
    for field, fault in faults.items():
        own = own_names.get(field, field)
        named.setdefault("guests" if own.startswith("guests") else own, fault)
    return named


def _read_answers(values: Mapping[str, str]) -> Answers:
    texts = {name.removeprefix("answers."): text for name, text in values.items() if name.startswith("answers.")}
    checks = {name.removeprefix("checks."): True for name in values if name.startswith("checks.")}
    picks: dict[str, tuple[str, ...]] = {}
    for name, option in values.items():
        if name.startswith("picks."):
            key = name.split(".", 2)[1]
            picks[key] = (*picks.get(key, ()), option)
    return {**{key: text for key, text in texts.items() if text.strip()}, **checks, **picks}


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
    """What invitees choose from; none if there is nothing to choose."""

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
    read = await availability.list_month(work, which, zone=options.zone or zone, month=month, without=without)
    if apart_from is not None:
        others = [start for start in read.slots.starts if start != floor_second(apart_from)]
        read = replace(read, slots=replace(read.slots, starts=others))
    full = NOTHING_FULL if wait_at is None else find_full(read, _write_wait_url(wait_at, options, read.zone))
    shown = show_month(read, locale=options.locale, hours=hours_of(options), on=options.on, full=full)
    return Picked(found=read.found, zone=read.zone, month=shown, durations=list_durations(which, read.found))


def _write_wait_url(path: str, options: Options, zone: ZoneInfo) -> str:
    carried = {**options.carried, "tz": str(zone)}
    return f"{path}/wait-list?{urlencode(carried)}&date="


async def pick_start(
    work: Work,
    which: EventTypeRef,
    options: Options,
    start: datetime,
    *,
    zone: ZoneInfo | None = None,
    without: UUID | None = None,
) -> Picked:
    """Read whether a chosen time is open, and the times nearest to it."""
    read = await availability.list_nearest(work, which, start, without=without)
    zone = options.zone or zone or get_zone(read.found.host_zone)
    locale, hours = options.locale, hours_of(options)
    return Picked(
        found=read.found,
        zone=zone,
        chosen=show_start(start, zone, locale, hours),
        nearest=[show_start(at_second(each), zone, locale, hours) for each in read.starts],
        is_open=read.is_open,
        durations=list_durations(which, read.found),
    )


def show_start(start: datetime, zone: ZoneInfo, locale: Locale, hours: Hours) -> ShownStart:
    local = start.astimezone(zone)
    on = date(local.year, local.month, local.day)
    minute = format_minute(local.hour * 60 + local.minute, locale.formats, hours)
    return ShownStart(start=iso(start), day=format_day(on, locale.formats), time=minute)


def write_fields(
    form: Form[BookingForm], picked: Picked, locale: Locale, *, keeps_mail: bool, asks_code: bool
) -> Markup:
    asked = AskedFields(
        questions=picked.found.inputs.event_type.questions,
        keeps_mail=keeps_mail,
        asks_code=asks_code,
        sends_messages=picked.found.sends_messages,
        max_weeks=picked.found.inputs.event_type.max_weeks,
        places=list_places(picked.found.inputs.event_type, picked.found.host_name),
    )
    if form.faults or asked.places or any(form.values.values()):
        return _write(form, asked, locale, picked)
    return _write_empty(asked, locale)


class AskedFields(Struct, frozen=True, kw_only=True):
    """What decides which fields a form has."""

    questions: Questions
    keeps_mail: bool
    sends_messages: bool
    max_weeks: int
    places: tuple[ShownPlace, ...] = ()
    asks_code: bool = False
    """Whether a code was sent to the invitee's address."""

    @property
    def phone_key(self) -> str:
        """The question that asks for a phone number; empty if none does."""
        return next((each.key for each in self.questions if each.kind is QuestionKind.PHONE), "")


@lru_cache(maxsize=256)
def _write_empty(asked: AskedFields, locale: Locale) -> Markup:
    return _write(Form(), asked, locale, None)


def _write(form: Form[BookingForm], asked: AskedFields, locale: Locale, picked: Picked | None) -> Markup:
    template = get_template("booking/fields.html", locale.language)
    html = template.render(form=form, asked=asked, locale=locale, picked=picked)
    return Markup(html)  # noqa: S704 - a template escapes
