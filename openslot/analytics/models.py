"""The nouns of analytics."""

from datetime import date
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
    """How often a page was visited on one day from one source."""

    event_type_id: UUID | None
    on: date
    source: str
    views: int
