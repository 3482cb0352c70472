"""The verbs of availability: what is open, why the rest is not, and which spans other sources report as busy."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from openslot.domains.availability import months, store
from openslot.domains.availability.explain import explain_day, explain_start, explain_starts
from openslot.domains.availability.explanations import DayExplained, StartExplained, WholeDayExplained
from openslot.domains.availability.grid import Interval
from openslot.domains.availability.models import (
    ById,
    ByPage,
    ByTeamPage,
    Days,
    Drafted,
    EventTypeRef,
    SlotContext,
    Slots,
)
from openslot.domains.availability.slots import list_slots, list_taken, spans_of
from openslot.domains.availability.team_listing import list_open
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.rules import is_offered
from openslot.platform.core.db import Db
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import is_line
from openslot.platform.core.times import (
    DAY,
    at_second,
    day_number,
    find_zone,
    floor_second,
    get_offsets,
    get_zone,
    instant_of,
)
from openslot.platform.core.work import Work

AROUND = (timedelta(days=7), timedelta(days=30))
"""How far before and after a start other starts are near."""

_DAY, _SECOND = timedelta(days=1), timedelta(seconds=1)


async def list_open_slots(
    work: Work,
    which: EventTypeRef,
    *,
    timezone: str,
    first: date | None = None,
    last: date | None = None,
    without: UUID | None = None,
) -> tuple[SlotContext, Slots, ZoneInfo]:
    """List the starts that may be booked on some days of the asker's calendar; the public gets none if it can't pay.

    A claim or seat that is about to change is left out.
    """
    zone, days = _read(timezone, first, last, now=work.now)
    db = work.reader
    found = await _find(work, which, days, zone, without=without, db=db, is_listed=True)
    return found, await _list_offered(db, found, which, days, zone), zone


async def list_taken_slots(
    work: Work, which: EventTypeRef, on: date, zone: ZoneInfo
) -> tuple[SlotContext, Slots, list[int]]:
    """List the open starts of a day of the asker's calendar, and those that others have taken."""
    days = Days(on, on)
    found = await _find(work, which, days, zone)
    taken = list_taken(found.inputs, days, viewer=zone)
    return found, list_slots(found.inputs, days, viewer=zone), taken


async def list_month_of_slots(
    work: Work,
    which: EventTypeRef | Drafted,
    *,
    zone: ZoneInfo | None = None,
    month: date | None = None,
    without: UUID | None = None,
) -> months.MonthOfSlots:
    """List the starts of one month of the asker's calendar: the one asked for, or the first with an open start.

    Without a zone it is the host's calendar. A claim or seat that is about to change is left out.
    """
    db, asked = work.reader, months.days_to_read(month, today=work.now.date())
    found = await _find_around(work, which, asked, without=without, db=db, is_listed=True)
    zone = zone or get_zone(found.host_zone)
    today = work.now.astimezone(zone).date()
    days = months.days_to_read(month, today=today)
    slots = await _list_first_month(db, found, which, days, zone)
    later = months.days_after(found.inputs, days) if month is None and not slots.starts else None
    if later is not None:
        found = await _find_around(work, which, later, without=without, db=db, is_listed=True)
        slots = await _list_first_month(db, found, which, later, zone)
    shown = months.month_of(slots.starts[0], zone) if month is None and slots.starts else months.begin_month(days.first)
    return months.pick_month(found, slots, month=shown, zone=zone, today=today)


async def list_nearest_slots(
    work: Work, which: EventTypeRef, starts_at: datetime, *, without: UUID | None = None, max_: int = 3
) -> months.NearestSlots:
    """List the open starts nearest to one that may be gone, and return whether that one is open."""
    today, on = work.now.date(), starts_at.astimezone(UTC).date()
    days = Days(max(on - AROUND[0], today), max(on, today) + AROUND[1])
    found = await _find_around(work, which, days, without=without, is_listed=True)
    slots, wanted = await _list_offered(work.db, found, which, days, get_zone("UTC")), floor_second(starts_at)
    is_open = not starts_at.microsecond and wanted in slots.starts
    return months.NearestSlots(found=found, starts=months.nearest(slots, wanted, max_=max_), is_open=is_open)


async def get_slot_context(work: Work, which: ByPage | ByTeamPage) -> SlotContext:
    return await _get(work, which, work.now, work.now)


async def explain_start_time(
    work: Work, which: EventTypeRef, starts_at: datetime, *, without: UUID | None = None
) -> StartExplained:
    """Return every rule that closes a start, and what would open it; a claim or seat that would move closes nothing."""
    found = await _get(work, which, starts_at, starts_at + timedelta(seconds=1), without=without)
    return explain_start(found.inputs, starts_at)


async def explain_on(work: Work, which: EventTypeRef, on: date) -> tuple[SlotContext, DayExplained]:
    zone = get_zone((await _get(work, which, work.now, work.now)).inputs.calendar.zone)
    found = await _find(work, which, Days(on, on), zone)
    return found, explain_day(found.inputs, on)


async def explain_whole_day(
    work: Work, which: EventTypeRef, on: date, *, local_time: time | None = None
) -> WholeDayExplained:
    """Explain what closes the starts of a day in the host's calendar, or every rule that closes one local time."""
    found = await _find_around(work, which, Days(on, on), without=None)
    inputs = found.inputs
    start = None if local_time is None else _instant_of(on, local_time, get_zone(inputs.calendar.zone))
    return WholeDayExplained(
        found=found,
        day=explain_day(inputs, on),
        starts=explain_starts(inputs, on),
        asked=None if start is None else explain_start(inputs, start),
    )


async def _list_offered(db: Db, found: SlotContext, which: EventTypeRef | Drafted, days: Days, zone: ZoneInfo) -> Slots:
    """List the open starts; none to those who would have to pay and can't."""
    is_public = isinstance(which, ById | ByPage | ByTeamPage | Drafted)
    if is_public and not is_offered(found.inputs.event_type):
        return Slots([], found.inputs.duration // _SECOND)
    return await list_open(db, found, days, viewer=zone)


async def _list_first_month(
    db: Db, found: SlotContext, which: EventTypeRef | Drafted, days: Days, zone: ZoneInfo
) -> Slots:
    """List the starts of the first month among some days that has any."""
    for month in months.split_months(days):
        slots = await _list_offered(db, found, which, month, zone)
        if slots.starts:
            break
    return slots


def _instant_of(on: date, local_time: time, zone: ZoneInfo) -> datetime:
    """Return when a clock shows a time: the first of two if it is turned back, the first after if it is skipped."""
    wall = day_number(on) * DAY + local_time.hour * 3600 + local_time.minute * 60
    return at_second(instant_of(get_offsets(zone, on, on), wall))


def _read(timezone: str, first: date | None, last: date | None, *, now: datetime) -> tuple[ZoneInfo, Days]:
    zone = find_zone(timezone)
    faults = {} if zone else {"timezone": "is not a time zone; use a name such as Europe/Berlin"}
    days = months.default_days(first=first, last=last, zone=zone or get_zone("UTC"), now=now)
    faults |= months.find_days_faults(days)
    if zone is None or faults:
        raise Invalid(details=faults)
    return zone, days


async def _find(
    work: Work,
    which: EventTypeRef,
    days: Days,
    zone: ZoneInfo,
    *,
    without: UUID | None = None,
    db: Db | None = None,
    is_listed: bool = False,
) -> SlotContext:
    spans = spans_of(days, zone)
    if not spans:
        return await _get(work, which, work.now, work.now)
    asked = at_second(spans[0][0]), at_second(spans[-1][1])
    return await _get(work, which, *asked, without=without, db=db, is_listed=is_listed)


async def _find_around(
    work: Work,
    which: EventTypeRef | Drafted,
    days: Days,
    *,
    without: UUID | None,
    db: Db | None = None,
    is_listed: bool = False,
) -> SlotContext:
    """Read what decides about some days, whichever zone's calendar they turn out to be of."""
    first, until = datetime.combine(days.first, time.min, UTC), datetime.combine(days.last, time.max, UTC)
    return await _get(work, which, first - _DAY, until + _DAY, without=without, db=db, is_listed=is_listed)


async def _get(
    work: Work,
    which: EventTypeRef | Drafted,
    asked_from: datetime,
    asked_until: datetime,
    *,
    without: UUID | None = None,
    db: Db | None = None,
    is_listed: bool = False,
) -> SlotContext:
    if isinstance(which, ByPage | ByTeamPage) and not _is_plain(which):
        raise EventTypeNotFound
    found = await store.find_setting(
        db or work.db,
        which,
        asked_from=asked_from,
        asked_until=asked_until,
        now=work.now,
        without=without,
        is_listed=is_listed,
    )
    if found is None:
        raise EventTypeNotFound
    months.check_asked(which, found)
    return found


def _is_plain(which: ByPage | ByTeamPage) -> bool:
    owner = which.username if isinstance(which, ByPage) else which.team_slug
    return is_line(owner) and is_line(which.token or "")


async def keep_busy_source(work: Work, source_id: UUID, *, host_id: UUID, name: str) -> None:
    await store.upsert_source(work.db, source_id, host_id=host_id, name=name)


async def drop_busy_sources(work: Work, source_ids: Sequence[UUID]) -> None:
    await store.delete_sources(work.db, source_ids)


async def close_sources_after(work: Work, source_ids: Sequence[UUID], at: datetime | None) -> None:
    """Treat the host as busy from that time on, unless the sources are read again before."""
    await store.update_closing(work.db, source_ids, at)


async def replace_busy_spans(
    work: Work,
    source_id: UUID,
    spans: Mapping[str, Iterable[Interval]],
    *,
    of_claims: Mapping[str, UUID] | None = None,
) -> None:
    """Replace the spans of these events, in whole seconds since 1970; an event without spans is not busy.

    An event that belongs to a claim or a seat closes no time to that claim or seat.
    """
    await store.replace_spans(work.db, source_id, spans, of_claims or {})


async def forget_past_spans(work: Work, source_id: UUID, *, before: datetime) -> None:
    await store.delete_past(work.db, source_id, before=before)
