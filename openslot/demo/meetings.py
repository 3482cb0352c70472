"""Six weeks of demo bookings, past and upcoming, some moved, some cancelled; and threads and calls."""

from datetime import UTC, datetime, timedelta
from random import Random

from msgspec import Struct

from openslot.accounts.models import User
from openslot.availability.models import ById
from openslot.availability.operations import list_open
from openslot.bookings import operations as bookings
from openslot.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.calls import operations as calls
from openslot.calls.models import CallDirection, CallStatus, Ending
from openslot.contacts import operations as contacts
from openslot.contacts.schemas import ContactChanges
from openslot.conversations import operations as conversations
from openslot.conversations.models import Channel, MessageDirection
from openslot.core.moments import Span
from openslot.core.times import at_second
from openslot.core.work import Work
from openslot.event_types.models import EventType

WEEKS = 3
REASONS = ("Ill today, sorry", "The train is late", "Something came up")


class Guest(Struct, frozen=True):
    name: str
    email: str
    zone: str
    phone: str
    company: str
    note: str


GUESTS = (
    Guest("Priya Raman", "priya@raman.example", "Asia/Kolkata", "+912212345678", "Raman Textiles", "Pricing for 12"),
    Guest(
        "Luis Ferreira", "luis@ferreira.example", "Europe/Lisbon", "+351211234567", "Ferreira & Filhos", "A new site"
    ),
    Guest("Hana Kim", "hana@kim.example", "Asia/Seoul", "+82212345678", "Kim Ceramics", ""),
    Guest("Chidi Eze", "chidi@eze.example", "Africa/Lagos", "+2342033123456", "Eze Logistics", "Contract, page 4"),
    Guest("Ewa Nowak", "ewa@nowak.example", "Europe/Warsaw", "+48221234567", "", "First call"),
    Guest("Grace Miller", "grace@miller.example", "America/Chicago", "+13125550123", "Miller Farms", "Bring the plans"),
    Guest("Ivo Horvat", "ivo@horvat.example", "Europe/Zagreb", "+38512345678", "Horvat Boats", ""),
    Guest("Aroha Ngata", "aroha@ngata.example", "Pacific/Auckland", "+6491234567", "Ngata Studio", "Follow-up"),
)


async def make_meetings(work: Work, host: User, offered: list[EventType]) -> None:
    """Make bookings for the last and the next three weeks, if the host has none yet."""
    _, total = await bookings.list_bookings(work, host, status=None, span=Span(), page=1, limit=1)
    if total:
        return
    chance = Random(2027)  # noqa: S311 - the same demo for everyone
    offers = [each for each in offered if each.price is None]
    for days in range(-7 * WEEKS, 7 * WEEKS + 1):
        day = work.now.replace(hour=5, minute=0, second=0, microsecond=0) + timedelta(days=days)
        now = day - timedelta(days=2) if days < 1 else work.now
        then = Work(runtime=work.runtime, actor=work.actor, db=work.db, now=now.astimezone(UTC))
        for _ in range(2):
            await _book_one(then, chance.choice(offers), day, chance)
    await _add_companies(work, host)


async def _book_one(work: Work, offer: EventType, day: datetime, chance: Random) -> None:
    which = ById(offer.id)
    _, slots, _ = await list_open(work, which, timezone="UTC", first=day.date(), last=day.date())
    if not slots.starts:
        return
    guest = chance.choice(GUESTS)
    wanted = BookingWanted(
        which=which,
        starts_at=at_second(chance.choice(slots.starts)),
        invitee=Invitee(name=guest.name, email=guest.email, zone=guest.zone),
        notes=guest.note or None,
    )
    booking = await bookings.create_booking(work, wanted)
    fate = chance.random()
    ref = BookingRef(booking.id, booking.host_id)
    if fate < 0.12:
        await bookings.cancel_booking(work, ref, reason=chance.choice(REASONS))
    elif fate < 0.2 and len(slots.starts) > 1:
        other = at_second(next(start for start in slots.starts if at_second(start) != booking.starts_at))
        await bookings.reschedule_booking(work, ref, other, reason=chance.choice(REASONS))


async def _add_companies(work: Work, host: User) -> None:
    for guest in GUESTS:
        contact = await contacts.find_or_add(
            work, owner_id=host.id, name=guest.name, email=guest.email, phone=guest.phone
        )
        await work.record()
        if guest.company:
            await contacts.change_contact(work, host, contact.id, ContactChanges(company=guest.company))


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
            await conversations.record_message(
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
        await calls.record_call(
            work,
            owner_id=host.id,
            direction=way,
            phone=guest.phone,
            agent_name="Harbor front desk",
            started_at=started_at,
            vendor_id=f"demo-{guest.email}",
            ending=Ending(status=status, ended_at=started_at + timedelta(seconds=seconds), duration_seconds=seconds),
        )
