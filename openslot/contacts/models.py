"""The nouns of contacts: a person who books, and their past and upcoming meetings."""

from datetime import datetime
from enum import StrEnum
from unicodedata import normalize
from uuid import UUID

from msgspec import Struct


class Contact(Struct, frozen=True, kw_only=True):
    """Someone who has booked, or whom the owner has added."""

    id: UUID
    owner_id: UUID
    name: str
    email: str
    created_at: datetime
    updated_at: datetime
    phone: str | None = None
    """In E.164."""

    company: str | None = None
    notes: str | None = None
    tags: tuple[str, ...] = ()


class ContactSummary(Struct, frozen=True, gc=False):
    """What a list of bookings tells of a contact."""

    id: UUID
    name: str
    email: str
    phone: str | None
    company: str | None
    notes: str | None


class NamedContact(Struct, frozen=True):
    id: UUID
    name: str


class CountedContact(Struct, frozen=True):
    """A contact and how many confirmed meetings there are."""

    contact: Contact
    meeting_count: int = 0


class ContactSort(StrEnum):
    NEWEST = "newest"
    NAME = "name"


class ContactEntry(Struct, frozen=True, kw_only=True):
    contact: Contact
    meeting_count: int
    last_met_at: datetime | None
    next_meeting_at: datetime | None
    """Also the meeting that is under way."""


class Meeting(Struct, frozen=True, kw_only=True):
    id: UUID
    starts_at: datetime
    ends_at: datetime
    status: str
    event_type_id: UUID
    event_type_name: str
    event_type_slug: str


class KnownContact(Struct, frozen=True):
    """A contact with the meetings nearest to now on both sides."""

    contact: Contact
    meeting_count: int = 0
    """All confirmed ones, listed here or not."""

    upcoming: tuple[Meeting, ...] = ()
    """Confirmed and not over, the soonest first."""

    past: tuple[Meeting, ...] = ()
    """Over, whether confirmed or cancelled, the latest first."""


GRAM = 3

# The folded form of a capital İ; without its combining dot it matches the i that people type.
_DOTTED_I = "i\u0307"


def fold(text: str) -> str:
    """Fold a text so that texts that differ only in letter case or code points become equal."""
    return normalize("NFKC", normalize("NFKC", text).casefold().replace(_DOTTED_I, "i"))


def fold_contact(*, name: str, email: str, company: str | None) -> str:
    """Write the text that a search looks in; a line break prevents matches across two fields."""
    return "\n".join(fold(text) for text in (name, email, company or ""))


def cover(folded: str) -> list[str]:
    """Pick trigrams that together touch every character; none where the text is too short to have one."""
    last = len(folded) - GRAM
    starts = [*range(0, last, GRAM), last] if last >= 0 else []
    return [folded[start : start + GRAM] for start in starts]
