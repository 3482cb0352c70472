"""Bookings whose events disappeared together: their host says whether they are cancelled or written again."""

from collections.abc import Collection
from enum import StrEnum
from uuid import UUID

from openslot.accounts.models import User
from openslot.bookings import operations as bookings
from openslot.bookings.models import BookingRef
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.integrations.calendars import event_store
from openslot.integrations.calendars.events import CalendarRestoreWanted
from openslot.integrations.calendars.following import REASON
from openslot.integrations.calendars.models import ConnectionRef, MissingEvent
from openslot.integrations.calendars.operations import get_connection


class Decision(StrEnum):
    """What is to be done with bookings whose events have disappeared."""

    CANCEL = "cancel"
    RESTORE = "restore"


async def list_missing(work: Work, owner: User) -> list[MissingEvent]:
    """List the upcoming bookings whose events have disappeared and about which the host was asked."""
    return await event_store.list_missing(work.db, owner.id, now=work.now)


async def decide_missing(
    work: Work, owner: User, decision: Decision, booking_ids: Collection[UUID] | None = None
) -> int:
    """Cancel these bookings, or all that are asked about, or write their events again; return how many there were."""
    asked = {each.booking_id for each in await list_missing(work, owner)}
    chosen = asked if booking_ids is None else set(booking_ids)
    if not chosen <= asked:
        raise Invalid(details={"booking": "is not among the bookings whose events disappeared"})
    for booking_id in sorted(chosen):
        if decision is Decision.CANCEL:
            await bookings.cancel_booking(work, BookingRef(booking_id, owner.id), reason=REASON)
        else:
            await _restore(work, owner, booking_id)
    return len(chosen)


async def _restore(work: Work, owner: User, booking_id: UUID) -> None:
    for _, calendar_id, connection_id in await event_store.list_missing_places(work.db, owner.id, [booking_id]):
        connection = await get_connection(work, ConnectionRef(connection_id, owner.id))
        await work.record(
            CalendarRestoreWanted(
                connection_id=connection_id,
                owner_id=owner.id,
                label=connection.label,
                booking_id=booking_id,
                calendar_id=calendar_id,
            )
        )
