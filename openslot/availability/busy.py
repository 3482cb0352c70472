"""The verbs of busy spans: their sources, what each source reports, and when an unreadable one closes its host."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from openslot.availability import busy_store as store
from openslot.availability.intervals import Interval
from openslot.core.work import Work


async def keep_source(work: Work, source_id: UUID, *, host_id: UUID, name: str) -> None:
    """Add a source of busy spans, or give it another name."""
    await store.upsert_source(work.db, source_id, host_id=host_id, name=name)


async def drop_sources(work: Work, source_ids: Sequence[UUID]) -> None:
    """Forget sources with all their spans."""
    await store.delete_sources(work.db, source_ids)


async def close_after(work: Work, source_ids: Sequence[UUID], at: datetime | None) -> None:
    """Treat the host as busy from that time on, unless the sources are read again before."""
    await store.update_closing(work.db, source_ids, at)


async def replace_spans(
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


async def forget_past(work: Work, source_id: UUID, *, before: datetime) -> None:
    """Forget spans that are over."""
    await store.delete_past(work.db, source_id, before=before)
