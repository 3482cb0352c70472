"""Writers that meet at the host's lock."""

from datetime import datetime
from typing import Any

from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.models import ById, Hold
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY

AT = MONDAY.replace(hour=10)
LATER = MONDAY.replace(hour=12)


async def hold(runtime: Runtime, event_type: EventType, at: datetime = AT) -> Hold:
    async with runtime.transaction(PUBLIC) as work:
        return await claims.hold_slot(work, ById(event_type.id), at, holder=str(new_id()))


async def book(runtime: Runtime, event_type: EventType, at: datetime = AT, **more: Any) -> Booking:
    async with runtime.transaction(PUBLIC) as work:
        invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
        wanted = BookingWanted(**{"which": ById(event_type.id), "starts_at": at, "invitee": invitee, **more})
        return await bookings.create_booking(work, wanted)
