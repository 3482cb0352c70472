"""Decisions about event types: the bounds of every field, and what a form has changed since it was shown."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import msgspec
from msgspec.structs import replace

from openslot.domains.event_types import models
from openslot.domains.event_types.locations import find_location_faults
from openslot.domains.event_types.prices import find_price_faults
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import INVISIBLE, is_visible, is_web_url
from openslot.platform.i18n import Text

MAX_QUESTIONS = 20
MAX_OPTIONS = 50
MAX_DURATIONS = 10
LONGEST_MINUTES = 1440
MIN_WEEKS, MAX_WEEKS = 2, 52
WAIT_LIST_MINUTES = 15, 1440
WITH_OPTIONS = (models.QuestionKind.CHOICE, models.QuestionKind.CHOICES)

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_KEY = re.compile(r"[a-z][a-z0-9_]{0,49}", re.ASCII)
_COLOR = re.compile(r"#[0-9a-f]{6}", re.ASCII)
_LINK = re.compile(r"://|\bwww\.|\w\.[a-z]{2,}/\S", re.IGNORECASE)
_REFUND_POLICY = re.compile(r"full|none|until:(?:[1-9]\d{0,2}|[1-7]\d{3}|8[0-6]\d{2}|87[0-5]\d|8760)")

NOT_WITH_PRICE = Text("can't be combined with a price: a payment confirms the booking")

NOT_WITH_TEAM = Text("can't be combined with a team")

NOT_A_TARGET = Text("must be a link that begins with https://, with plain letters and without a user name")

Faults = Iterator[tuple[str, str]]


def find_event_type_faults(event_type: models.EventType) -> dict[str, str]:
    """Name every invalid field of an event type, and what is wrong with it."""
    return {
        **dict(_text_faults(event_type)),
        **dict(_number_faults(event_type)),
        **dict(find_location_faults(event_type)),
        **dict(_window_faults(event_type.booking_window)),
        **dict(_question_faults(event_type.questions)),
        **dict(_price_faults(event_type)),
        **dict(_redirect_faults(event_type.redirect_url)),
        **dict(_team_faults(event_type)),
    }


def is_color(text: str) -> bool:
    return _COLOR.fullmatch(text) is not None


def suggest_slug(name: str) -> str:
    """Make a slug from a name; empty if it has no letter or digit that a slug may have."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")


def is_told_when_booked(location: models.Location) -> bool:
    """Return whether only invitees who have booked may see a place: a link, a phone number, or text with a link."""
    if location.kind in (models.LocationKind.VIDEO_LINK, models.LocationKind.PHONE):
        return bool(location.value) or location.awaits_link
    return _LINK.search(location.value) is not None


def _text_faults(event_type: models.EventType) -> Faults:
    if not event_type.name.strip() or len(event_type.name) > 200:
        yield "name", Text("must be 1 to 200 characters")
    elif not is_visible(event_type.name):
        yield "name", INVISIBLE
    if len(event_type.slug) > 100 or not _SLUG.fullmatch(event_type.slug):
        yield "slug", Text("must be 1 to 100 lower-case letters and digits, with single hyphens between them")
    if len(event_type.description) > 5000:
        yield "description", Text("must be at most 5000 characters")
    if not is_color(event_type.color):
        yield "color", Text("must be # and six hexadecimal digits, such as #2563eb")


def _number_faults(event_type: models.EventType) -> Faults:
    yield from _bounds("durationMinutes", event_type.duration_minutes, 1, LONGEST_MINUTES)
    yield from _duration_faults(event_type)
    yield from _bounds("bufferBefore", event_type.buffer_before, 0, 480)
    yield from _bounds("bufferAfter", event_type.buffer_after, 0, 480)
    yield from _bounds("minNoticeMinutes", event_type.min_notice_minutes, 0, 525_600)
    yield from _bounds("slotIntervalMinutes", event_type.slot_interval_minutes, 1, 1440)
    yield from _bounds("limits.perDay", event_type.limits.per_day, 1, 1000)
    yield from _bounds("limits.perWeek", event_type.limits.per_week, 1, 1000)
    yield from _bounds("limits.perInvitee", event_type.limits.per_invitee, 1, 1000)
    yield from _bounds("waitListMinutes", event_type.wait_list_minutes, *WAIT_LIST_MINUTES)
    yield from _bounds("seats", event_type.seats, 1, 1000)
    yield from _recurrence_faults(event_type)
    yield from _bounds("position", event_type.position, 0, 1_000_000)


def _bounds(field: str, number: int | None, least: int, max_: int) -> Faults:
    if number is not None and not least <= number <= max_:
        yield field, Text("must be from %(least)s to %(max)s", least=least, max=max_)


def _duration_faults(event_type: models.EventType) -> Faults:
    durations = event_type.durations
    if len(durations) > MAX_DURATIONS:
        yield "durations", Text("must have at most %(max)s entries", max=MAX_DURATIONS)
    elif len(set(durations)) < len(durations):
        yield "durations", Text("must not have the same duration twice")
    elif any(not 1 <= minutes <= LONGEST_MINUTES for minutes in durations):
        yield "durations", Text("must be from %(least)s to %(max)s", least=1, max=LONGEST_MINUTES)
    elif durations and event_type.duration_minutes not in durations:
        yield "durations", Text("must include the default duration")
    elif len(durations) > 1 and event_type.seats > 1:
        # Those who share a session share its end.
        yield "durations", Text("can't be combined with more than one seat")


def _recurrence_faults(event_type: models.EventType) -> Faults:
    if event_type.recurring_weeks is None:
        return
    yield from _bounds("recurringWeeks", event_type.recurring_weeks, MIN_WEEKS, MAX_WEEKS)
    if event_type.price is not None:
        yield "recurringWeeks", Text("can't be combined with a price")
    elif event_type.seats > 1:
        yield "recurringWeeks", Text("can't be combined with more than one seat")
    elif event_type.requires_confirmation:
        yield "recurringWeeks", Text("can't be combined with a confirmation by the host")


def _team_faults(event_type: models.EventType) -> Faults:
    if event_type.team_id is None:
        return
    if event_type.price is not None:
        yield "price", NOT_WITH_TEAM
    if event_type.wait_list_minutes is not None:
        yield "waitListMinutes", NOT_WITH_TEAM


def check_duration(event_type: models.EventType, minutes: int | None) -> None:
    """Refuse a duration that invitees can't choose."""
    if minutes is not None and minutes not in event_type.all_durations:
        choices = ", ".join(map(str, event_type.all_durations))
        raise Invalid(details={"durationMinutes": Text("must be one of %(choices)s", choices=choices)})


def order_durations(durations: tuple[int, ...]) -> tuple[int, ...]:
    """Put durations in order; the default alone needs no list."""
    return tuple(sorted(durations)) if len(durations) > 1 else ()


def _redirect_faults(url: str | None) -> Faults:
    if url is not None and not _is_target(url):
        yield "redirectUrl", NOT_A_TARGET


def _is_target(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    # Browsers read a backslash as a slash.
    return has_host and is_web_url(url) and url.isascii() and "\\" not in url and "@" not in parts.netloc


def check_redirect(url: str | None, *, own_url: str) -> None:
    """Refuse to send invitees to an address that is neither https nor of this installation."""
    if url is None or urlsplit(url).scheme.lower() == "https":
        return
    if _origin_of(url) != _origin_of(own_url):
        raise Invalid(details={"redirectUrl": NOT_A_TARGET})


def write_redirect(url: str, booking_id: UUID) -> str:
    """Write where the invitee of a booking is sent, with the booking's id after the query that is there."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query=f"{parts.query}{'&' if parts.query else ''}bookingId={booking_id}"))


def _origin_of(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.netloc.lower()


def _window_faults(window: models.BookingWindow) -> Faults:
    if not isinstance(window, models.RangeWindow):
        yield from _bounds("bookingWindow.days", window.days, 0, 730)
    elif window.last < window.first:
        yield "bookingWindow.to", "must not be before from"


def _question_faults(questions: tuple[models.Question, ...]) -> Faults:
    if len(questions) > MAX_QUESTIONS:
        yield "questions", Text("must have at most %(max)s entries", max=MAX_QUESTIONS)
    seen: dict[str, models.Question] = {}
    for index, question in enumerate(questions):
        path = f"questions.{index}"
        if question.key in seen:
            yield f"{path}.key", Text("is used twice")
        elif not _KEY.fullmatch(question.key):
            yield f"{path}.key", Text("must be a lower-case letter, then up to 49 letters, digits and underscores")
        if not question.label.strip() or len(question.label) > 200:
            yield f"{path}.label", Text("must be 1 to 200 characters")
        if question.kind is models.QuestionKind.CONSENT and not question.required:
            yield f"{path}.required", "must be true for a consent"
        yield from _option_faults(f"{path}.options", question)
        if question.show_if is not None:
            yield from _show_if_faults(f"{path}.showIf", question.show_if, seen)
        seen.setdefault(question.key, question)


def _option_faults(path: str, question: models.Question) -> Faults:
    options = question.options
    if question.kind not in WITH_OPTIONS:
        if options:
            yield path, "must be empty unless the kind is choice or choices"
    elif not 1 <= len(options) <= MAX_OPTIONS:
        yield path, Text("must have 1 to %(max)s entries", max=MAX_OPTIONS)
    elif len(set(options)) < len(options):
        yield path, Text("must not have the same option twice")
    elif any(not option.strip() or len(option) > 200 for option in options):
        yield path, Text("must have options of 1 to 200 characters")


def _show_if_faults(path: str, show_if: models.ShowIf, earlier: dict[str, models.Question]) -> Faults:
    asked = earlier.get(show_if.key)
    if asked is None or asked.kind not in (*WITH_OPTIONS, models.QuestionKind.CHECKBOX):
        yield f"{path}.key", Text("must be an earlier choice or checkbox")
    elif asked.kind is models.QuestionKind.CHECKBOX:
        if show_if.values:
            yield f"{path}.values", Text("must be empty for a checkbox")
    elif not show_if.values or not set(show_if.values) <= set(asked.options):
        yield f"{path}.values", Text("must be options of the earlier question")


def list_asked(questions: Sequence[models.Question], answers: Mapping[str, object]) -> tuple[models.Question, ...]:
    """List the questions that are asked of somebody with these answers."""
    asked: dict[str, models.Question] = {}
    for question in questions:
        show_if = question.show_if
        if show_if is None or (show_if.key in asked and _holds(show_if, answers.get(show_if.key))):
            asked[question.key] = question
    return tuple(asked.values())


def _holds(show_if: models.ShowIf, answer: object) -> bool:
    if not show_if.values:
        return answer is True
    return answer in show_if.values or (isinstance(answer, tuple) and not set(show_if.values).isdisjoint(answer))


def is_offered(event_type: models.EventType) -> bool:
    """Answer whether invitees can book an event type: one with a price only if they can pay; its host always can."""
    return event_type.price is None or event_type.accepts_payments


def _price_faults(event_type: models.EventType) -> Faults:
    if not _REFUND_POLICY.fullmatch(event_type.refund_policy):
        yield "refundPolicy", Text("must be full, none, or until: with a number of hours, such as until:24")
    price: models.Money | None = event_type.price
    if price is None:
        return
    if event_type.requires_confirmation:
        yield "requiresConfirmation", NOT_WITH_PRICE
    yield from _bounds("price.amount", price.amount, 1, 99_999_999)
    yield from find_price_faults(price)


EDITED = (
    "schedule_id",
    "name",
    "slug",
    "description",
    "color",
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
    "refund_policy",
    "requires_confirmation",
    "durations",
    "redirect_url",
    "recurring_weeks",
    "locations",
    "requires_email_verification",
    "payment_connection_id",
)
# A page of its own edits them.
DETAILS = tuple(field for field in EDITED if field != "questions")
LENGTH = 8


def edition_of(event_type: models.EventType) -> str:
    """Write a few digits for each field that a form edits, which change with its value."""
    return "".join(_digits(getattr(event_type, field)) for field in EDITED)


def find_changed(event_type: models.EventType, *, since: str, fields: Sequence[str] = EDITED) -> tuple[str, ...]:
    """Name the fields that are not what they were in an edition; all of them if it can't be read."""
    known = [since[index : index + LENGTH] for index in range(0, len(EDITED) * LENGTH, LENGTH)]
    return tuple(
        field
        for field, digits in zip(EDITED, known, strict=True)
        if field in fields and digits != _digits(getattr(event_type, field))
    )


def take_edits(current: models.EventType, edited: models.EventType, fields: Sequence[str] = EDITED) -> models.EventType:
    return replace(current, **{field: getattr(edited, field) for field in fields})


def _digits(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:LENGTH]
