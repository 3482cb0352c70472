"""A day with one time, people who wait for it, and what must hold of what they are offered."""

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById, BySlug
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.schedules import operations as schedules
from openslot.domains.wait_list import operations as wait_list
from openslot.domains.wait_list.models import WaitListWanted
from openslot.domains.wait_list.reactions import WAIT_LIST_JOBS
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.times import at_second
from openslot.platform.core.work import Runtime, Work
from openslot.platform.jobs.periodic import run_job

TUESDAY = date(2026, 3, 17)
NINE = datetime(2026, 3, 17, 9, 0, tzinfo=UTC)
MINUTES = 120

# A time that is kept for nobody, and somebody who is offered a time that is not kept for them.
LOST = """
select count(*) from claims c where c.active and c.kind = 'offer'
  and not exists (select from wait_list_offers o where o.claim_id = c.id and o.state = 'offered')"""
UNKEPT = """
select count(*) from wait_list_offers o left join claims c on c.id = o.claim_id
    left join claim_seats t on t.id = o.seat_id
where o.state = 'offered' and o.expires_at > $1
  and not coalesce(c.active and (o.seat_id is null and c.kind = 'offer' or t.active), false)"""
TWICE = """
select count(*) from wait_list_offers a join wait_list_offers b on a.id < b.id and a.host_id = b.host_id
where a.state = 'offered' and b.state = 'offered' and (
    lower(a.email) = lower(b.email)
    or a.seat_id is null and tstzrange(a.starts_at, a.ends_at) && tstzrange(b.starts_at, b.ends_at)
    or a.seat_id = b.seat_id)"""
AGAIN = """
select count(*) from wait_list_offers a join wait_list_offers b on a.id < b.id and a.entry_id = b.entry_id
where tstzrange(a.starts_at, a.ends_at) && tstzrange(b.starts_at, b.ends_at)"""
# Whoever moves the booking of a seat keeps the seat, in another session.
ACCEPTED = """
select count(*) from wait_list_offers o join wait_list_entries w on w.id = o.entry_id
where (o.state = 'accepted') and not exists (
    select from bookings b where (b.seat_id = o.seat_id or o.seat_id is null and b.claim_id = o.claim_id)
      and (w.state = 'booked' or b.status like 'PENDING%'))"""
FAULTS = {"lost": LOST, "unkept": UNKEPT, "twice": TWICE, "again": AGAIN, "accepted": ACCEPTED}


async def find_wait_list_faults(runtime: Runtime) -> dict[str, int]:
    """Count every kind of fault that offers may never have, and tell those that are there."""
    questions = ", ".join(f'({question}) as "{name}"' for name, question in FAULTS.items())
    (found,) = await runtime.pool.fetch(f"select {questions}", runtime.clock())
    return {name: count for name, count in found.items() if count}


async def offer_day(runtime: Runtime, owner: User, slug: str = "day", **changes: Any) -> EventType:
    """Offer a meeting that takes the whole day, with a wait list."""
    async with runtime.transaction(OPERATOR) as work:
        schedule, *_ = await schedules.list_schedules(work, owner)
        draft = event_types.draft_event_type(work, schedule, name=slug.title(), slug=slug, duration_minutes=480)
        wanted = replace(draft, **{"wait_list_minutes": MINUTES, **changes})
        return await event_types.add_event_type(work, schedule, wanted)


async def book_day(
    runtime: Runtime, event_type: EventType, at: datetime = NINE, email: str = "first@x.example"
) -> Booking:
    async with runtime.transaction(PUBLIC) as work:
        invitee = Invitee(name="First", email=email, zone="UTC")
        wanted = BookingWanted(which=ById(event_type.id), starts_at=at, invitee=invitee)
        return await bookings.create_booking(work, wanted)


async def get_offered(runtime: Runtime, slug: str) -> EventType:
    """Find an event type by its slug, whoever's it is."""
    event_type_id = await runtime.pool.fetchval("select id from event_types where slug = $1", slug)
    return await event_types.get_any_event_type(runtime.work(OPERATOR), event_type_id)


async def cancel_day(runtime: Runtime, booking: Booking) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))


async def ask_to_wait(
    runtime: Runtime,
    event_type: EventType,
    email: str,
    *,
    day: date = TUESDAY,
    starts_at: datetime | None = None,
    token: str | None = None,
) -> UUID:
    """Join the wait list without confirming it yet."""
    async with runtime.transaction(PUBLIC) as work:
        wanted = WaitListWanted(
            which=ById(event_type.id, token),
            day=day,
            starts_at=starts_at,
            name=email.partition("@")[0].title(),
            email=email,
            zone="UTC",
            locale="en",
        )
        await wait_list.join_wait_list(work, wanted)
    found: UUID = await runtime.pool.fetchval(
        "select id from wait_list_entries where lower(email) = lower($1) order by created_at desc, id desc limit 1",
        email,
    )
    return found


async def wait_for(runtime: Runtime, event_type: EventType, *emails: str, **more: Any) -> list[UUID]:
    """Let people join the wait list and confirm it."""
    entries = [await ask_to_wait(runtime, event_type, email, **more) for email in emails]
    for entry in entries:
        async with runtime.transaction(PUBLIC) as work:
            await wait_list.confirm_entry(work, entry)
    return entries


async def take_offer(runtime: Runtime, entry_id: UUID) -> Booking:
    """Book what is kept for somebody, as their page does."""
    async with runtime.transaction(PUBLIC) as work:
        return await accept(work, entry_id)


async def accept(work: Work, entry_id: UUID) -> Booking:
    found, offer = await wait_list.accept_offer(work, entry_id)
    entry = found.entry
    wanted = BookingWanted(
        which=BySlug(entry.host_id, found.event_type.slug, entry.minutes),
        starts_at=offer.starts_at,
        invitee=Invitee(name=entry.name, email=entry.email, zone=entry.zone),
        hold_id=offer.hold_id,
    )
    return await bookings.create_booking(work, wanted)


async def hand_out(runtime: Runtime) -> None:
    """Let the minute's job come by."""
    await run_job(runtime, WAIT_LIST_JOBS[0])


async def forget_offers(runtime: Runtime) -> None:
    """Remove everybody who waits, at every host, and free what was kept for them."""
    await runtime.pool.execute(
        """with gone as (delete from wait_list_entries)
        update claims set active = false where active and kind = 'offer'"""
    )


async def tell_offered(runtime: Runtime) -> list[tuple[str, str]]:
    """Tell who was offered what, in order, and how that stands."""
    rows = await runtime.pool.fetch("select email, state from wait_list_offers order by made_at, id")
    return [(row["email"].partition("@")[0], row["state"]) for row in rows]


async def list_starts(runtime: Runtime, event_type: EventType, day: date = TUESDAY) -> list[datetime]:
    """List what anybody could book on a day."""
    work = runtime.work(PUBLIC)
    _, slots, _ = await list_open_slots(work, ById(event_type.id), timezone="UTC", first=day, last=day)
    return [at_second(start) for start in slots.starts]
