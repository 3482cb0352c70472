"""Choosing a time and filling in the form: what there is to choose, what is typed, and the booking that it asks for."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

from markupsafe import Markup
from msgspec import Meta, Struct

from openslot.domains.availability.models import EventTypeRef
from openslot.domains.availability.operations import list_nearest_slots
from openslot.domains.bookings.models import Answers, BookingWanted, ConsentSource, Invitee, MessageConsent
from openslot.domains.event_types.locations import WantedLocation
from openslot.domains.event_types.models import Question, QuestionKind
from openslot.doors.web.shared.booking_forms import BookingForm, Picked, ShownStart, Start, list_durations
from openslot.doors.web.shared.booking_view import hours_of
from openslot.doors.web.shared.offers import ShownLocation, list_locations
from openslot.doors.web.shared.options import Options
from openslot.doors.web.shared.templating import get_template
from openslot.doors.web.shared.words import format_day
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.sources import name_campaign
from openslot.platform.core.text import LanguageTag, ReasonText
from openslot.platform.core.times import at_second, get_zone, iso
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Hours, Locale
from openslot.platform.i18n.localization import format_minute
from openslot.platform.routing import Form

# A field that people do not see; whatever fills in every field fills in this one too.
TRAP = "website"
TRAPPED = Text("must be empty")
GUESTS = re.compile(r"[\s,;]+")

Questions = tuple[Question, ...]


class RescheduleForm(Struct, frozen=True, kw_only=True):
    start: Start
    reason: ReasonText | None = None


class CancelForm(Struct, frozen=True, kw_only=True):
    reason: ReasonText | None = None
    series: Annotated[str, Meta(max_length=10)] = ""
    """Whether all dates of its series are meant; empty if only this one is."""


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
    read = await list_nearest_slots(work, which, start, without=without)
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
        places=list_locations(picked.found.inputs.event_type, picked.found.host_name),
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
    places: tuple[ShownLocation, ...] = ()
    asks_code: bool = False
    """Whether a code was sent to the invitee's address."""

    @property
    def phone_key(self) -> str:
        """The question that asks for a phone number; empty if none does."""
        return next((each.key for each in self.questions if each.kind is QuestionKind.PHONE), "")


# benchmarks/caches.py: write the empty form, in every booking page, 550 times
@lru_cache(maxsize=256)
def _write_empty(asked: AskedFields, locale: Locale) -> Markup:
    return _write(Form(), asked, locale, None)


def _write(form: Form[BookingForm], asked: AskedFields, locale: Locale, picked: Picked | None) -> Markup:
    template = get_template("booking/fields.html", locale.language)
    html = template.render(form=form, asked=asked, locale=locale, picked=picked)
    return Markup(html)  # noqa: S704 - a template escapes
