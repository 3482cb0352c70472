"""Seats in the sessions of a team: cancelled, rescheduled, and counted."""

from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY
from tests.support.teams import HostedTeam

AT = MONDAY.replace(hour=10)
LATER = MONDAY.replace(hour=14)


async def cancel(runtime: Runtime, booking: Booking, *, by: UUID | None = None) -> None:
    actor = Actor(kind=ActorKind.SESSION, user_id=by) if by else PUBLIC
    async with runtime.transaction(actor) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))


async def reschedule(runtime: Runtime, booking: Booking, to: datetime) -> Booking:
    async with runtime.transaction(PUBLIC) as work:
        return await bookings.reschedule_booking(work, BookingRef(booking.id, None), to)


async def edit(runtime: Runtime, team: HostedTeam, **changes: Any) -> EventType:
    async with runtime.transaction(OPERATOR) as work:
        return await event_types.change_event_type(work, replace(team.event_type, **changes))


async def count_claims(runtime: Runtime) -> int:
    return int(await runtime.pool.fetchval("select count(*) from claims where active"))
