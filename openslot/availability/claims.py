"""The verbs that take a host's time: claim, hold, move and free."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.availability import claim_store, store
from openslot.availability.errors import HoldNotFound, NotAStart, TimeTaken, TooManyHolds
from openslot.availability.explain import explain_start
from openslot.availability.models import NO_START, Code
from openslot.availability.slots import judge
from openslot.availability.store import Booked, ById, Found, Which
from openslot.core.changes import Change, make
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.core.zones import floor_second
from openslot.event_types.errors import EventTypeNotFound
from openslot.event_types.models import EventType

HOLD_LASTS = timedelta(minutes=10)
MOST_HOLDS = 3


class Claimed(Struct, frozen=True, kw_only=True):
    """Time that is taken: the claim, the seat in it, and for what."""

    claim_id: UUID
    seat_id: UUID | None
    event_type: EventType
    host_no: int
    starts_at: datetime
    ends_at: datetime
    changes: tuple[Change, ...]
    """What takes it, to be made before the lock is let go of."""


class Hold(Struct, frozen=True, kw_only=True):
    """A slot that is kept for a moment."""

    id: UUID
    expires_at: datetime


async def claim(
    work: Work,
    which: Which,
    starts_at: datetime,
    *,
    kind: str = "booking",
    hold_id: UUID | None = None,
    expires_at: datetime | None = None,
) -> Claimed:
    """Lock a slot and tell what takes it, or what turns the caller's own hold into the claim.

    What the engine would not list is refused. The changes are the caller's to make, with the fact that they make true.
    """
    await _lock(work, which)
    hold = await claim_store.find_hold(work.db, hold_id, now=work.now) if hold_id else None
    found = await _judge(work, which, starts_at, without=hold_id if hold else None, field="startTime")
    event_type = found.setting.event_type
    if hold is None:
        return _take(work, found, starts_at, kind=kind, expires_at=expires_at)
    claim_id, seat_id, held_type_id, held_start = hold
    if (held_type_id, held_start) != (event_type.id, starts_at):
        raise Invalid(details={"holdId": "holds another time"})
    kept = claim_store.keep_hold(claim_id, seat_id, kind=kind, expires_at=expires_at)
    return _claimed(found, claim_id, seat_id, starts_at, (kept,))


async def hold(work: Work, event_type_id: UUID, starts_at: datetime, *, holder: str) -> Hold:
    """Keep a slot for ten minutes for someone who is filling in a form."""
    await claim_store.lock_address(work.db, holder)
    if await claim_store.count_holds(work.db, holder, now=work.now) >= MOST_HOLDS:
        raise TooManyHolds
    which = ById(event_type_id)
    await _lock(work, which)
    found = await _judge(work, which, starts_at, field="startTime")
    expires_at = work.now + HOLD_LASTS
    taken = _take(work, found, starts_at, kind="hold", expires_at=expires_at, holder=holder)
    await make(work.db, taken.changes)
    return Hold(id=taken.seat_id or taken.claim_id, expires_at=expires_at)


async def drop_hold(work: Work, hold_id: UUID) -> None:
    """Let go of a held slot."""
    found = await claim_store.find_hold(work.db, hold_id, now=work.now)
    if found is None:
        raise HoldNotFound
    claim_id, seat_id, *_ = found
    if seat_id is not None:
        await claim_store.lock_host_of(work.db, claim_id)
    await make(work.db, free(claim_id, seat_id))


async def move(
    work: Work, claim_id: UUID, seat_id: UUID | None, *, event_type_id: UUID, starts_at: datetime
) -> Claimed:
    """Tell what gives a claim another slot of the same event type: it holds the old one or the new one, never both.

    Whoever moves it has locked its host.
    """
    found = await _judge(work, Booked(event_type_id), starts_at, without=seat_id or claim_id, field="newStartTime")
    session_id = _find_session(found, starts_at) if seat_id else None
    if seat_id is None or (session_id is None and await claim_store.sits_alone(work.db, seat_id, now=work.now)):
        moved = claim_store.move_claim(claim_id, found.setting.event_type, starts_at)
        return _claimed(found, claim_id, seat_id, starts_at, (moved,))
    session_id, opened = _join(work, found, starts_at)
    return _claimed(found, session_id, seat_id, starts_at, (*opened, *claim_store.move_seat(seat_id, session_id)))


def free(claim_id: UUID, seat_id: UUID | None) -> tuple[Change, ...]:
    """Tell what gives time back, or a seat; who gives back a seat has locked its host."""
    return claim_store.free_claim(claim_id) if seat_id is None else claim_store.free_seat(seat_id)


async def _lock(work: Work, which: Which) -> None:
    """Wait for the host's turn; what is read afterwards is what all others have left behind."""
    if await claim_store.lock_host(work.db, which) is None:
        raise EventTypeNotFound


async def _judge(work: Work, which: Which, starts_at: datetime, *, field: str, without: UUID | None = None) -> Found:
    found = await store.find_setting(
        work.db,
        which,
        asked_from=starts_at,
        asked_until=starts_at + timedelta(seconds=1),
        now=work.now,
        without=without,
    )
    if found is None:
        raise EventTypeNotFound
    code = judge(found.setting, starts_at)
    if code in NO_START:
        raise NotAStart(field, explain_start(found.setting, starts_at).reasons[0].sentence)
    if code is not Code.OPEN:
        raise TimeTaken
    if found.has_stale:
        await claim_store.expire(work.db, found.host_no, now=work.now)
    return found


def _take(
    work: Work,
    found: Found,
    starts_at: datetime,
    *,
    kind: str,
    expires_at: datetime | None,
    holder: str | None = None,
) -> Claimed:
    if found.setting.event_type.seats == 1:
        claim_id, taken = _insert(work, found, starts_at, kind=kind, expires_at=expires_at, holder=holder)
        return _claimed(found, claim_id, None, starts_at, (taken,))
    session_id, opened = _join(work, found, starts_at)
    seat_id, seated = claim_store.insert_seat(session_id, expires_at=expires_at, holder=holder, now=work.now)
    return _claimed(found, session_id, seat_id, starts_at, (*opened, seated))


def _join(work: Work, found: Found, starts_at: datetime) -> tuple[UUID, tuple[Change, ...]]:
    """Find the session that has a seat left, or open one."""
    session_id = _find_session(found, starts_at)
    if session_id is not None:
        return session_id, ()
    session_id, opened = _insert(work, found, starts_at, kind="session")
    return session_id, (opened,)


def _insert(
    work: Work,
    found: Found,
    starts_at: datetime,
    *,
    kind: str,
    expires_at: datetime | None = None,
    holder: str | None = None,
) -> tuple[UUID, Change]:
    return claim_store.insert_claim(
        found.setting.event_type,
        starts_at,
        host_no=found.host_no,
        kind=kind,
        expires_at=expires_at,
        holder=holder,
        now=work.now,
    )


def _find_session(found: Found, starts_at: datetime) -> UUID | None:
    start = floor_second(starts_at)
    claims = zip(found.setting.taken.claims, found.claim_ids, strict=True)
    return next((claim_id for claim, claim_id in claims if claim.session_start == start and claim.seats_left > 0), None)


def _claimed(
    found: Found, claim_id: UUID, seat_id: UUID | None, starts_at: datetime, changes: tuple[Change, ...]
) -> Claimed:
    event_type = found.setting.event_type
    return Claimed(
        claim_id=claim_id,
        seat_id=seat_id,
        event_type=event_type,
        host_no=found.host_no,
        starts_at=starts_at,
        ends_at=starts_at + timedelta(minutes=event_type.duration_minutes),
        changes=changes,
    )
