"""The verbs of availability: what is open, and why the rest is not."""

from datetime import date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from openslot.availability import store
from openslot.availability.date_range import default_days, find_days_faults
from openslot.availability.explain import explain_day, explain_start
from openslot.availability.models import (
    ByPage,
    DayExplained,
    Days,
    EventTypeRef,
    SlotContext,
    Slots,
    StartExplained,
)
from openslot.availability.slots import list_slots, spans_of
from openslot.core.errors import Invalid
from openslot.core.text import is_line
from openslot.core.work import Work
from openslot.core.zones import at_second, find_zone, get_zone
from openslot.event_types.errors import EventTypeNotFound

UNKNOWN_ZONE = "is not a time zone; use a name such as Europe/Berlin"


async def list_open(
    work: Work,
    which: EventTypeRef,
    *,
    timezone: str,
    first: date | None = None,
    last: date | None = None,
    without: UUID | None = None,
) -> tuple[SlotContext, Slots, ZoneInfo]:
    """List the starts that may be booked on some days of the asker's calendar.

    A claim or seat that is about to change is left out.
    """
    zone, days = _read(timezone, first, last, now=work.now)
    found = await _find(work, which, days, zone, without=without)
    return found, list_slots(found.setting, days, viewer=zone), zone


async def get_offer(work: Work, which: ByPage) -> SlotContext:
    """Read one thing that a host offers."""
    return await _get(work, which, work.now, work.now)


async def explain(work: Work, which: EventTypeRef, starts_at: datetime) -> StartExplained:
    """Tell every rule that closes a start, and what would open it."""
    found = await _get(work, which, starts_at, starts_at + timedelta(seconds=1))
    return explain_start(found.setting, starts_at)


async def explain_on(work: Work, which: EventTypeRef, on: date) -> tuple[SlotContext, DayExplained]:
    """Tell what closes the starts of one day of the host's calendar."""
    zone = get_zone((await _get(work, which, work.now, work.now)).setting.schedule.zone)
    found = await _find(work, which, Days(on, on), zone)
    return found, explain_day(found.setting, on)


def _read(timezone: str, first: date | None, last: date | None, *, now: datetime) -> tuple[ZoneInfo, Days]:
    zone = find_zone(timezone)
    faults = {} if zone else {"timezone": UNKNOWN_ZONE}
    days = default_days(first=first, last=last, zone=zone or get_zone("UTC"), now=now)
    faults |= find_days_faults(days)
    if zone is None or faults:
        raise Invalid(details=faults)
    return zone, days


async def _find(
    work: Work, which: EventTypeRef, days: Days, zone: ZoneInfo, *, without: UUID | None = None
) -> SlotContext:
    spans = spans_of(days, zone)
    if not spans:
        return await _get(work, which, work.now, work.now)
    return await _get(work, which, at_second(spans[0][0]), at_second(spans[-1][1]), without=without)


async def _get(
    work: Work, which: EventTypeRef, asked_from: datetime, asked_until: datetime, *, without: UUID | None = None
) -> SlotContext:
    if isinstance(which, ByPage) and not (is_line(which.username) and is_line(which.token or "")):
        raise EventTypeNotFound
    found = await store.find_setting(
        work.db, which, asked_from=asked_from, asked_until=asked_until, now=work.now, without=without
    )
    if found is None:
        raise EventTypeNotFound
    return found
