"""A host's agenda: what is upcoming, past and cancelled, and what happened to a booking."""

from datetime import datetime
from uuid import UUID

from openslot.accounts.models import User
from openslot.bookings import agenda_store
from openslot.bookings.models import AgendaEntry, AgendaFilter, AgendaPage, BookingChange
from openslot.core.work import Work


async def list_agenda(work: Work, host: User, wanted: AgendaFilter, *, page: int = 1, limit: int = 20) -> AgendaPage:
    """Read one page of a host's bookings: upcoming ones from the next on, others from the latest on."""
    offset = (page - 1) * limit
    return await agenda_store.list_page(work.db, host.id, wanted, now=work.now, limit=limit, offset=offset)


async def list_between(work: Work, host: User, *, since: datetime, until: datetime, limit: int) -> list[AgendaEntry]:
    """Read a host's confirmed bookings that start within a span, earliest first."""
    return await agenda_store.list_between(work.db, host.id, since=since, until=until, limit=limit)


async def count_between(work: Work, host: User, *, since: datetime, until: datetime) -> int:
    """Count a host's upcoming bookings that touch a span."""
    return await agenda_store.count_between(work.db, host.id, since=max(since, work.now), until=until)


async def list_changes(work: Work, host: User, booking_id: UUID) -> list[BookingChange]:
    """Read what happened to one of a host's bookings, oldest first."""
    return await agenda_store.list_changes(work.db, host.id, booking_id)
