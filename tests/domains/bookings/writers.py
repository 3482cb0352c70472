"""Everybody who changes a host's time: by booking, holding, asking, answering, offering, editing and leaving."""

import random

from msgspec.structs import replace

from openslot.domains.accounts.store import lock_host
from openslot.domains.availability.claims.expiry.jobs import expire_holds
from openslot.domains.bookings.links import manage_token
from openslot.domains.bookings.models import BookingRef
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.links import operations as links
from openslot.domains.people import operations as people
from openslot.domains.wait_list import operations as wait_list
from openslot.domains.wait_list.rules import HANDING_ON
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM, EffectAttempt
from openslot.platform.core.times import iso
from tests.domains.bookings.rounds import WEEK, WEEKS, Need, Round, Writer
from tests.support.effects import run_attempt
from tests.support.wait_list import hand_out, take_offer

ALL = {"notes": "all", "recurrence": {"weeks": WEEKS}}


async def book(at: Round) -> int:
    return await at.send("POST", "/api/bookings", at.wish(at.any_start()))


async def book_with_hold(at: Round) -> int:
    return await at.send("POST", "/api/bookings", at.wish(at.held_start, holdId=str(at.hold.id)))


async def book_by_form(at: Round) -> int:
    """Send the form of the booking page, which has a hold of its own."""
    wish = {"name": "Jonas Okafor", "email": at.address(), "tz": "UTC", "hold": str(at.hold.id)}
    wish |= {"start": iso(at.held_start), "duration": str(at.any_length().get("durationMinutes", ""))}
    return await at.send("POST", f"/{at.host.username}/race", data=wish)


async def hold(at: Round) -> int:
    wish = {"eventTypeId": str(at.offer.id), "startTime": iso(at.any_start()), **at.any_length()}
    return await at.send("POST", "/api/public/holds", wish)


async def drop(at: Round) -> int:
    return await at.send("DELETE", f"/api/public/holds/{at.hold.id}")


async def expire(at: Round) -> None:
    """Let the hold expire in this very moment, and the minute's job come by."""
    await at.runtime.pool.execute(
        """with seat as (update claim_seats set expires_at = now() where id = $1 and holder is not null)
        update claims set expires_at = now() where id = $1 and kind = 'hold'""",
        at.hold.id,
    )
    await expire_holds(at.runtime.work(SYSTEM))


async def reschedule(at: Round) -> int:
    token = manage_token(at.runtime, at.booking.id)
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(at.start)})


async def reschedule_by_form(at: Round) -> int:
    path = f"/manage/{manage_token(at.runtime, at.booking.id)}/reschedule"
    return await at.send("POST", path, data={"start": iso(at.start)})


async def cancel(at: Round) -> int:
    return await at.send("POST", f"/api/public/manage/{manage_token(at.runtime, at.booking.id)}/cancel")


async def edit(at: Round) -> None:
    """Make meetings longer or shorter, a group of other size or none, not repeatable, of one duration or inactive."""
    old = at.offer
    seats = random.choice([1, 2, 5] if old.seats > 1 else [1] if old.durations else [1, 1, 3])
    changed = replace(
        old,
        duration_minutes=random.choice([15, 30, 60]),
        buffer_after=15,
        seats=seats,
        durations=random.choice([old.durations, ()]),
        recurring_weeks=random.choice([old.recurring_weeks, None]) if seats == 1 else None,
        active=random.random() < 0.8,
    )
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, changed)


async def delete(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, at.offer)


async def leave(at: Round) -> None:
    assert at.organization is not None
    async with at.runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, at.organization, at.host)


async def disable(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, at.host)


async def ask_for_it(at: Round) -> int:
    """Ask for the time that is wanted, or for the one that is asked for already."""
    start = random.choice([at.any_start(), at.asked.starts_at])
    return await at.send("POST", "/api/bookings", at.wish(start, eventTypeId=str(at.asked_offer.id)))


async def confirm(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await requests.confirm_booking_request(work, BookingRef(at.asked.id, at.host.id))


async def decline(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await requests.decline_booking_request(work, BookingRef(at.asked.id, at.host.id))


async def withdraw(at: Round) -> int:
    return await at.send("POST", f"/manage/{manage_token(at.runtime, at.asked.id)}/withdraw")


async def lapse(at: Round) -> None:
    """Let the request lapse in this very moment, and the worker come by."""
    await at.runtime.pool.execute("update booking_requests set lapses_at = now() where booking_id = $1", at.asked.id)
    await requests.plan_lapses(at.runtime.work(SYSTEM))
    due = await at.runtime.pool.fetch(
        "select id, round from effects where reaction = $1 and key = $2 and state = 'queued'",
        requests.LAPSE,
        str(at.asked.id),
    )
    for row in due:
        await run_attempt(at.runtime, EffectAttempt(row["id"], row["round"]))


async def switch_off(at: Round) -> None:
    """Let the event type be booked at once, while somebody has asked."""
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(at.asked_offer, requires_confirmation=False))


async def delete_asked(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, at.asked_offer)


async def book_by_link(at: Round) -> int:
    assert at.link is not None
    start = random.choice([at.start, at.friday])
    return await at.send("POST", "/api/bookings", at.wish(start, token=at.link.token))


async def ask_by_link(at: Round) -> int:
    assert at.asked_link is not None
    start = random.choice([at.start, at.friday])
    wish = at.wish(start, token=at.asked_link.token, eventTypeId=str(at.asked_offer.id))
    return await at.send("POST", "/api/bookings", wish)


async def revoke(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        for each in filter(None, (at.link, at.asked_link)):
            await links.revoke_booking_link(work, at.host, each.link.id)


async def book_all(at: Round) -> int:
    """Book every week or none, from the first week on or from a later one."""
    start = at.any_start() + WEEK * random.choice([0, 0, 2])
    return await at.send("POST", "/api/bookings", at.wish(start, **ALL))


async def book_free(at: Round) -> int:
    more = {"notes": "free", "recurrence": {"weeks": WEEKS, "onConflict": "skip"}}
    return await at.send("POST", "/api/bookings", at.wish(at.start + WEEK * random.choice([0, 1]), **more))


async def book_all_with_hold(at: Round) -> int:
    return await at.send("POST", "/api/bookings", at.wish(at.held_start, **ALL, holdId=str(at.hold.id)))


async def book_all_by_link(at: Round) -> int:
    assert at.link is not None
    return await at.send("POST", "/api/bookings", at.wish(at.any_start(), **ALL, token=at.link.token))


async def cancel_all(at: Round) -> int:
    token = manage_token(at.runtime, random.choice(at.weekly).id)
    return await at.send("POST", f"/api/public/manage/{token}/cancel", {"series": True})


async def cancel_one(at: Round) -> int:
    token = manage_token(at.runtime, random.choice(at.weekly).id)
    return await at.send("POST", f"/api/public/manage/{token}/cancel")


async def move_one(at: Round) -> int:
    """Move a date of the series to the time that is wanted."""
    place = random.choice([0, 0, *range(1, WEEKS)])
    token = manage_token(at.runtime, at.weekly[place].id)
    start = at.start + WEEK * place
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(start)})


async def accept(at: Round) -> None:
    await take_offer(at.runtime, at.waiting[0])


async def decline_offer(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await wait_list.decline_offer(work, at.waiting[0])


async def leave_list(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await wait_list.leave_wait_list(work, at.waiting[0])


async def confirm_address(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await wait_list.confirm_entry(work, at.waiting[2])


async def expire_offer(at: Round) -> None:
    """Let the offer and then its time expire, and both jobs of the minute come by."""
    async with at.runtime.transaction(SYSTEM) as work:
        # Time passes for both at once: not between two looks of somebody who has the host's lock.
        await lock_host(work.db, at.host.id)
        await work.db.execute(
            """with told as (update wait_list_offers set expires_at = now() - $2::interval where entry_id = $1
                returning claim_id, seat_id),
            seat as (
                update claim_seats s set expires_at = now() from told where s.id = told.seat_id and holder is not null)
            update claims set expires_at = now() from told where id = told.claim_id and kind = 'offer'""",
            at.waiting[0],
            HANDING_ON,
        )
    await expire_holds(at.runtime.work(SYSTEM))
    await hand_out(at.runtime)


async def come_by(at: Round) -> None:
    await hand_out(at.runtime)


async def switch_list_off(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await wait_list.set_up_wait_list(work, at.host, at.offer.id, minutes=None)


async def remove(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await wait_list.remove_wait_list_entry(work, at.host, at.offer.id, at.waiting[0])


WRITERS: dict[Writer, set[Need]] = {
    book: set(),
    book_with_hold: {Need.HOLD},
    book_by_form: {Need.HOLD},
    hold: set(),
    drop: {Need.HOLD},
    expire: {Need.HOLD},
    reschedule: {Need.BOOKING},
    reschedule_by_form: {Need.BOOKING},
    cancel: {Need.BOOKING},
    edit: set(),
    delete: set(),
    leave: {Need.TEAM},
    disable: set(),
    ask_for_it: {Need.REQUEST},
    confirm: {Need.REQUEST},
    decline: {Need.REQUEST},
    withdraw: {Need.REQUEST},
    lapse: {Need.REQUEST},
    switch_off: {Need.REQUEST},
    delete_asked: {Need.REQUEST},
    book_by_link: {Need.LINK},
    ask_by_link: {Need.LINK, Need.REQUEST},
    revoke: {Need.LINK},
    book_all: {Need.WEEKS},
    book_free: {Need.WEEKS},
    book_all_with_hold: {Need.WEEKS, Need.HOLD},
    book_all_by_link: {Need.WEEKS, Need.LINK},
    cancel_all: {Need.SERIES},
    cancel_one: {Need.SERIES},
    move_one: {Need.SERIES},
    accept: {Need.OFFER},
    decline_offer: {Need.OFFER},
    leave_list: {Need.OFFER},
    confirm_address: {Need.OFFER},
    expire_offer: {Need.OFFER},
    come_by: {Need.OFFER},
    switch_list_off: {Need.OFFER},
    remove: {Need.OFFER},
}
BOOKERS: tuple[Writer, ...] = (
    *(book, book_with_hold, book_by_form, ask_for_it, book_by_link, ask_by_link),
    *(book_all, book_free, book_all_with_hold, book_all_by_link, accept),
)
