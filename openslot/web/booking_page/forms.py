"""The booking form: what is typed, and the booking that it asks for."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.availability.models import EventTypeRef
from openslot.bookings.models import Answers, BookingWanted, Invitee
from openslot.core.ids import SHAPE
from openslot.core.text import EmailAddress, LanguageTag, Name, Prose, ReasonText
from openslot.core.zones import Zone
from openslot.event_types.models import EventType, QuestionKind
from openslot.i18n import Text
from openslot.routing import Form, WhenEmpty
from openslot.web.booking_page.options import Options

# A field that people do not see; whatever fills in every field fills in this one too.
TRAP = "website"
TRAPPED = Text("must be empty")
GUESTS = re.compile(r"[\s,;]+")
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


class RescheduleForm(Struct, frozen=True, kw_only=True):
    """The new time of a booking."""

    start: Start
    reason: ReasonText | None = None


class CancelForm(Struct, frozen=True, kw_only=True):
    """Why a booking is cancelled."""

    reason: ReasonText | None = None


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
        hold_id=read_hold(sent.hold),
    )


def read_hold(text: str) -> UUID | None:
    """Read which hold a form has; a booking without one is possible too."""
    return UUID(text) if SHAPE.fullmatch(text) else None


def begin_form(event_type: EventType, options: Options) -> Form[BookingForm]:
    """Begin a form with what the page's address already says."""
    values = {name: options.prefill(name) for name in ("name", "email", "notes", "guests")}
    for question in event_type.questions:
        given = options.prefill(question.key) if question.key not in values else ""
        if question.kind is not QuestionKind.CHECKBOX:
            values[f"answers.{question.key}"] = given
        elif given.lower() in {"1", "true", "on", "yes"}:
            values[f"checks.{question.key}"] = "on"
    return Form(values=values)


def name_faults(faults: Mapping[str, str]) -> dict[str, str]:
    """Put what a verb finds wrong at the form's own fields."""
    named: dict[str, str] = {}
    for field, fault in faults.items():
        own = {"inviteeName": "name", "inviteeEmail": "email", "inviteeTimezone": "tz"}.get(field, field)
        named.setdefault("guests" if own.startswith("guests") else own, fault)
    return named


def _read_answers(values: Mapping[str, str]) -> Answers:
    texts = {name.removeprefix("answers."): text for name, text in values.items() if name.startswith("answers.")}
    checks = {name.removeprefix("checks."): True for name in values if name.startswith("checks.")}
    return {**{key: text for key, text in texts.items() if text.strip()}, **checks}
