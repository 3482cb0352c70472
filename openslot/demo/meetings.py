"""Three weeks of upcoming demo bookings, some moved, some cancelled; and threads and calls."""

from datetime import date, datetime, timedelta
from random import Random

from openslot.demo.guests import GUESTS, REASONS, came_from
from openslot.demo.history import at
from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.domains.bookings.operations import cancel_booking, create_booking, reschedule_booking
from openslot.domains.calls.models import CallDirection, CallStatus, Ending
from openslot.domains.calls.operations import record_call
from openslot.domains.conversations.models import Channel, MessageDirection
from openslot.domains.conversations.operations import record_message
from openslot.domains.event_types.models import EventType
from openslot.platform.core.times import at_second
from openslot.platform.core.work import Work

WEEKS = 3


async def make_meetings(work: Work, host: User, offered: list[EventType]) -> None:
    """Make bookings for the next three weeks, which people have made in the last few days."""
    chance = Random(2027)  # noqa: S311 - the same demo for everyone
    offers = [each for each in offered if each.price is None]
    wished = [(chance.uniform(0, 6), days) for days in range(7 * WEEKS + 1) for _ in range(2)]
    for ago, days in sorted(wished, reverse=True):
        then = at(work, work.now - timedelta(days=ago))
        day = (work.now + timedelta(days=days)).date()
        await _book_one(then, chance.choice(offers), day, chance, after=work.now)


async def _book_one(work: Work, offer: EventType, day: date, chance: Random, *, after: datetime) -> None:
    which = ById(offer.id)
    _, slots, _ = await list_open_slots(work, which, timezone="UTC", first=day, last=day)
    starts = [start for start in map(at_second, slots.starts) if start > after]
    if not starts:
        return
    guest = chance.choice(GUESTS)
    wanted = BookingWanted(
        which=which,
        starts_at=chance.choice(starts),
        invitee=Invitee(name=guest.name, email=guest.email, zone=guest.zone),
        notes=guest.note or None,
        source=came_from(guest.name),
    )
    booking = await create_booking(work, wanted)
    fate = chance.random()
    ref = BookingRef(booking.id, booking.host_id)
    if fate < 0.12:
        await cancel_booking(work, ref, reason=chance.choice(REASONS))
    elif fate < 0.2 and len(starts) > 1:
        other = next(start for start in starts if start != booking.starts_at)
        await reschedule_booking(work, ref, other, reason=chance.choice(REASONS))


IN, OUT = MessageDirection.INBOUND, MessageDirection.OUTBOUND
THREADS = (
    (Channel.SMS, ((IN, "Can we start ten minutes later?"), (OUT, "Of course, see you then."), (IN, "Thanks"))),
    (Channel.WHATSAPP, ((OUT, "Reminder: Intro call tomorrow at 10:00."), (IN, "I will be there"))),
    (Channel.SMS, ((IN, "Where do I park?"), (OUT, "Behind the studio, the green gate."))),
)
CALLS = (
    (CallDirection.INBOUND, CallStatus.COMPLETED, 184),
    (CallDirection.INBOUND, CallStatus.NO_ANSWER, 0),
    (CallDirection.OUTBOUND, CallStatus.COMPLETED, 61),
    (CallDirection.INBOUND, CallStatus.FAILED, 0),
)


async def make_talks(work: Work, host: User) -> None:
    """Make threads and calls, once: every message and call has an id of its own."""
    for guest, (channel, messages) in zip(GUESTS, THREADS, strict=False):
        for n, (direction, content) in enumerate(messages):
            await record_message(
                work,
                owner_id=host.id,
                phone=guest.phone,
                channel=channel,
                direction=direction,
                content=content,
                at=work.now - timedelta(days=2, minutes=30 - n * 5),
                vendor_id=f"demo-{guest.email}-{n}",
            )
    for guest, (way, status, seconds) in zip(GUESTS, CALLS, strict=False):
        started_at = work.now - timedelta(days=3, hours=len(guest.name))
        await record_call(
            work,
            owner_id=host.id,
            direction=way,
            phone=guest.phone,
            agent_name="Harbor front desk",
            started_at=started_at,
            vendor_id=f"demo-{guest.email}",
            ending=Ending(status=status, ended_at=started_at + timedelta(seconds=seconds), duration_seconds=seconds),
        )
