"""Calendar connections as the settings show them."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.i18n import Text
from openslot.integrations.calendars.failures import show_failure
from openslot.integrations.calendars.models import CalendarConnection, ConnectionKind
from openslot.web.dashboard import phrases
from openslot.web.dashboard.calendars.faults import SIGN_IN, advise

KINDS = {ConnectionKind.CALDAV: Text("CalDAV account"), ConnectionKind.ICS: Text("Calendar feed, read only")}
# The choices of the form, by the policy that is sent.
POLICIES = {
    "close": Text("Stop offering times"),
    "trust:6": Text("Use the last known times for 6 hours"),
    "trust:24": Text("Use the last known times for a day"),
    "trust:72": Text("Use the last known times for 3 days"),
    "trust:168": Text("Use the last known times for a week"),
}


class ConnectionRow(Struct, frozen=True, kw_only=True):
    """A connection with its state in words."""

    id: UUID
    label: str
    kind: Text
    state: Text
    tone: str
    last_read: Text
    next_read: Text | None
    error: str | None
    advice: Text | None
    needs_password: bool
    busy: tuple[str, ...]
    """The names of the calendars that close times."""
    unread_events: int


def connection_row(connection: CalendarConnection, user: User, *, now: datetime) -> ConnectionRow:
    """Describe a connection."""
    state, tone = _state(connection)
    is_due = connection.next_sync_at <= now
    return ConnectionRow(
        id=connection.id,
        label=connection.label,
        kind=KINDS[connection.kind],
        state=state,
        tone=tone,
        last_read=phrases.at(connection.synced_at, user.zone, now=now) if connection.synced_at else Text("not yet"),
        next_read=None if is_due else phrases.at(connection.next_sync_at, user.zone, now=now),
        error=show_failure(connection.last_error) if connection.last_error else None,
        advice=advise(connection.last_error) if connection.last_error else None,
        needs_password=connection.last_error == SIGN_IN and connection.kind is ConnectionKind.CALDAV,
        busy=tuple(each.name for each in connection.calendars if each.is_busy),
        unread_events=sum(each.unread_events for each in connection.calendars),
    )


def list_policies(chosen: str) -> dict[str, str]:
    """List the choices of what happens when a connection can't be read, with the one that was chosen elsewhere."""
    if chosen in POLICIES or not chosen.startswith("trust:"):
        return dict(POLICIES)
    own = Text("Use the last known times for %(hours)s hours", hours=chosen.removeprefix("trust:"))
    return {**POLICIES, chosen: own}


def policy_of(connection: CalendarConnection) -> str:
    """Return the policy as the form sends it."""
    return "close" if connection.trust_hours is None else f"trust:{connection.trust_hours}"


def _state(connection: CalendarConnection) -> tuple[Text, str]:
    if connection.failing_since is not None:
        return Text("Sync failed"), "bad"
    if connection.synced_at is None:
        return Text("Syncing"), ""
    return Text("Connected"), "good"
