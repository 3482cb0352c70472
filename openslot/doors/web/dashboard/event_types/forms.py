"""The form of an event type: its fields and what they can be, its durations and its price, as typed and as read."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from babel.numbers import get_currency_precision
from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.event_types.models import (
    BookingWindow,
    BusinessDaysWindow,
    EventType,
    Limits,
    Money,
    RangeWindow,
    RollingWindow,
)
from openslot.domains.event_types.prices import SAID
from openslot.domains.event_types.rules import find_event_type_faults
from openslot.doors.web.dashboard.event_types.locations import LocationForm, name_fault, read_locations, write_locations
from openslot.platform.core.text import LINE, Name, Prose
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import WhenEmpty

_CODES = """
AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN MYR NGN NOK NZD
PEN PHP PLN QAR RON RSD SAR SEK SGD THB TRY TWD UAH USD VND ZAR
"""
CURRENCIES = tuple(_CODES.split())
SEPARATORS = re.compile(r"[\s,;]+")
MINUTES = re.compile(r"[0-9]{1,9}", re.ASCII)
AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
# Fields that are the same in the form and in an event type.
SAME = ("name", "description", "buffer_before", "buffer_after", "seats")
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
    "limits.perInvitee": "per_invitee",
    "recurringWeeks": "weeks",
    "bookingWindow.days": "window_days",
    "bookingWindow.to": "window_to",
    "price.amount": "price",
    "price.currency": "currency",
    "paymentAccount": "account",
    "refundPolicy": "refund_hours",
    "redirectUrl": "redirect_url",
    "requiresConfirmation": "confirmation",
}
WORDS = {
    "notice": Text("must be from 0 to 365 days"),
    "price": Text("must be more than 0 and less than a million"),
    "window_to": Text("must not be before the first day"),
    "refund_hours": Text("must be from 1 hour to 365 days"),
}
ENTER_NUMBER = Text("Enter a number")
ShortText = Annotated[str, Meta(pattern=LINE, max_length=500)]
Number = Annotated[int, WhenEmpty(ENTER_NUMBER)]
WINDOWS = {
    "rolling": Text("A number of days ahead"),
    "businessDays": Text("A number of business days ahead"),
    "range": Text("Date range"),
}
REFUNDS = {
    "full": Text("Always a full refund"),
    "until": Text("A full refund until some hours before the start"),
    "none": Text("No refund"),
}
UNIT_NAMES = {"minutes": Text("minutes"), "hours": Text("hours"), "days": Text("days")}
# The sections of the form that are folded, and the fields in each: one with a fault is shown open.
SECTIONS = {
    "limits": ("buffer_before", "buffer_after", "interval", "per_day", "per_week", "per_invitee", "weeks"),
    "more": (
        "seats",
        "price",
        "currency",
        "account",
        "refund",
        "refund_hours",
        "confirmation",
        "redirect_url",
        "private",
    ),
}


class BadAmount(Exception):
    """What was typed is not an amount of the currency; its argument says why, as a text for the page."""


def read_price(text: str, currency: str) -> Money | None:
    """Read an amount, with a point or a comma before the decimals; None if there is none."""
    typed = text.strip().replace(",", ".")
    if not typed:
        return None
    if not AMOUNT.fullmatch(typed):
        raise BadAmount(Text("must be an amount, such as 80 or 80.50"))
    places = get_currency_precision(currency)
    smallest = Decimal(typed).scaleb(places)
    if smallest != smallest.to_integral_value():
        raise BadAmount(
            PluralText("must have at most %(count)s decimal", "must have at most %(count)s decimals", count=places)
        )
    return Money(int(smallest), currency)


def write_amount(price: Money) -> str:
    places = get_currency_precision(price.currency)
    return f"{Decimal(price.amount).scaleb(-places):.{places}f}"


class EventTypeForm(Struct, frozen=True, kw_only=True):
    name: Annotated[Name, WhenEmpty(Text("Enter a name"))]
    slug: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    description: Prose = ""
    color: ShortText = "#2563eb"
    duration: Number
    durations: ShortText = ""
    """The others that invitees can choose, in minutes."""
    locations: tuple[LocationForm, ...] = ()
    """Where it takes place, the default first."""
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
    per_invitee: int | None = None
    weeks: int | None = None
    seats: Number
    price: ShortText = ""
    currency: ShortText = "EUR"
    account: UUID | None = None
    """The account that invitees pay to, if there is a price."""
    refund: Literal["full", "until", "none"] = "full"
    refund_hours: int | None = None
    redirect_url: Annotated[str, Meta(pattern=LINE, max_length=2048)] = ""
    confirmation: bool = False
    """Whether the host confirms each booking."""
    verification: bool = False
    """Whether invitees prove their email address."""
    private: bool = False
    """Whether a new one is left off the host's page."""
    edition: Annotated[str, Meta(max_length=500)] = ""
    """The event type as the form showed it when it was opened."""
    act: ShortText = ""
    """The action of the button, if it is not to save."""


def write_values(event_type: EventType) -> dict[str, str]:
    notice, unit = _split_notice(event_type.min_notice_minutes)
    price = event_type.price
    values = {
        **{name: str(getattr(event_type, name)) for name in SAME},
        "slug": event_type.slug,
        "color": event_type.color,
        "duration": str(event_type.duration_minutes),
        "durations": ", ".join(str(each) for each in event_type.durations if each != event_type.duration_minutes),
        **write_locations(event_type.all_locations),
        "schedule": str(event_type.schedule_id),
        **_write_window(event_type.booking_window),
        "notice": str(notice),
        "notice_unit": unit,
        "interval": _write(event_type.slot_interval_minutes),
        "per_day": _write(event_type.limits.per_day),
        "per_week": _write(event_type.limits.per_week),
        "per_invitee": _write(event_type.limits.per_invitee),
        "weeks": _write(event_type.recurring_weeks),
        "price": write_amount(price) if price else "",
        "currency": price.currency if price else "EUR",
        "account": str(event_type.payment_connection_id or ""),
        **_write_refund(event_type.refund_policy),
        "redirect_url": event_type.redirect_url or "",
    }
    ticked = {
        "private": event_type.is_private,
        "confirmation": event_type.requires_confirmation,
        "verification": event_type.requires_email_verification,
    }
    return values | {name: "on" for name, is_ticked in ticked.items() if is_ticked}


def read_event_type(sent: EventTypeForm, base: EventType) -> tuple[EventType, dict[str, str]]:
    """Read the event type that a form describes, and every fault of it at its field."""
    faults: dict[str, str] = dict(_find_missing(sent))
    locations, wrong = read_locations(sent.locations, base)
    faults |= wrong
    try:
        price = read_price(sent.price, sent.currency)
    except BadAmount as bad:
        price, faults["price"] = base.price, bad.args[0]
    durations = read_durations(sent)
    if durations is None:
        durations, faults["durations"] = (), Text("must be numbers of minutes, such as 15, 60")
    described = replace(
        base,
        **{name: getattr(sent, name) for name in SAME},
        slug=sent.slug.strip() or base.slug,
        color=sent.color.strip().lower(),
        duration_minutes=sent.duration,
        durations=durations,
        location=locations[0],
        locations=locations,
        schedule_id=sent.schedule,
        booking_window=_read_window(sent) or base.booking_window,
        min_notice_minutes=sent.notice * UNITS[sent.notice_unit],
        slot_interval_minutes=sent.interval,
        limits=Limits(sent.per_day, sent.per_week, sent.per_invitee),
        recurring_weeks=sent.weeks,
        price=price,
        payment_connection_id=sent.account if price else None,
        refund_policy=f"until:{sent.refund_hours}" if sent.refund == "until" else sent.refund,
        requires_confirmation=sent.confirmation,
        requires_email_verification=sent.verification,
        redirect_url=sent.redirect_url.strip() or None,
    )
    return described, name_faults(find_event_type_faults(described), sent) | faults


def read_durations(sent: EventTypeForm) -> tuple[int, ...] | None:
    """Read all that invitees can choose from; none if there is the default alone, None if it can't be read."""
    others = [text for text in SEPARATORS.split(sent.durations) if text]
    if not all(MINUTES.fullmatch(text) for text in others):
        return None
    return tuple(dict.fromkeys([sent.duration, *map(int, others)])) if others else ()


def name_faults(faults: Mapping[str, str], sent: EventTypeForm) -> dict[str, str]:
    """Put what the domain finds wrong at the form's own fields."""
    named = {
        name_fault(field, sent.locations)
        if field.startswith(("location.", "locations."))
        else FIELDS.get(field, field): fault
        for field, fault in faults.items()
    }
    return {field: fault if _is_said(fault) else WORDS.get(field, fault) for field, fault in named.items()}


def _is_said(fault: str) -> bool:
    """Answer whether a fault says of a price what the form does not know."""
    return isinstance(fault, Text) and fault.msgid in SAID


def _find_missing(sent: EventTypeForm) -> Iterator[tuple[str, str]]:
    if sent.window != "range" and sent.window_days is None:
        yield "window_days", ENTER_NUMBER
    if sent.refund == "until" and sent.refund_hours is None:
        yield "refund_hours", ENTER_NUMBER
    if sent.window == "range":
        yield from ((name, Text("Enter a day")) for name in ("window_from", "window_to") if getattr(sent, name) is None)


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


def _write_refund(policy: str) -> dict[str, str]:
    kind, _, hours = policy.partition(":")
    return {"refund": kind, "refund_hours": hours}


def _split_notice(minutes: int) -> tuple[int, str]:
    unit = "days" if minutes and minutes % 1440 == 0 else "hours" if minutes and minutes % 60 == 0 else "minutes"
    return minutes // UNITS[unit], unit


def _write(number: int | None) -> str:
    return "" if number is None else str(number)


# Each field of an event type: its name for people, and the fields of the form that describe it.
EDITED_FIELDS = {
    "schedule_id": (Text("Schedule"), ("schedule",)),
    "name": (Text("Name"), ("name",)),
    "slug": (Text("Link"), ("slug",)),
    "description": (Text("Description"), ("description",)),
    "color": (Text("Color"), ("color",)),
    "duration_minutes": (Text("Duration"), ("duration",)),
    "durations": (Text("Other durations"), ("durations",)),
    "buffer_before": (Text("Buffer before"), ("buffer_before",)),
    "buffer_after": (Text("Buffer after"), ("buffer_after",)),
    "location": (Text("Where"), ("locations",)),
    "locations": (Text("Where"), ("locations",)),
    "min_notice_minutes": (Text("Minimum notice"), ("notice", "notice_unit")),
    "booking_window": (Text("How far ahead"), ("window", "window_days", "window_from", "window_to")),
    "slot_interval_minutes": (Text("Start times"), ("interval",)),
    "limits": (Text("Limits"), ("per_day", "per_week", "per_invitee")),
    "seats": (Text("Seats"), ("seats",)),
    "price": (Text("Price"), ("price", "currency")),
    "payment_connection_id": (Text("Invitees pay to"), ("account",)),
    "refund_policy": (Text("Refunds"), ("refund", "refund_hours")),
    "requires_confirmation": (Text("Confirmation"), ("confirmation",)),
    "requires_email_verification": (Text("Email confirmation"), ("verification",)),
    "redirect_url": (Text("Page after booking"), ("redirect_url",)),
    "recurring_weeks": (Text("Recurring bookings"), ("weeks",)),
}
