"""The wire shapes of the wait list."""

from datetime import date, datetime
from typing import Annotated

from msgspec import Meta, Struct

from openslot.domains.bookings.schemas import DurationMinutes, Id, Token
from openslot.domains.wait_list.models import ListedWait, WaitListEntry
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import EmailAddress, LanguageTag, Name
from openslot.platform.core.times import Instant, Zone, iso

Day = Annotated[str, Meta(description="A date in the time zone of the person", examples=["2026-03-16"])]


class ShownWaitListEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """Somebody on the wait list of an event type."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1"])]
    name: Annotated[str, Meta(examples=["Jonas Okafor"])]
    email: Annotated[str, Meta(examples=["jonas@okafor.example"])]
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]
    date: Day
    start_time: Annotated[Instant | None, Meta(description="The session that is waited for; null: any time of the day")]
    duration_minutes: Annotated[int | None, Meta(description="null: the default of the event type", examples=[30])]
    joined_at: Instant
    offered_start_time: Annotated[Instant | None, Meta(description="The time that is kept for them now; null: none")]
    offered_until: Instant | None


class JoinBody(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Who wants to wait for which day or session."""

    event_type_id: Id
    date: Annotated[date, Meta(description="The full day, in the person's time zone", examples=["2026-03-16"])]
    start_time: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        Meta(description="The start of a full session of that day; any time of the day if omitted"),
    ] = None
    duration_minutes: DurationMinutes = None
    name: Annotated[Name, Meta(examples=["Jonas Okafor"])]
    email: EmailAddress
    timezone: Zone
    locale: Annotated[LanguageTag | None, Meta(description="The language of the emails; by default the host's")] = None
    token: Token | None = None


_ENTRY = Shape(
    ShownWaitListEntry,
    WaitListEntry,
    names={
        "timezone": "zone",
        "start_time": "starts_at",
        "duration_minutes": "minutes",
        "joined_at": "created_at",
    },
    given=("date", "offered_start_time", "offered_until"),
)


def _show(instant: datetime | None) -> str | None:
    return iso(instant) if instant else None


def show_entry(listed: ListedWait) -> ShownWaitListEntry:
    return _ENTRY.show(
        listed.entry,
        date=listed.entry.day.isoformat(),
        offered_start_time=_show(listed.offered_start),
        offered_until=_show(listed.offered_until),
    )
