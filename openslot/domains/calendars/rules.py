"""Decisions about calendars: when they are read again, how long they are trusted, and what a change of theirs means."""

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from openslot.domains.bookings.models import Booking
from openslot.domains.calendars.models import Calendar, CalendarConnection, WrittenEvent
from openslot.domains.calendars.ports import RemoteEvent
from openslot.platform.core.errors import Invalid

EVERY = timedelta(minutes=5)
# However many notices come, a connection is not read more often.
AT_MOST_EVERY = timedelta(seconds=10)
LIST_EVERY = timedelta(hours=1)
# How long to wait after each failure; after the last pause the reading is planned again.
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (10, 20, 40, *[60] * 40))
LEASE = timedelta(minutes=5)
# For connections that close at once when unreadable, one or two missed readings are tolerated.
SHORTEST_TRUST = timedelta(minutes=30)
DEFAULT_TRUST_HOURS = 24
MAX_TRUST_HOURS = 8760
TELL_AFTER = timedelta(minutes=30)
BEHIND, AHEAD = timedelta(days=1), timedelta(days=735)
EXPAND_EVERY = timedelta(days=1)
MAX_CONNECTIONS = 20

OWN_UID = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})@[^\s@]+", re.IGNORECASE)
POLICY = re.compile(r"trust:([0-9]{1,4})")


def next_sync(failures: int, *, now: datetime) -> datetime:
    """Return when a connection is read again: every five minutes, less often the longer it fails."""
    return now + (PAUSES[min(failures, len(PAUSES)) - 1] if failures else EVERY)


def closes_at(
    connection: CalendarConnection, *, synced_at: datetime | None, failed_at: datetime | None
) -> datetime | None:
    """Return when the last reading stops being trusted."""
    if connection.trust is not None:
        return (synced_at or connection.created_at) + connection.trust
    if failed_at is not None:
        return failed_at
    return (synced_at or connection.created_at) + SHORTEST_TRUST


def is_to_be_told(connection: CalendarConnection, *, now: datetime, is_final: bool) -> bool:
    """Return whether to notify the owner of a failing connection: once, and immediately if waiting does not help."""
    if connection.told_at is not None:
        return False
    return is_final or (connection.failing_since is not None and now - connection.failing_since >= TELL_AFTER)


def read_policy(text: str) -> int | None:
    """Read what happens when a connection can't be read: hours of trust, or None to close."""
    if text == "close":
        return None
    found = POLICY.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= MAX_TRUST_HOURS:
        raise Invalid(details={"whenUnreadable": f"must be close, or trust:HOURS with 1 to {MAX_TRUST_HOURS} hours"})
    return int(found[1])


def find_booking_id(uid: str) -> UUID | None:
    """Read the booking's id from a UID that we have made."""
    found = OWN_UID.fullmatch(uid)
    return UUID(found[1]) if found else None


def is_moved(event: RemoteEvent, booking: Booking, written: WrittenEvent) -> bool:
    """Return whether the host has moved an event: what we wrote is no move, and neither is a longer event around it."""
    if event.starts_at is None or event.ends_at is None or event.starts_at in {written.starts_at, booking.starts_at}:
        return False
    return event.starts_at > booking.starts_at or event.ends_at < booking.ends_at


def find_named(calendars: Collection[Calendar], name: str) -> list[Calendar]:
    """Find calendars by name, in any letter case, or by id."""
    return [each for each in calendars if each.name.lower() == name.lower() or str(each.id) == name]


def are_to_be_asked(gone: Collection[WrittenEvent], *, left: int, removed: int) -> bool:
    """Return whether events have disappeared in such a way that the host is asked before a booking is cancelled.

    Several at once, or all that a calendar had, look more like an accident than like a decision.
    """
    return len(gone) > 1 or (bool(gone) and removed > 1 and left == 0)


def read_address(address: str) -> str:
    """Turn what a person enters, an email address or a URL, into the URL to start from."""
    if "://" in address:
        return address
    if "@" in address:
        return f"https://{address.rpartition('@')[2]}/.well-known/caldav"
    return f"https://{address}"


def read_url(url: str) -> str:
    """Turn the address that calendar programs open into the one that is fetched."""
    return re.sub(r"^webcals?://", "https://", url.strip(), flags=re.IGNORECASE)
