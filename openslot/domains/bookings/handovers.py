"""The verbs that give bookings of teams to other hosts, and those for somebody who leaves."""

from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.claims.choosing import choose_hosts, list_free
from openslot.domains.availability.claims.operations import replace_host
from openslot.domains.availability.claims.taking import find
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.explain import explain_start
from openslot.domains.availability.models import ByBooking, ClaimedHost
from openslot.domains.bookings import errors, operations, rules, store
from openslot.domains.bookings.events import BookingReassigned, BookingRequestReassigned
from openslot.domains.bookings.hosts.operations import change_hosts, tell_with_hosts
from openslot.domains.bookings.hosts.store import (
    give_bookings_to_owner,
    is_host_of_booking,
    is_manager_of_event_type,
    list_replaceable_hosts,
    list_upcoming_of_event_type,
    list_upcoming_of_host,
    lock_session,
)
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, RequestState, Status
from openslot.domains.bookings.requests.operations import (
    decline_booking_request,
    decline_some_booking_requests,
    find_waiting_request,
)
from openslot.domains.bookings.requests.store import find_request, list_ends_of_requests
from openslot.domains.bookings.strangers.operations import spend_mail
from openslot.domains.contacts.operations import find_or_add_contact
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.teams import hosting
from openslot.domains.teams.models import AssignmentReason
from openslot.platform.core.actor import ActorKind
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.work import Work, recorded_together
from openslot.platform.i18n import Text, keep

NOT_A_HOST = Text("is not a host of this booking")
PEOPLE = {ActorKind.KEY, ActorKind.SESSION, ActorKind.ASSISTANT}


class Taker(Struct, frozen=True, kw_only=True):
    """A member of the group of a host who leaves, who could take over or not."""

    user_id: UUID
    name: str
    is_free: bool
    is_next: bool
    """Whether the team's rule would choose them now."""

    sentence: str | None
    """The reason why they can't: `Ana is in a meeting`; if they are free, only the rule: `Jim is 3 ahead`."""


class Released(Struct, frozen=True, kw_only=True):
    """What has become of the bookings of somebody who leaves."""

    cancelled: tuple[UUID, ...] = ()
    handed_over: tuple[UUID, ...] = ()
    declined: int = 0

    @property
    def count(self) -> int:
        return len(self.cancelled) + len(self.handed_over) + self.declined


async def reassign_booking(
    work: Work, ref: BookingRef, *, from_user: UUID, to_user: UUID | None = None, reason: str | None = None
) -> Booking:
    """Give a booking of a team to another host at the same time: who is named, or the next one by the team's rule.

    All bookings of a group session go together. What waits for an answer is handed over in the same way.
    The owner of the event type may, the managers of the team, and the host for themselves.
    """
    details = await _get_for_change(work, ref)
    await _check_may_reassign(work, details, from_user)
    if details.booking.status is Status.CANCELLED:
        raise errors.BookingAlreadyCancelled
    if rules.is_over(details.booking, now=work.now):
        raise errors.BookingAlreadyEnded
    leaving = _find_chosen(details, from_user)
    if leaving is None:
        raise Invalid(details={"fromUser": NOT_A_HOST})
    if to_user == from_user:
        return details.booking
    if any(each.user_id == to_user for each in details.hosts):
        raise Invalid(details={"toUser": Text("hosts this booking already")})
    return await _replace(work, details, leaving, to_user=to_user, why=AssignmentReason.REASSIGNED, reason=reason)


def _find_chosen(details: BookingDetails, user_id: UUID) -> ClaimedHost | None:
    """Find a host whose place another one of their group can take."""
    return next((each for each in details.taken if each.was_chosen and each.user_id == user_id), None)


async def _check_may_reassign(work: Work, details: BookingDetails, from_user: UUID) -> None:
    """Refuse people who are neither the owner, nor a manager of the team, nor the host who leaves."""
    user_id = work.actor.user_id
    if work.actor.kind not in PEOPLE:
        return
    if user_id is None:
        raise errors.BookingNotFound
    is_own_claim = user_id == from_user and _find_chosen(details, from_user) is not None
    if is_own_claim and await is_host_of_booking(work.db, details.booking.id, user_id):
        return
    if not await _decides(work, details, user_id):
        raise errors.BookingNotFound


async def _decides(work: Work, details: BookingDetails, user_id: UUID) -> bool:
    """Answer whether somebody may replace every host."""
    is_owner = user_id == details.booking.host_id
    return is_owner or await is_manager_of_event_type(work.db, details.event_type.id, user_id)


async def list_replaceable(work: Work, user: User, booking_id: UUID) -> tuple[BookingDetails, tuple[ClaimedHost, ...]]:
    """Read a booking of a team, or what waits for an answer, and the hosts whom somebody may replace.

    They come first themselves; others find nothing.
    """
    details = await _get(work, BookingRef(booking_id, None))
    found, is_manager, is_colleague = await list_replaceable_hosts(work.db, booking_id, user.id)
    taken = sorted(found, key=lambda each: each.user_id != user.id)
    decides = is_manager or user.id == details.booking.host_id
    replaceable = tuple(taken) if decides else tuple(taken[: is_colleague and details.is_hosted_by(user.id)])
    if not replaceable:
        raise errors.BookingNotFound
    return details, replaceable


async def _get(work: Work, ref: BookingRef) -> BookingDetails:
    try:
        return await operations.get_booking(work, ref)
    except errors.BookingNotFound:
        found = await find_request(work.db, ref)
        if found is None or found.request.state is not RequestState.WAITING:
            raise
        return found.details


async def list_takers(work: Work, details: BookingDetails, leaving: ClaimedHost) -> list[Taker]:
    """List who else is in the group of a host who leaves, who is next first, and then those who are free for it."""
    booking = details.booking
    which = ByBooking(booking.event_type_id, booking.minutes)
    found = await find(work, which, booking.starts_at, is_team=True)
    free, current = list_free(found, booking.starts_at), {each.user_id for each in details.hosts}
    chosen = choose_hosts(found, free, {leaving.group_id: 1}, without=current) if leaving.group_id else None
    next_ = chosen[0].choice.chosen[0] if chosen else None
    told = zip(found.inputs.groups, explain_start(found.inputs, booking.starts_at).groups, strict=True)
    takers = [
        Taker(
            user_id=candidate.user_id,
            name=host.name,
            is_free=candidate.host_no in free,
            is_next=candidate.user_id == next_,
            sentence=None if host.can_be_chosen else host.sentence,
        )
        for group, explained in told
        if group.group.id == leaving.group_id
        for candidate, host in zip(group.candidates, explained.hosts, strict=True)
        if candidate.user_id not in current
    ]
    return sorted(takers, key=lambda each: (not each.is_next, not each.is_free))


async def _replace(
    work: Work,
    details: BookingDetails,
    leaving: ClaimedHost,
    *,
    to_user: UUID | None,
    why: AssignmentReason,
    reason: str | None,
) -> Booking:
    """Let somebody else replace a host in a booking, or in all bookings of its session."""
    booking, taken = details.booking, details.taken
    together = await lock_session(work.db, booking.claim_id) if booking.seat_id else [details]
    which = ByBooking(booking.event_type_id, booking.minutes)
    try:
        claimed = await replace_host(work, which, booking.starts_at, taken, leaving, named=to_user)
    except SlotUnavailable:
        raise (errors.NoOtherHost if to_user is None else errors.HostNotFree) from None
    if why is AssignmentReason.REASSIGNED:
        people = [email for each in together for email in (each.booking.invitee_email, *each.booking.guests)]
        await spend_mail(work, details.booking.host_id, people[0], people[1:])
    changed = [replace(each.booking, sequence=each.booking.sequence + 1, updated_at=work.now) for each in together]
    await change_hosts(work, changed, taken, claimed, why)
    work.stage(store.update_reassigned(changed))
    waiting = [each.id for each in changed if each.status is Status.PENDING_CONFIRMATION]
    ends = await list_ends_of_requests(work.db, waiting) if waiting else {}
    change = {"previous_hosts": details.hosts, "reason": keep(reason) if reason else None}
    for each, now in zip(together, changed, strict=True):
        told = replace(each, booking=now, hosts=rules.name_hosts(claimed.hosts))
        if now.id in ends:
            work.stage(tell_with_hosts(work, BookingRequestReassigned, told, lapses_at=ends[now.id], **change))
        else:
            work.stage(tell_with_hosts(work, BookingReassigned, told, **change))
    await work.record()
    return next(each for each in changed if each.id == booking.id)


async def cancel_upcoming(work: Work, host: User, *, reason: str) -> list[UUID]:
    """Cancel all upcoming bookings of a host who leaves, and name them; what waits for the host is declined."""
    return list((await release_some(work, host, reason=reason, limit=None)).cancelled)


@recorded_together
async def release_some(work: Work, host: User, *, reason: str, limit: int | None) -> Released:
    """End some or all of what somebody who leaves has to do.

    Their own bookings are cancelled, and what waits for them is declined. Bookings of teams go to the next host by the
    team's rule, if the team says so and somebody is free; the others are cancelled. The caller has taken all locks.
    """
    declined = await decline_some_booking_requests(work, host, reason=reason, limit=limit)
    left = None if limit is None else max(limit - declined, 0)
    upcoming = (await store.list_upcoming(work.db, host.id, now=work.now))[:left]
    for booking_id in upcoming:
        await operations.cancel_booking(work, BookingRef(booking_id, host.id), reason=reason)
    left = None if left is None else left - len(upcoming)
    of_teams = (await list_upcoming_of_host(work.db, host.id, now=work.now))[:left]
    released = await _release_from_teams(work, host, of_teams, reason=reason)
    return replace(released, cancelled=(*upcoming, *released.cancelled), declined=declined + released.declined)


async def leave_teams(work: Work, host: User, team_ids: Sequence[UUID], *, reason: str) -> Released:
    """Let others have the upcoming bookings that somebody hosts for some teams, or cancel them."""
    upcoming = await list_upcoming_of_host(work.db, host.id, now=work.now, team_ids=team_ids)
    return await _release_from_teams(work, host, upcoming, reason=reason)


async def give_to_owner(work: Work, event_type_id: UUID, owner: User) -> None:
    """Give what is upcoming or asked for of a team's event type, which is locked, to its new owner, with contacts.

    Past ones stay with the old owner, who has met these people.
    """
    found: dict[UUID, UUID | None] = {}
    # All contacts come before the bookings, as for everybody else who writes both.
    for each in await list_upcoming_of_event_type(work.db, event_type_id, now=work.now):
        found[each.id] = None
        if each.status is Status.CONFIRMED:
            name, email = each.invitee_name, each.invitee_email
            found[each.id] = (await find_or_add_contact(work, owner_id=owner.id, name=name, email=email)).id
    await give_bookings_to_owner(work.db, owner.id, found)
    if work.staged:
        await work.record()


async def cancel_of_event_type(work: Work, event_type_id: UUID, *, reason: str) -> list[UUID]:
    """Cancel all upcoming bookings of a team's event type, which is locked, and name them; requests are declined."""
    upcoming = await list_upcoming_of_event_type(work.db, event_type_id, now=work.now)
    return [each.id for each in upcoming if await _cancel_or_decline(work, each.id, each.status, reason=reason)]


async def _cancel_or_decline(work: Work, booking_id: UUID, status: Status, *, reason: str) -> bool:
    """End a booking, or a request for one, and return whether it was a booking."""
    ref = BookingRef(booking_id, None)
    if status is Status.CONFIRMED:
        await operations.cancel_booking(work, ref, reason=reason)
    else:
        await decline_booking_request(work, ref, reason=reason)
    return status is Status.CONFIRMED


async def _release_from_teams(work: Work, host: User, booking_ids: list[UUID], *, reason: str) -> Released:
    cancelled, handed_over, declined = [], [], 0
    for booking_id in booking_ids:
        details = await _get_for_change(work, BookingRef(booking_id, None))
        if await _hand_over(work, details, host, reason=reason):
            handed_over.append(booking_id)
        elif await _cancel_or_decline(work, booking_id, details.booking.status, reason=reason):
            cancelled.append(booking_id)
        else:
            declined += 1
    return Released(cancelled=tuple(cancelled), handed_over=tuple(handed_over), declined=declined)


async def _get_for_change(work: Work, ref: BookingRef) -> BookingDetails:
    """Read a booking, or what waits for an answer, that nobody else can change until the commit."""
    try:
        return await operations.get_booking_for_change(work, ref)
    except errors.BookingNotFound:
        return require(await find_waiting_request(work, ref), errors.BookingNotFound)


async def _hand_over(work: Work, details: BookingDetails, host: User, *, reason: str) -> bool:
    """Give a booking to the next host; False if the team does not want that, or nobody is free."""
    leaving = _find_chosen(details, host.id)
    if leaving is None:
        # It was handed over with another booking of its session.
        return True
    if not (await hosting.get_rules(work, details.event_type.id)).replaces_leavers:
        return False
    try:
        await _replace(work, details, leaving, to_user=None, why=AssignmentReason.REPLACED, reason=reason)
    except (errors.NoOtherHost, EventTypeNotFound):
        # An event type that nobody could take over is closed with the account of its owner.
        return False
    return True
