"""Who hosts a booking: what is chosen from a group is kept with it, and counted in the ledger.

A group session counts once, however many seats of it are booked: the ledger knows it by its claim.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from unicodedata import normalize
from uuid import UUID

import msgspec
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.claims.operations import free_time, free_times, lock_chosen, move_time
from openslot.domains.availability.models import Claimed, ClaimedHost, EventTypeRef, OtherSeats
from openslot.domains.bookings.events import BookingEvent
from openslot.domains.bookings.hosts.store import (
    forget_end_reasons,
    has_anyone_come,
    insert_hosts,
    keep_claims_of_others,
    list_end_reasons,
    replace_all_hosts,
    replace_hosts,
)
from openslot.domains.bookings.models import Booking, BookingDetails
from openslot.domains.bookings.rules import name_hosts
from openslot.domains.teams import hosting
from openslot.domains.teams.ledger.operations import (
    assign_hosts,
    hold_session_again,
    keep_counted_hold,
    move_assignment,
    restore_credits,
    reverse_credits,
)
from openslot.domains.teams.models import AssignmentReason, BookingHost, CreditReason, Replacement
from openslot.platform.core.text import mentions
from openslot.platform.core.work import Work
from openslot.platform.i18n import say

INVITEE = "invitee"


def meeting_of(booking: Booking) -> UUID:
    """Name what is counted for the hosts of a booking: itself, or the session in which it has a seat."""
    return booking.claim_id if booking.seat_id else booking.id


def add_hosts(work: Work, booking: Booking, claimed: Claimed) -> None:
    """Stage who was chosen for a new booking, and count it for them; a hold or a session was counted before."""
    if _is_counted(claimed.hosts):
        work.stage(insert_hosts(booking.id, claimed.hosts))
        _count(work, booking, claimed)


def add_hosts_of_series(work: Work, bookings: Sequence[Booking], taken: Sequence[Claimed]) -> None:
    """Stage who was chosen for the bookings of a new series; they are counted when these are written."""
    for booking, claimed in zip(bookings, taken, strict=True):
        if _is_counted(claimed.hosts):
            work.stage(insert_hosts(booking.id, claimed.hosts))


async def count_hosts_of_series(work: Work, bookings: Sequence[Booking], taken: Sequence[Claimed]) -> None:
    """Count each booking of a series for its hosts, one after the other."""
    for booking, claimed in zip(bookings, taken, strict=True):
        if _is_counted(claimed.hosts):
            _count(work, booking, claimed)
            await work.apply()


def _count(work: Work, booking: Booking, claimed: Claimed) -> None:
    if claimed.hold_id is not None:
        keep_counted_hold(work, claimed.hold_id, meeting_of(booking))
    for each in claimed.chosen:
        reason = AssignmentReason.SERIES if each.asked.kept else AssignmentReason.BOOKED
        assign_hosts(work, each.group, each.choice, each.asked, reason, booking_id=meeting_of(booking))


def tell_with_hosts(work: Work, event: type[BookingEvent], details: BookingDetails, **more: Any) -> BookingEvent:
    """Write what has happened to a booking."""
    return event(
        booking=details.booking,
        event_type=details.event_type,
        contact=details.contact,
        base_url=work.runtime.settings.public_url,
        hosts=details.hosts,
        **more,
    )


def list_previous_hosts(before: Sequence[ClaimedHost], claimed: Claimed) -> tuple[BookingHost, ...]:
    """Name who hosted a booking before, if others do now."""
    have_changed = {each.user_id for each in before} != {each.user_id for each in claimed.hosts}
    return name_hosts(before) if have_changed else ()


async def move_hosts(work: Work, details: BookingDetails, which: EventTypeRef, starts_at: datetime) -> Claimed:
    """Give a booking another time with its hosts or others, or with those of another session, and count that."""
    booking, before = details.booking, details.taken
    claimed = await move_time(work, which, starts_at, before, booking.seat_id)
    if claimed.left is None:
        await change_hosts(work, [booking], before, claimed, AssignmentReason.RESCHEDULED)
    elif _is_counted(before):
        await _end_count(work, booking, before, claimed.left, CreditReason.RESCHEDULED)
        work.stage(*replace_all_hosts(booking.id, claimed.hosts))
        _count(work, replace(booking, claim_id=claimed.claim_id, seat_id=claimed.seat_id), claimed)
    return claimed


async def cancel_hosts(work: Work, cancelled: Sequence[BookingDetails]) -> None:
    """Free the hosts of cancelled bookings of one event type, and take back what was counted.

    It is taken back if the invitee cancels, else as the team says. A session stays and counts for who has a seat in it.
    """
    hosts = [host for each in cancelled for host in each.taken]
    await lock_chosen(work, hosts)
    counts = (
        _is_counted(hosts) and (await hosting.get_rules(work, cancelled[0].event_type.id)).counts_host_cancellations
    )
    left = await free_times(work, [(each.taken, each.booking.seat_id) for each in cancelled])
    for each, others in zip(cancelled, left, strict=True):
        if not counts or each.booking.cancelled_by == INVITEE:
            await _end_count(work, each.booking, each.taken, others, CreditReason.CANCELLED)


async def free_unconfirmed_hosts(work: Work, details: BookingDetails, reason: CreditReason) -> None:
    """Free the hosts of a booking that was never confirmed: it counts for nobody, whoever has ended it."""
    await lock_chosen(work, details.taken)
    left = await free_time(work, details.taken, details.booking.seat_id)
    await _end_count(work, details.booking, details.taken, left, reason)


async def _end_count(
    work: Work, booking: Booking, hosts: Sequence[ClaimedHost], left: OtherSeats, reason: CreditReason
) -> None:
    """Take back what was counted for a booking that is gone, or for its session if nobody is left in it.

    If only holds are left in the session, it counts for its hosts only if one is booked.
    """
    if not _is_counted(hosts):
        return
    if left.is_nobody:
        await reverse_credits(work, meeting_of(booking), reason)
    elif not left.booked:
        await hold_session_again(work, booking.claim_id)


def _is_counted(hosts: Iterable[ClaimedHost]) -> bool:
    """Answer whether a booking has hosts who were chosen: only they are kept with it, and only for them it counts."""
    return any(each.was_chosen for each in hosts)


async def change_hosts(
    work: Work, bookings: Sequence[Booking], before: Iterable[ClaimedHost], claimed: Claimed, reason: AssignmentReason
) -> None:
    """Stage that others host a booking, or all of a session, and move what was counted for whose place they take."""
    if not claimed.replaced:
        return
    work.stage(replace_hosts([each.id for each in bookings], claimed.replaced))
    asked = {each.group.id: each.asked for each in claimed.chosen}
    groups: dict[UUID, dict[UUID, UUID]] = {}
    for each in before:
        if each.user_id in claimed.replaced and each.group_id is not None:
            groups.setdefault(each.group_id, {})[each.user_id] = claimed.replaced[each.user_id]
    replaced = (Replacement(group_id=id_, hosts=hosts, asked=asked[id_]) for id_, hosts in groups.items())
    await move_assignment(work, meeting_of(bookings[0]), *replaced, reason=reason)


async def count_no_show(work: Work, details: BookingDetails, *, no_show: bool) -> None:
    """Take back, or count again, a meeting to which nobody came, if the team says that it does not count."""
    booking, event_type = details.booking, details.event_type
    # The choice has changed what others are owed, who are there also when the account of its host is deleted.
    if event_type.team_id is None or (await hosting.get_rules(work, event_type.id)).counts_no_shows:
        return
    if not no_show:
        await restore_credits(work, meeting_of(booking))
    elif not booking.seat_id or not await has_anyone_come(work.db, booking.claim_id, without=booking.id):
        await reverse_credits(work, meeting_of(booking), CreditReason.NO_SHOW)


async def erase_some_hosts(work: Work, host: User, limit: int) -> int:
    """Take somebody whose account is deleted out of some past bookings of other owners, and return how many."""
    await _forget_name(work, host)
    return await keep_claims_of_others(work.db, host.id, limit)


async def _forget_name(work: Work, host: User) -> None:
    """Remove reasons of others' cancelled bookings that name somebody as whole words."""
    spelled = {normalize(form, host.name) for form in ("NFC", "NFD")} | {host.name}
    # In a code's values, quotation marks and backslashes are escaped.
    spelled |= {msgspec.json.encode(each).decode()[1:-1] for each in spelled}
    found = await list_end_reasons(work.db, host.id, list(spelled))
    booking_ids = [each.id for each in found if mentions(say(each.cancel_reason or ""), host.name)]
    request_ids = [each.id for each in found if mentions(say(each.request_reason or ""), host.name)]
    if booking_ids or request_ids:
        await forget_end_reasons(work.db, booking_ids=booking_ids, request_ids=request_ids)
