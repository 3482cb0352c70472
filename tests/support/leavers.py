"""Hosts who leave while they have bookings."""

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ByPage
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee, Status
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.moments import Span
from openslot.platform.core.times import at_second
from openslot.platform.core.work import Runtime

PAGE = ByPage("mara", "30min")


async def book_one(runtime: Runtime) -> None:
    async with runtime.transaction(PUBLIC) as work:
        _, slots, _ = await list_open_slots(work, PAGE, timezone="UTC")
        invitee = Invitee(name="Li", email="li@x.example", zone="UTC")
        wanted = BookingWanted(which=PAGE, starts_at=at_second(slots.starts[-1]), invitee=invitee)
        await bookings.create_booking(work, wanted)


async def statuses(runtime: Runtime, user: User) -> list[Status]:
    work = runtime.work(OPERATOR)
    found, _ = await bookings.list_bookings(work, user, status=None, span=Span(), page=1, limit=100)
    return [each.status for each in found]
