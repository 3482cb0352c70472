"""What CRMs do because something happened: each booking is kept up to date in the CRMs of its host."""

from uuid import UUID

from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingCreated,
    BookingEvent,
    BookingLinkAdded,
    BookingNoShowMarked,
    BookingNoShowRemoved,
    BookingRescheduled,
)
from openslot.domains.bookings.links import booking_url
from openslot.domains.bookings.models import BookingDetails, BookingRef
from openslot.domains.bookings.operations import get_booking
from openslot.domains.crm import operations, store
from openslot.domains.crm.models import CrmConnection, CrmTarget
from openslot.domains.crm.ports import CrmBusy, CrmFault, CrmMeetingGone, CrmRefused, CrmUnavailable
from openslot.domains.crm.rules import DELAYS, describe_meeting, describe_person
from openslot.domains.crm.store import WRITE_CRM
from openslot.domains.crm.words import BOOKING_GONE, DISCONNECTED, MEETING_GONE, TOKEN_REFUSED, describe_fault
from openslot.platform.core.actor import Destination
from openslot.platform.core.events import Effect
from openslot.platform.core.work import (
    AskedToWait,
    Done,
    Expanded,
    GiveUp,
    Outcome,
    Reaction,
    Skipped,
    Target,
    TryLater,
    Work,
)

LANE = "crm"


async def plan(work: Work, effect: Effect) -> Outcome:
    """Name the CRMs of a booking's host; the writes of one booking to one CRM wait for each other."""
    booking = effect.event(BookingEvent).booking
    connections = await store.list_of_owner(work.db, booking.host_id)
    return Expanded(
        tuple(
            Target(reaction=WRITE_CRM, target=f"{each.id}/{booking.id}", lane=f"{WRITE_CRM}:{booking.id}@{each.id}")
            for each in connections
        )
    )


async def write(work: Work, effect: Effect) -> Outcome:
    """Make a CRM show a booking as it is now, whatever an earlier try has left there."""
    connection_id, booking_id = (UUID(each) for each in (effect.target or "").split("/"))
    target = await store.find_target(work.db, connection_id, booking_id)
    if target is None:
        return Skipped(DISCONNECTED)
    try:
        details = await get_booking(work, BookingRef(booking_id, None))
    except BookingNotFound:
        # Also one that waits for its payment: it is nobody's meeting yet.
        return Skipped(BOOKING_GONE)
    if target.connection.is_refused:
        raise TryLater(TOKEN_REFUSED)
    try:
        meeting_id = await _send(work, effect, target, details)
    except CrmMeetingGone:
        return Skipped(MEETING_GONE)
    except CrmFault as fault:
        raise await _explain(work, target.connection, fault) from None

    async def keep(work: Work) -> None:
        await store.keep_meeting(work.db, booking_id, connection_id, meeting_id)
        await store.keep_success(work.db, connection_id, now=work.now)

    return Done(vendor_id=meeting_id[-200:], write=keep)


async def _send(work: Work, effect: Effect, target: CrmTarget, details: BookingDetails) -> str:
    meeting = describe_meeting(details, target, url=booking_url(work.runtime, details.booking.id))
    async with operations.opened_crm(work.runtime, target.connection) as crm:
        if target.meeting_id is not None:
            await crm.change_meeting(target.meeting_id, meeting, key=f"{effect.id}.change")
            return target.meeting_id
        person_id = await crm.upsert_person(describe_person(details), key=f"{effect.id}.person")
        return await crm.log_meeting(meeting, person_id=person_id, key=f"{effect.id}.meeting")


async def _explain(work: Work, connection: CrmConnection, fault: CrmFault) -> TryLater | GiveUp:
    """Say what becomes of a write that has failed: a rule of the CRM stays the same, everything else may pass."""
    reason = describe_fault(fault)
    if isinstance(fault, CrmRefused):
        return GiveUp(reason, answered=True)
    if isinstance(fault, CrmBusy):
        return AskedToWait(reason, after=fault.after) if fault.after else TryLater(reason, answered=True)
    await operations.keep_failure(work, connection, fault)
    return TryLater(reason, after=fault.after if isinstance(fault, CrmUnavailable) else None)


def to_crm(_: Work, effect: Effect) -> Destination:
    """Write to a CRM on behalf of its owner."""
    return Destination((effect.target or "").partition("/")[0], effect.tenant_id)


CRM_REACTIONS = (
    Reaction(
        name="crm.plan",
        on=(
            BookingCreated,
            BookingRescheduled,
            BookingCancelled,
            BookingNoShowMarked,
            BookingNoShowRemoved,
            BookingLinkAdded,
        ),
        run=plan,
        lane=LANE,
        wanted_if=store.HAS_CRM,
    ),
    Reaction(name=WRITE_CRM, run=write, delays=DELAYS, collapses=True, destination=to_crm),
)
