"""Who invites to a booking: the host's calendar if the host has chosen so, and our own mail if the calendar fails.

The decision is made with the booking and holds for all of its changes, because a calendar's invitation and ours are two
entries in the invitee's calendar.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import structlog

from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.events import BookingCreated, BookingInvitationFailed, BookingRescheduled
from openslot.domains.bookings.models import BookingRef, Status
from openslot.domains.bookings.operations import get_booking, get_booking_for_change
from openslot.domains.bookings.rules import is_over
from openslot.domains.calendars import event_store
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Change, Event
from openslot.platform.core.work import Consequence, Periodic, Runtime, Work
from openslot.platform.jobs.each import serve_each

# A calendar that fails for longer is not waited for. Until then, mail has told everything but for the calendar entry.
WITHIN = timedelta(minutes=10)
MOST = 200
INVITE_INSTEAD = "calendars.invite_instead"

log = structlog.get_logger()


def _begin(event: Event, now: datetime) -> tuple[Change, ...]:
    # The calendar of one host of a team would have to take its invitation back when another one hosts the booking.
    if not isinstance(event, BookingCreated) or event.hosts:
        return ()
    booking = event.booking
    return (event_store.begin_invitation(booking.id, booking.host_id, due_at=now + WITHIN),)


def _renew(event: Event, now: datetime) -> tuple[Change, ...]:
    if not isinstance(event, BookingRescheduled):
        return ()
    return (event_store.renew_invitation(event.booking.id, now=now, due_at=now + WITHIN),)


INVITATION_CONSEQUENCES = (
    Consequence(name="calendars.invite", on=BookingCreated, changes=_begin),
    Consequence(name="calendars.invite_again", on=BookingRescheduled, changes=_renew),
)


async def invite_instead(work: Work) -> str:
    """Let our own mail invite to bookings to which a calendar has not invited in time."""
    due = await event_store.list_due_invitations(work.db, now=work.now, limit=MOST)
    taken = await serve_each(work, INVITE_INSTEAD, due, partial(_invite_instead, work.runtime))
    return f"{sum(taken.results)} invitations sent by mail instead"


async def _invite_instead(runtime: Runtime, booking_id: UUID) -> bool:
    # One that is deleted meanwhile has no invitation any more.
    with suppress(BookingNotFound):
        async with runtime.transaction(SYSTEM) as work:
            return await _take_over(work, booking_id)
    return False


async def _take_over(work: Work, booking_id: UUID) -> bool:
    """Take an invitation over, unless the calendar is being asked now; what is written later invites nobody."""
    ref = BookingRef(booking_id, None)
    await get_booking_for_change(work, ref)
    if await event_store.is_being_written(work.db, booking_id):
        return False
    details = await get_booking(work, ref)
    booking = details.booking
    is_on = booking.status is Status.CONFIRMED and not is_over(booking, now=work.now)
    left_at = booking.updated_at if is_on else None
    is_late = await event_store.end_invitation(work.db, booking_id, left_at=left_at, now=work.now)
    if not is_late or not is_on:
        return False
    log.warning("a calendar has not invited to a booking", booking=str(booking_id))
    base_url = work.runtime.settings.public_url
    await work.record(
        BookingInvitationFailed(
            booking=booking, event_type=details.event_type, contact=details.contact, base_url=base_url
        )
    )
    return True


INVITATION_JOBS = (Periodic(name=INVITE_INSTEAD, expression="* * * * *", run=invite_instead, transaction="none"),)
