"""An event type that breaks no rule."""

from datetime import UTC, datetime
from uuid import UUID

from openslot.domains.event_types.models import EventType

MADE = datetime(2026, 1, 1, tzinfo=UTC)
TALK = EventType(
    id=UUID(int=1),
    owner_id=UUID(int=2),
    schedule_id=UUID(int=3),
    name="Talk",
    slug="a-talk",
    duration_minutes=30,
    created_at=MADE,
    updated_at=MADE,
)
