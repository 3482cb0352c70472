"""The nouns of analytics."""

from datetime import date
from enum import StrEnum
from uuid import UUID

from msgspec import Struct


class PageView(Struct, frozen=True, kw_only=True):
    """One visit of a public page, without anything about the visitor."""

    username: str
    """The host's."""

    event_type_id: UUID | None
    """None is the host's own page."""

    on: date
    """In the host's time zone."""

    source: str


class CountedViews(Struct, frozen=True, kw_only=True):
    event_type_id: UUID | None
    on: date
    source: str
    views: int


class FunnelStep(StrEnum):
    """How far somebody has come who signs up by the form, in order."""

    VISITED = "visited"
    SIGNED_UP = "signed_up"
    VERIFIED = "verified"
    CALENDAR_CONNECTED = "calendar_connected"
    EVENT_TYPE_MADE = "event_type_made"
    FIRST_BOOKING = "first_booking"


class FunnelCount(Struct, frozen=True, kw_only=True):
    """How often a step was taken on one day, in UTC."""

    on: date
    step: FunnelStep
    count: int


class Funnel(Struct, frozen=True, kw_only=True):
    first: date
    last: date
    total: dict[FunnelStep, int]
    """Every step, in order, those that nobody has taken too."""
    days: tuple[FunnelCount, ...]
    """Only what was taken, the first day first."""


class DayOfPlatform(Struct, frozen=True, kw_only=True):
    """What happened on the whole platform on one day, in UTC."""

    on: date
    bookings: int = 0
    """Made on this day, also those that were cancelled later."""
    mail_sent: int = 0
    mail_failed: int = 0
    webhooks_delivered: int = 0
    webhooks_failed: int = 0
    """Tries that failed; each may have been repeated."""
    spent_micros: int = 0
    """By all agents together."""


class SourceCount(Struct, frozen=True, kw_only=True):
    source: str
    views: int
