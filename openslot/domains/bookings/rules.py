"""Decisions about bookings: what a new one looks like, and what its answers must be."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from math import ceil
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.availability.models import ByBooking, Claimed, ClaimedHost
from openslot.domains.bookings.models import AnswerValue, Booking, BookingWanted, Payment, Status
from openslot.domains.contacts.models import Contact
from openslot.domains.event_types.locations import WantedLocation, find_location
from openslot.domains.event_types.models import EventType, Location, LocationAsks, Money, Question, QuestionKind
from openslot.domains.event_types.rules import MAX_WEEKS, MIN_WEEKS, list_asked
from openslot.domains.teams.models import BookingHost
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.text import (
    EMPTY,
    INVISIBLE,
    NOT_AN_ADDRESS,
    PROSE_SHAPE,
    at_most_characters,
    is_line,
    is_visible,
    parse_email,
    parse_phone,
)
from openslot.platform.core.times import NOT_A_ZONE, find_zone
from openslot.platform.i18n import PluralText, Text

MAX_GUESTS = 10
MIN_SEARCH = 2
"""How many characters a search by name needs."""
MAX_RESCHEDULES, RESCHEDULE_WINDOW = 10, timedelta(hours=24)
"""How often a booking can be rescheduled by its manage link, in any 24 hours."""

CALENDAR = "calendar"
CANCELLED_BY = {
    ActorKind.KEY: "host",
    ActorKind.SESSION: "host",
    ActorKind.PUBLIC: "invitee",
    ActorKind.SCIM: "organization",
    ActorKind.AGENT: "agent",
    ActorKind.ASSISTANT: "host",
    ActorKind.OPERATOR: "operator",
    ActorKind.SYSTEM: "system",
}


def name_hosts(hosts: Iterable[ClaimedHost]) -> tuple[BookingHost, ...]:
    """Name those who were chosen, as events tell of them; who hosts an event type of their own is not told of."""
    return tuple(BookingHost(user_id=each.user_id, name=each.name, role=each.role) for each in hosts if each.was_chosen)


def draft(claimed: Claimed, contact: Contact | None, wanted: BookingWanted, *, actor: Actor, now: datetime) -> Booking:
    is_due = must_pay(claimed.event_type, actor)
    must_wait = must_ask(claimed.event_type, actor)
    return Booking(
        id=new_id(),
        host_id=claimed.event_type.owner_id,
        event_type_id=claimed.event_type.id,
        contact_id=contact.id if contact else None,
        claim_id=claimed.claim_id,
        seat_id=claimed.seat_id,
        status=Status.PENDING_PAYMENT if is_due else Status.PENDING_CONFIRMATION if must_wait else Status.CONFIRMED,
        starts_at=claimed.starts_at,
        ends_at=claimed.ends_at,
        invitee_name=wanted.invitee.name,
        invitee_email=wanted.invitee.email,
        invitee_zone=wanted.invitee.zone,
        notes=wanted.notes,
        location=locate(claimed.event_type, wanted.location),
        answers=wanted.answers,
        guests=wanted.guests,
        payment=_draft_payment(claimed.event_type.price, is_due=is_due),
        created_at=now,
        updated_at=now,
        invitee_locale=wanted.invitee.locale,
    )


def find_location_faults(event_type: EventType, wanted: WantedLocation, *, must_tell: bool) -> dict[str, str]:
    """Check which location is wanted and what is told of it; the host's side need not tell."""
    location = find_location(event_type, wanted.id)
    if location is None:
        return {"location.id": Text("is not a location of this event type")}
    value = wanted.value.strip()
    if not location.asks:
        return {"location.value": Text("must be empty: this location does not ask for it")} if value else {}
    if not value:
        return {"location.value": Text("is required")} if must_tell else {}
    fault = _phone_fault(value) if location.asks is LocationAsks.PHONE else _line_fault(value)
    if fault is None and not is_visible(value):
        fault = INVISIBLE
    return {"location.value": fault} if fault else {}


def locate(event_type: EventType, wanted: WantedLocation) -> Location:
    """Return where a booking takes place whose wish has no faults."""
    location, value = find_location(event_type, wanted.id) or event_type.location, wanted.value.strip()
    if not location.asks or not value:
        return location
    return replace(location, value=parse_phone(value) if location.asks is LocationAsks.PHONE else value)


def _draft_payment(price: Money | None, *, is_due: bool) -> Payment | None:
    if price is None:
        return None
    return Payment("pending", price.amount, price.currency) if is_due else Payment("not_required")


def must_pay(event_type: EventType, actor: Actor) -> bool:
    """Return whether someone who books must pay for it first; the host's side need not."""
    return event_type.price is not None and not is_host(actor)


def must_ask(event_type: EventType, actor: Actor) -> bool:
    """Return whether the host confirms what someone books; the host's side need not ask."""
    return event_type.requires_confirmation and not is_host(actor)


def lapses_at(booking: Booking, *, within: timedelta) -> datetime:
    """Return until when a host can answer a request: some hours after it was made, and at the start at the latest."""
    return min(booking.created_at + within, booking.starts_at)


def is_host(actor: Actor) -> bool:
    """Return whether someone books on the host's side and need neither pay, nor ask, nor answer questions."""
    return actor.kind is not ActorKind.PUBLIC


def name_canceller(actor: Actor, *, host_ids: Collection[UUID]) -> str:
    """Return which side cancelled a booking; a cancellation in the host's calendar is the host's."""
    if actor.organization_id is not None:
        return "organization"
    side = "host" if actor.agent == CALENDAR else CANCELLED_BY[actor.kind]
    # An administrator of the platform, who has disabled the host's account.
    is_someone_else = side == "host" and actor.user_id not in (None, *host_ids)
    return "operator" if is_someone_else else side


def name_wanted_time(booking: Booking, event_type: EventType) -> ByBooking:
    """Name what a booking that moves needs: time as long as it is, or a seat in a session as long as that is."""
    return ByBooking(event_type.id, None if event_type.seats > 1 or booking.seat_id else booking.minutes)


def seconds_until_free(taken_at: datetime, *, now: datetime) -> int:
    """Count whole seconds, at least one, after which a reschedule at that time no longer counts."""
    return max(1, ceil((taken_at + RESCHEDULE_WINDOW - now).total_seconds()))


def is_over(booking: Booking, *, now: datetime) -> bool:
    return booking.ends_at <= now


def can_mark_no_show(booking: Booking, *, now: datetime) -> bool:
    return booking.status is Status.CONFIRMED and booking.starts_at <= now


def can_change(booking: Booking, *, now: datetime) -> bool:
    return booking.status is Status.CONFIRMED and not is_over(booking, now=now)


def find_wanted_faults(wanted: BookingWanted) -> dict[str, str]:
    """Name every invalid field of a wanted booking, before anything is looked up."""
    faults = dict(_guest_faults(wanted.guests))
    if not wanted.invitee.name.strip() or not is_line(wanted.invitee.name):
        faults["inviteeName"] = EMPTY
    if not _is_email(wanted.invitee.email):
        faults["inviteeEmail"] = NOT_AN_ADDRESS
    if find_zone(wanted.invitee.zone) is None:
        faults["inviteeTimezone"] = NOT_A_ZONE
    if wanted.message_consent and (fault := _phone_fault(wanted.message_consent.phone)):
        faults["messageConsent.phone"] = fault
    return faults


def check_weeks(weeks: int, *, max_: int = MAX_WEEKS) -> None:
    """Refuse a number of weeks that can't be booked at once, or not of an event type that has this maximum."""
    if max_ == 1:
        raise Invalid(details={"recurrence": Text("is not offered by this event type")})
    if not MIN_WEEKS <= weeks <= max_:
        fault = Text("must be from %(least)s to %(max)s", least=MIN_WEEKS, max=max_)
        raise Invalid(details={"recurrence.weeks": fault})


def find_answer_faults(
    questions: tuple[Question, ...], answers: dict[str, AnswerValue], *, must_answer: bool
) -> dict[str, str]:
    """Check answers against what was asked; the host's side need not answer everything."""
    known = {question.key for question in questions}
    asked = {question.key: question for question in list_asked(questions, answers)}
    faults: dict[str, str] = {
        f"answers.{key}": Text("is not asked with these answers") if key in known else UNKNOWN
        for key, given in answers.items()
        if key not in asked and not (key in known and given in NO_ANSWER)
    }
    for key, question in asked.items():
        given = answers.get(key)
        if given in NO_ANSWER:
            if question.required and must_answer:
                faults[f"answers.{key}"] = Text("is required")
        elif fault := _answer_fault(question, given):
            faults[f"answers.{key}"] = fault
    return faults


def _answer_fault(question: Question, given: AnswerValue | None) -> str | None:
    if question.kind in (QuestionKind.CHECKBOX, QuestionKind.CONSENT):
        return None if isinstance(given, bool) else Text("must be true or false")
    if question.kind is QuestionKind.CHOICES:
        return _choices_fault(question, given)
    if not isinstance(given, str):
        return Text("must be a string")
    if question.kind is QuestionKind.CHOICE:
        is_offered = given in question.options
        return None if is_offered else Text("must be one of %(choices)s", choices=", ".join(question.options))
    return TEXT_FAULTS[question.kind](given)


def _choices_fault(question: Question, given: AnswerValue | None) -> str | None:
    if not isinstance(given, tuple):
        return Text("must be an array")
    if not set(given) <= set(question.options):
        return Text("must have only %(choices)s", choices=", ".join(question.options))
    return Text("must not have the same option twice") if len(set(given)) < len(given) else None


def _guest_faults(guests: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if len(guests) > MAX_GUESTS:
        yield (
            "guests",
            PluralText("must have at most %(count)s entry", "must have at most %(count)s entries", count=MAX_GUESTS),
        )
    for index, guest in enumerate(guests):
        if not _is_email(guest):
            yield f"guests.{index}", NOT_AN_ADDRESS


def _is_email(text: str) -> bool:
    try:
        parse_email(text)
    except ValueError:
        return False
    return True


def _phone_fault(text: str) -> str | None:
    try:
        parse_phone(text)
    except ValueError as fault:
        found: str = fault.args[0]
        return found
    return None


def _line_fault(text: str) -> str | None:
    is_short = len(text) <= 500 and is_line(text)
    return None if is_short else Text("must be at most %(count)s characters on one line", count=500)


def _prose_fault(text: str) -> str | None:
    return None if len(text) <= 5000 and PROSE_SHAPE.match(text) else at_most_characters(5000)


def _email_fault(text: str) -> str | None:
    return None if _is_email(text) else NOT_AN_ADDRESS


UNKNOWN = Text("is not a question of this event type")
NO_ANSWER: tuple[AnswerValue | None, ...] = (None, "", False, ())
TEXT_FAULTS = {
    QuestionKind.TEXT: _line_fault,
    QuestionKind.LONG_TEXT: _prose_fault,
    QuestionKind.EMAIL: _email_fault,
    QuestionKind.PHONE: _phone_fault,
}
