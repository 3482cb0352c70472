"""Events as CalDAV servers and feeds keep them: one text with all of its repetitions at one place."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from openslot.domains.availability.grid import merge
from openslot.domains.calendars.busy_times import read_events
from openslot.domains.calendars.errors import TAKES_TOO_LONG, CalendarUnreadable
from openslot.domains.calendars.ports import KeptSeries, RemoteEvent, Scope
from openslot.domains.calendars.prefilter import filter_text
from openslot.domains.calendars.recurrence import Budget, TakesTooLongError


class ICalObject(Struct, frozen=True, kw_only=True):
    href: str
    etag: str
    text: str


async def read_objects(objects: Sequence[ICalObject], scope: Scope) -> list[RemoteEvent]:
    """Read all objects of one calendar, apart from the event loop and within one budget."""
    return await asyncio.to_thread(_read_all, objects, scope)


async def expand_series(kept: Sequence[KeptSeries], scope: Scope) -> list[RemoteEvent]:
    """Read again what was kept of events that repeat."""
    return await read_objects([ICalObject(href=each.ref, etag="", text=each.text) for each in kept], scope)


def find_uid(text: str) -> str:
    """Find the UID of an object; empty if it has no event."""
    return next(iter(filter_text(text).events), "")


def _read_all(objects: Sequence[ICalObject], scope: Scope) -> list[RemoteEvent]:
    budget = Budget()
    try:
        return [_read(each, scope, budget) for each in objects]
    except TakesTooLongError:
        raise CalendarUnreadable(TAKES_TOO_LONG) from None


def _read(found: ICalObject, scope: Scope, budget: Budget) -> RemoteEvent:
    events = read_events(found.text, scope, budget=budget)
    if not events:
        return RemoteEvent(ref=found.href, version=found.etag, uid=found.href, spans=(), is_unread=not found.text)
    first = events[0]
    repeats = any(event.starts_at is None for event in events)
    return RemoteEvent(
        ref=found.href,
        version=found.etag,
        uid=first.uid,
        spans=tuple(merge(span for event in events for span in event.spans)),
        starts_at=first.starts_at,
        ends_at=first.ends_at,
        is_live=first.is_live,
        series=budget.keep(first.source.write_all()) if repeats else None,
        is_unread=not found.text or any(event.fault for event in events),
    )
