"""API keys as the account page shows them."""

from datetime import date, datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.access.models import Credential
from openslot.accounts.models import User
from openslot.accounts.plans import PLANS_WITH_API
from openslot.i18n import Text
from openslot.web import words

# The choices of the form, by the value that is sent.
EXPIRIES = {
    "never": Text("Never"),
    "30": Text("After 30 days"),
    "90": Text("After 90 days"),
    "365": Text("After 365 days"),
}


class KeyRow(Struct, frozen=True, kw_only=True):
    """One line of the table of keys."""

    id: UUID
    name: str
    last_four: str
    made: Text | date
    last_used: Text | date
    expires: Text | date | None
    state: Text
    tone: str
    is_active: bool
    since: Text | None = None


def key_row(key: Credential, user: User, *, now: datetime) -> KeyRow:
    """Describe a key as a row."""
    state, tone = _state(key, user, now=now)
    expires = words.day(key.expires_at, user.zone) if key.expires_at else Text("Never")
    return KeyRow(
        id=key.id,
        name=key.name,
        last_four=key.last_four,
        made=words.day(key.created_at, user.zone),
        last_used=words.moment(key.last_used_at, user.zone, now=now) if key.last_used_at else Text("Not yet"),
        expires=expires if key.revoked_at is None else None,
        state=state,
        since=Text("on %(day)s", day=words.day(key.revoked_at, user.zone)) if key.revoked_at else None,
        tone=tone,
        is_active=key.is_active(now=now),
    )


def expiry_of(choice: str, *, now: datetime) -> datetime | None:
    """Convert the form's choice to an instant."""
    return None if choice == "never" else now + timedelta(days=int(choice))


def _state(key: Credential, user: User, *, now: datetime) -> tuple[Text, str]:
    if key.revoked_at is not None:
        return Text("Revoked"), ""
    if not key.is_active(now=now):
        return Text("Expired"), ""
    if user.effective_plan not in PLANS_WITH_API:
        return Text("Paused by your plan"), "warn"
    return Text("Active"), "good"
