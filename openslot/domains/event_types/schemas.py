"""The wire shapes of event types."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from openslot.domains.event_types import models
from openslot.domains.event_types.links.rules import LONGEST_NOTE, MAX_USES
from openslot.domains.event_types.rules import LONGEST_MINUTES, is_told_when_booked
from openslot.domains.schedules.models import WEEKDAYS, Hours, Schedule
from openslot.domains.schedules.rules import write_minute
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import LINE
from openslot.platform.core.times import Instant, iso

Minutes = Annotated[int, Meta(ge=0, examples=[30])]
Clock = Annotated[str, Meta(description="HH:MM, up to 24:00", examples=["09:00"])]
RequiresConfirmation = Annotated[
    bool, Meta(description="Whether invitees ask for a time, and the host confirms it", examples=[False])
]
RequiresEmailVerification = Annotated[
    bool,
    Meta(
        description="Whether invitees enter a code that is sent to their email address before they can book",
        examples=[False],
    ),
]
Durations = Annotated[
    list[int],
    Meta(
        description="Minutes that invitees choose from, in order; `durationMinutes`, the default, is one of them",
        examples=[[30, 60]],
    ),
]
RecurringWeeks = Annotated[
    int | None,
    Meta(description="For how many weeks in a row one can book at once; null: one booking at a time", examples=[12]),
]
WantedMinutes = Annotated[int, Meta(ge=1, le=LONGEST_MINUTES, examples=[30])] | None
EventTypeId = Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e90"])]


class EmbeddedEventType(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event type, embedded in another resource."""

    id: EventTypeId
    name: Annotated[str, Meta(examples=["Intro call"])]
    slug: Annotated[str, Meta(examples=["intro-call"])]
    duration_minutes: Minutes
    buffer_before: Annotated[int, Meta(description="Minutes kept free before the meeting", examples=[0])]
    buffer_after: Annotated[int, Meta(description="Minutes kept free after the meeting", examples=[15])]


class ListedEventType(EmbeddedEventType, frozen=True, kw_only=True, rename="camel"):
    """An event type in a list."""

    description: Annotated[str, Meta(examples=["Half an hour to see whether we fit."])]
    color: Annotated[str, Meta(examples=["#2563eb"])]
    active: Annotated[bool, Meta(examples=[True])]
    position: Annotated[int, Meta(examples=[0])]
    created_at: Instant
    updated_at: Instant


class ShownRange(Struct, frozen=True):
    """Working hours within a day. An end that is not after the start is on the next day."""

    start: Clock
    end: Clock


class ShownOverride(Struct, frozen=True):
    """Hours that replace the weekly hours on one date. An empty list closes the date."""

    date: Annotated[str, Meta(examples=["2026-12-24"])]
    hours: list[ShownRange]


class ShownAway(Struct, frozen=True, rename={"starts_at": "from", "ends_at": "to"}):
    """An out-of-office period."""

    starts_at: Instant
    ends_at: Instant


class ShownHolidays(Struct, frozen=True):
    """The country and region whose public holidays are days off."""

    country: Annotated[str, Meta(examples=["DE"])]
    region: Annotated[str | None, Meta(examples=["BE"])]


class SchedulingConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that determines which slots are available."""

    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]
    weekly_hours: Annotated[
        dict[str, list[ShownRange]],
        Meta(
            description="Hours by weekday, from monday to sunday",
            examples=[{"monday": [{"start": "09:00", "end": "17:00"}]}],
        ),
    ]
    date_overrides: list[ShownOverride]
    out_of_office: list[ShownAway]
    holidays: ShownHolidays | None
    min_notice_minutes: Minutes
    booking_window: models.BookingWindow
    slot_interval_minutes: Minutes
    limits: models.Limits
    seats: Annotated[int, Meta(description="Seats in one meeting; more than 1 makes it a group event", examples=[1])]
    location: models.Location
    questions: tuple[models.Question, ...]
    requires_confirmation: RequiresConfirmation
    price: Annotated[models.Money | None, Meta(description="For each booking, whichever duration it has")]
    durations: Durations
    locations: Annotated[
        tuple[models.Location, ...],
        Meta(description="What invitees choose from; `location`, the default, is one of them"),
    ]
    redirect_url: Annotated[
        str | None,
        Meta(
            description="Where invitees are sent when they have booked, with `bookingId` in the query",
            examples=["https://shop.example/thanks"],
        ),
    ]
    recurring_weeks: RecurringWeeks
    wait_list_minutes: Annotated[
        int | None,
        Meta(
            description="For how many minutes a time that is free again is kept for each person on the wait list; "
            "null: there is no wait list",
            examples=[120],
        ),
    ]
    requires_email_verification: RequiresEmailVerification


class DetailedEventType(ListedEventType, frozen=True, kw_only=True, rename="camel"):
    """An event type with its scheduling configuration."""

    scheduling_config: SchedulingConfig


class OfferedLocation(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the meeting takes place, as shown before booking."""

    kind: models.LocationKind
    value: Annotated[str, Meta(description="Address or free text; empty for a link or a phone number", examples=[""])]
    told_when_booked: Annotated[
        bool, Meta(description="Whether a link or phone number is revealed after booking", examples=[True])
    ]
    asks: Annotated[
        models.LocationAsks | UnsetType,
        Meta(
            description="What a booking tells as `location.value`: phone, the number at which the host calls, or "
            "place, where to meet; absent if nothing is asked",
            examples=["phone"],
        ),
    ] = UNSET
    id: Annotated[
        str | UnsetType,
        Meta(
            description="What a booking names as `location.id`; absent if there is nothing to choose",
            examples=["phone"],
        ),
    ] = UNSET


class OfferedEventType(EmbeddedEventType, frozen=True, kw_only=True, rename="camel"):
    """An event type as invitees see it."""

    description: Annotated[str, Meta(examples=["Half an hour to see whether we fit."])]
    color: Annotated[str, Meta(examples=["#2563eb"])]
    location: OfferedLocation
    seats: Annotated[int, Meta(examples=[1])]
    questions: tuple[models.Question, ...]
    requires_confirmation: RequiresConfirmation
    price: Annotated[models.Money | None, Meta(description="For each booking, whichever duration it has")]
    durations: Durations
    recurring_weeks: RecurringWeeks
    locations: Annotated[
        list[OfferedLocation], Meta(description="What invitees choose from; `location`, the default, is one of them")
    ]
    requires_email_verification: RequiresEmailVerification


class ShownHost(Struct, frozen=True, kw_only=True):
    """The host, whose time is booked."""

    name: Annotated[str, Meta(examples=["Mara Lindqvist"])]
    username: Annotated[str, Meta(examples=["mara"])]
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]


class ShownHostPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A host with their public event types."""

    host: ShownHost
    event_types: list[OfferedEventType]


class ShownOffer(Struct, frozen=True, kw_only=True, rename="camel"):
    """A host with one of their event types."""

    host: ShownHost
    event_type: OfferedEventType


class LinkBody(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A link to create."""

    uses: Annotated[int, Meta(ge=1, le=MAX_USES, description="For how many bookings it is", examples=[1])] = 1
    ends_at: Annotated[
        Annotated[datetime, Meta(tz=True, examples=["2026-03-31T18:00:00Z"])] | None,
        Meta(description="Until when it can be used, ISO 8601 with an offset; null: it does not end"),
    ] = None
    note: Annotated[
        Annotated[str, Meta(pattern=LINE, max_length=LONGEST_NOTE, examples=["For Jonas, after the fair"])] | None,
        Meta(description="For yourself: nobody else reads it"),
    ] = None


class ShownLink(Struct, frozen=True, kw_only=True, rename="camel"):
    """A link through which an event type can be booked a number of times."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e95"])]
    url: Annotated[
        str | None,
        Meta(
            description="Where it is booked; null if the key that sealed it is lost",
            examples=["https://book.example/mara/intro-call?token=t3kV…"],
        ),
    ]
    status: models.LinkState
    uses: Annotated[int, Meta(description="For how many bookings it is", examples=[1])]
    used: Annotated[int, Meta(description="How many of them are taken", examples=[0])]
    ends_at: Instant | None
    note: Annotated[str | None, Meta(examples=["For Jonas, after the fair"])]
    booking_ids: Annotated[
        list[str],
        Meta(description="The bookings made through it, newest first, 20 at most; not those that wait for something"),
    ]
    created_at: Instant
    revoked_at: Instant | None


EMBEDDED_EVENT_TYPE = Shape(EmbeddedEventType, models.EventType)
embed = EMBEDDED_EVENT_TYPE.show
show_listed = Shape(ListedEventType, models.EventType).show
_LINK = Shape(ShownLink, models.BookingLink, given=("url", "status", "booking_ids"))
_DETAILED = Shape(DetailedEventType, models.EventType, given=("scheduling_config",))
_OFFERED = Shape(
    OfferedEventType, models.EventType, names={"durations": "all_durations"}, given=("location", "locations")
)
_CONFIG = Shape(
    SchedulingConfig,
    models.EventType,
    names={"durations": "all_durations", "locations": "all_locations"},
    given=(
        "timezone",
        "weekly_hours",
        "date_overrides",
        "out_of_office",
        "holidays",
        "slot_interval_minutes",
    ),
)
show_host = Shape(ShownHost, models.HostPage).show


def show_link(found: models.HostLink, *, url: str | None, now: datetime) -> ShownLink:
    shown = [str(each.id) for each in found.bookings if not each.is_waiting]
    return _LINK.show(found.link, url=url, status=found.link.state(now=now), booking_ids=shown)


def show_detailed(event_type: models.EventType, schedule: Schedule) -> DetailedEventType:
    return _DETAILED.show(event_type, scheduling_config=_show_config(event_type, schedule))


def show_offered(event_type: models.EventType) -> OfferedEventType:
    shown = _show_location(event_type.location)
    return _OFFERED.show(
        event_type, location=shown, locations=[_show_location(each) for each in event_type.all_locations]
    )


def _show_location(location: models.Location) -> OfferedLocation:
    is_hidden = is_told_when_booked(location)
    return OfferedLocation(
        kind=location.kind,
        value="" if is_hidden else location.value,
        told_when_booked=is_hidden,
        asks=location.asks,
        id=location.id,
    )


def _show_config(event_type: models.EventType, schedule: Schedule) -> SchedulingConfig:
    return _CONFIG.show(
        event_type,
        timezone=schedule.zone,
        weekly_hours={day: _ranges(hours) for day, hours in zip(WEEKDAYS, schedule.weekly_hours, strict=True)},
        date_overrides=[ShownOverride(each.on.isoformat(), _ranges(each.hours)) for each in schedule.overrides],
        out_of_office=[ShownAway(iso(each.starts_at), iso(each.ends_at)) for each in schedule.out_of_office],
        holidays=msgspec.convert(schedule.holidays, ShownHolidays | None, from_attributes=True),
        slot_interval_minutes=event_type.slot_interval_minutes or event_type.duration_minutes,
    )


def _ranges(hours: Hours) -> list[ShownRange]:
    return [ShownRange(write_minute(each.start_minute), write_minute(each.end_minute)) for each in hours]
