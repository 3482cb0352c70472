"""Links of video calls that are made for each booking: with it where nobody has to be asked, else by a follow-up."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.bookings import rules, store
from openslot.domains.bookings.events import (
    BookingCreated,
    BookingEvent,
    BookingLinkAdded,
    BookingLinkFailed,
    BookingRescheduled,
)
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, Status
from openslot.domains.event_types.models import Location, LocationKind
from openslot.domains.event_types.ports import ConferenceFault, ConferenceRefused, Conferences, LinkWanted
from openslot.platform.core.actor import SYSTEM, Destination
from openslot.platform.core.events import Effect
from openslot.platform.core.text import is_web_url
from openslot.platform.core.work import Done, GiveUp, Outcome, Reaction, Skipped, TryLater, Work
from openslot.platform.i18n import CodedReason, keep

MAKE_LINK = "conferences.make_link"
# A service is ready within seconds, or has a fault that takes hours.
DELAYS = tuple(timedelta(seconds=s) for s in (2, 5, 15, 60, 300, 1200, 3600, 3 * 3600, 6 * 3600))
NOT_READY = CodedReason("conferences.not_ready", "the link is not ready yet")
NOT_SET_UP = CodedReason("conferences.not_set_up", "video calls of this kind are not set up at this site")
UNUSABLE = CodedReason("conferences.unusable", "the service has answered with something that is no link")
NOBODY_WAITS = CodedReason("conferences.nobody_waits", "nobody waits for the link any more")
LONGEST_LINK = 500


async def settle(work: Work, location: Location, *, claim_id: UUID, seat_id: UUID | None) -> Location:
    """Return where a new meeting takes place: with the link of its session, with a new one, or with none yet.

    The host's lock is held, so that two seats of a session can't get two links.
    """
    if not location.conference:
        return location
    shared = await store.find_location(work.db, claim_id) if seat_id else None
    if shared is not None:
        return shared
    conference = work.runtime.ports.get(Conferences).find(location.conference)
    return replace(location, value=(conference.compute() if conference else None) or "")


def without_link(location: Location) -> Location:
    """Return where a cancelled meeting would have taken place: a link that was made for it is gone."""
    return Location(LocationKind.VIDEO_LINK) if location.conference else location


async def keep_link(work: Work, claim_id: UUID, link: str) -> int:
    """Give all who wait for the link of a meeting the same one, and return how many; nobody gets a second one."""
    await store.lock_time_of(work.db, claim_id)
    waiting = await store.lock_waiting(work.db, claim_id)
    for details in waiting:
        location = replace(details.booking.location, value=link)
        booking = replace(details.booking, location=location, updated_at=work.now)
        work.stage(store.update_location(booking), _tell(work, BookingLinkAdded, details, booking))
    if waiting:
        await work.record()
    return len(waiting)


async def make_link(work: Work, effect: Effect) -> Outcome:
    """Ask for the link of a meeting until it is there; after the last attempt the host is told."""
    booking_id = effect.event(BookingEvent).booking.id
    details = await store.find_booking(work.db, BookingRef(booking_id, None))
    if details is None or not _waits(details.booking, work):
        return Skipped(NOBODY_WAITS)
    booking = details.booking
    try:
        link = await _request(work, booking)
    except ConferenceRefused as fault:
        await work.runtime.run(SYSTEM, partial(_tell_failed, booking_id=booking_id, reason=keep(fault.args[0])))
        raise GiveUp(fault.args[0], answered=True) from None
    except ConferenceFault as fault:
        if effect.attempts > len(DELAYS):
            await work.runtime.run(SYSTEM, partial(_tell_failed, booking_id=booking_id, reason=keep(fault.args[0])))
        raise TryLater(fault.args[0], answered=fault.args[0] is NOT_READY) from None
    # In a transaction of its own: whoever changes the host's bookings takes the host's lock first.
    kept = await work.runtime.run(SYSTEM, partial(keep_link, claim_id=booking.claim_id, link=link))
    return Done() if kept else Skipped(NOBODY_WAITS)


def _waits(booking: Booking, work: Work) -> bool:
    is_on = booking.status is Status.CONFIRMED and not rules.is_over(booking, now=work.now)
    return is_on and booking.location.awaits_link


async def _request(work: Work, booking: Booking) -> str:
    conference = work.runtime.ports.get(Conferences).find(booking.location.conference or "")
    if conference is None:
        raise ConferenceRefused(NOT_SET_UP)
    first = await store.find_first_waiting(work.db, booking.claim_id) or booking.id
    wanted = LinkWanted(
        key=str(booking.claim_id),
        booking_id=first,
        host_id=booking.host_id,
        starts_at=booking.starts_at,
        ends_at=booking.ends_at,
    )
    link = await conference.request(work, wanted)
    if link is None:
        raise ConferenceFault(NOT_READY)
    if len(link) > LONGEST_LINK or not is_web_url(link):
        raise ConferenceRefused(UNUSABLE)
    return link


async def _tell_failed(work: Work, booking_id: UUID, reason: str) -> None:
    """Record that no link could be made, once for all who share it."""
    details = await store.lock_booking(work.db, BookingRef(booking_id, None))
    if details is None or not _waits(details.booking, work):
        return
    if await store.has_failed_link(work.db, details.booking.claim_id):
        return
    await work.record(_tell(work, BookingLinkFailed, details, details.booking, reason=reason))


def _tell(
    work: Work, event: type[BookingEvent], details: BookingDetails, booking: Booking, **more: Any
) -> BookingEvent:
    return event(
        booking=booking,
        event_type=details.event_type,
        contact=details.contact,
        base_url=work.runtime.settings.public_url,
        hosts=details.hosts,
        **more,
    )


def to_service(_: Work, effect: Effect) -> Destination:
    """Ask a service for video calls on behalf of the host."""
    name = effect.event(BookingEvent).booking.location.conference or ""
    return Destination(f"conferences/{name}", effect.tenant_id)


CONFERENCE_REACTIONS = (
    Reaction(
        name=MAKE_LINK,
        on=(BookingCreated, BookingRescheduled),
        run=make_link,
        delays=DELAYS,
        wanted_if=store.AWAITS_LINK,
        destination=to_service,
    ),
)
