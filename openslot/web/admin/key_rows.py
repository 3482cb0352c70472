"""Agents' keys as the page of an agent shows them."""

from datetime import datetime

from openslot.access.models import Credential
from openslot.accounts.models import User
from openslot.i18n import Text
from openslot.web import words
from openslot.web.key_rows import KeyRow


def agent_key_row(key: Credential, user: User, *, now: datetime) -> KeyRow:
    """Describe a key as a row."""
    is_active = key.is_active(now=now)
    if key.revoked_at is not None:
        state, tone = Text("Deactivated"), ""
    else:
        state, tone = (Text("Active"), "good") if is_active else (Text("Expired"), "")
    return KeyRow(
        id=key.id,
        name=key.name,
        last_four=key.last_four,
        made=words.moment(key.created_at, user.zone, now=now),
        last_used=words.moment(key.last_used_at, user.zone, now=now) if key.last_used_at else Text("Not yet"),
        expires=words.moment(key.expires_at, user.zone, now=now) if key.expires_at else Text("Never"),
        state=state,
        tone=tone,
        is_active=is_active,
    )
