"""Who hosts a booking of a team's event type: kept with it, locked for a change, and counted in the ledger."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from openslot.accounts.store import lock_hosts
from openslot.availability.models import Claimed, ClaimedHost
from openslot.bookings import host_store
from openslot.bookings.events import BookingEvent
from openslot.bookings.models import Booking, BookingDetails
from openslot.core.work import Work
from openslot.event_types.models import EventType
from openslot.teams import hosting, ledger
from openslot.teams.models import AssignmentReason, BookingHost, CreditReason

INVITEE = "invitee"


def show(hosts: Iterable[ClaimedHost]) -> tuple[BookingHost, ...]:
    """Name hosts as events tell them."""
    return tuple(BookingHost(user_id=each.user_id, name=each.name, role=each.role) for each in hosts)


def add(work: Work, booking: Booking, claimed: Claimed) -> None:
    """Stage who hosts a new booking, and count it for them; a hold that has become it was counted before."""
    if claimed.hosts:
        work.stage(host_store.insert_hosts(booking.id, claimed.hosts))
        _count(work, booking, claimed)


def add_series(work: Work, bookings: Sequence[Booking], taken: Sequence[Claimed]) -> None:
    """Stage who hosts the bookings of a new series; they are counted when these are written."""
    for booking, claimed in zip(bookings, taken, strict=True):
        if claimed.hosts:
            work.stage(host_store.insert_hosts(booking.id, claimed.hosts))


async def count_series(work: Work, bookings: Sequence[Booking], taken: Sequence[Claimed]) -> None:
    """Count each booking of a series for its hosts, one after the other."""
    for booking, claimed in zip(bookings, taken, strict=True):
        if claimed.hosts:
            _count(work, booking, claimed)
            await work.apply()


def _count(work: Work, booking: Booking, claimed: Claimed) -> None:
    if claimed.hold_id is not None:
        ledger.keep_hold(work, claimed.hold_id, booking.id)
    for each in claimed.chosen:
        reason = AssignmentReason.SERIES if each.asked.kept else AssignmentReason.BOOKED
        ledger.assign(work, each.group, each.choice, each.asked, reason, booking_id=booking.id)


def tell(work: Work, event: type[BookingEvent], details: BookingDetails, **more: Any) -> BookingEvent:
    """Write what has happened to a booking."""
    return event(
        booking=details.booking,
        event_type=details.event_type,
        contact=details.contact,
        base_url=work.runtime.settings.public_url,
        hosts=details.hosts,
        **more,
    )


async def find(work: Work, details: BookingDetails) -> tuple[ClaimedHost, ...]:
    """Read who hosts a booking now, whose event type is locked; nobody if it has no team."""
    return await find_all(work, [details])


async def find_all(work: Work, details: Sequence[BookingDetails]) -> tuple[ClaimedHost, ...]:
    """Read who hosts some bookings of one event type now, which is locked; nobody if it has no team."""
    is_team = any(each.event_type.team_id is not None for each in details)
    ids = [each.booking.id for each in details]
    return await host_store.list_hosts(work.db, *ids) if is_team else ()


async def lock(work: Work, hosts: Iterable[ClaimedHost]) -> None:
    """Take the locks of hosts, in the order of everybody else."""
    await lock_hosts(work.db, {each.user_id for each in hosts})


async def change(
    work: Work, booking: Booking, before: Iterable[ClaimedHost], claimed: Claimed, reason: AssignmentReason
) -> None:
    """Stage that others host a booking now, and move what was counted for those whose place they take."""
    if not claimed.replaced:
        return
    work.stage(host_store.replace_hosts(booking.id, claimed.replaced))
    chosen = {each.group.id: each for each in claimed.chosen}
    for each in before:
        if each.user_id in claimed.replaced and each.group_id is not None:
            await ledger.move(
                work,
                booking.id,
                each.group_id,
                from_user=each.user_id,
                to_user=claimed.replaced[each.user_id],
                reason=reason,
                asked=chosen[each.group_id].asked,
            )


async def count_cancelled(work: Work, event_type: EventType, *cancelled: Booking) -> None:
    """Take back what cancelled bookings have counted: always if their invitee cancels, else as the team says."""
    rules = await hosting.get_rules(work, event_type.id)
    for each in cancelled:
        if each.cancelled_by == INVITEE or not rules.counts_host_cancellations:
            await ledger.reverse(work, each.id, CreditReason.CANCELLED)


async def count_no_show(work: Work, event_type: EventType, booking: Booking) -> None:
    """Take back, or count again, a booking to which nobody came, if the team says that it does not count."""
    if event_type.team_id is None or (await hosting.get_rules(work, event_type.id)).counts_no_shows:
        return
    if booking.no_show:
        await ledger.reverse(work, booking.id, CreditReason.NO_SHOW)
    else:
        await ledger.restore(work, booking.id)


async def erase_some(work: Work, user_id: UUID, limit: int) -> int:
    """Take somebody whose account is deleted out of some past bookings of other owners, and return how many."""
    return await host_store.keep_claims(work.db, user_id, limit)
