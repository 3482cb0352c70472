"""What follows for the bookings that go along when a team's event type gets another owner."""

from uuid import UUID

from openslot.domains.bookings import store
from openslot.domains.bookings.hosts.store import list_upcoming_of_event_type
from openslot.domains.bookings.models import BookingDetails, BookingRef, Status
from openslot.domains.teams.events import EventTypeTakenOver
from openslot.platform.core.events import Effect, NewEffect, insert_effects
from openslot.platform.core.work import Done, Reaction, Work


def follow_takeover(effect: Effect, reaction: Reaction) -> Done:
    """Let a reaction run for each booking of the event type, after all that was to be done for the booking before."""
    event_type_id = effect.event(EventTypeTakenOver).event_type_id

    # They join lanes of bookings in a transaction that leaves none, so that it can't deadlock.
    async def write(inside: Work) -> None:
        given = await list_upcoming_of_event_type(inside.db, event_type_id, now=effect.event_at)
        wanted = [
            NewEffect(effect.event_id, reaction, target=str(each.id), lane=f"{reaction.lane}:booking:{each.id}")
            for each in given
            if each.status is Status.CONFIRMED
        ]
        await insert_effects(inside.db, wanted, now=inside.now)

    return Done(write=write)


async def find_taken_over(work: Work, effect: Effect) -> BookingDetails | None:
    """Look up the booking for which such a reaction runs; None if it is cancelled or erased."""
    found = await store.find_booking(work.db, BookingRef(UUID(effect.target or ""), None))
    return found if found and found.booking.status is Status.CONFIRMED else None
