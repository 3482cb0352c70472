"""The verbs of links through which an event type can be booked a number of times."""

from datetime import datetime
from urllib.parse import quote, urlencode
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import lock_host
from openslot.domains.event_types import errors, operations
from openslot.domains.event_types.links import store
from openslot.domains.event_types.links.rules import MAX_OPEN, find_link_faults
from openslot.domains.event_types.models import BookingLink, EventType, HostLink, SealedToken
from openslot.domains.event_types.store import find_team_page
from openslot.platform.core.db import Row
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.work import Runtime, Work

TOKENS = "booking links"


async def create_booking_link(
    work: Work,
    owner: User,
    event_type_id: UUID,
    *,
    uses: int = 1,
    ends_at: datetime | None = None,
    note: str | None = None,
) -> tuple[EventType, HostLink]:
    """Make a link for a number of bookings of an event type, until some time or for ever."""
    faults = find_link_faults(uses=uses, ends_at=ends_at, note=note, now=work.now)
    if faults:
        raise Invalid(details=faults)
    event_type = await operations.get_event_type_for_change(work, owner, event_type_id)
    if await store.count_open(work.db, event_type.id, now=work.now) >= MAX_OPEN:
        raise errors.TooManyLinks
    link = BookingLink(
        id=new_id(),
        event_type_id=event_type.id,
        owner_id=owner.id,
        uses=uses,
        ends_at=ends_at,
        created_at=work.now,
        note=(note or "").strip() or None,
    )
    token = new_token()
    sealed = work.runtime.cipher.seal(TOKENS, token.encode(), owner=link.id.bytes)
    await store.insert_link(work.db, link, SealedToken(fingerprint(token), sealed))
    team_page = await find_team_page(work.db, event_type.id) if event_type.team_id else None
    return event_type, HostLink(link=link, token=token, team_page=team_page)


async def list_booking_links(
    work: Work, owner: User, event_type_id: UUID, *, page: int = 1, limit: int
) -> tuple[EventType, list[HostLink], int]:
    """Read one page of the links of an event type, the newest first, and how many there are."""
    event_type = await operations.get_event_type(work, owner, event_type_id)
    rows = await store.list_rows(work.db, owner.id, event_type_id, limit=limit, offset=(page - 1) * limit)
    return event_type, [_to_host_link(work, row) for row in rows if row["l_id"] is not None], rows[0]["total"]


async def get_booking_link(work: Work, owner: User, event_type_id: UUID, link_id: UUID) -> tuple[EventType, HostLink]:
    event_type = await operations.get_event_type(work, owner, event_type_id)
    row = require(await store.find_row(work.db, owner.id, link_id, event_type_id), errors.LinkNotFound)
    return event_type, _to_host_link(work, row)


async def revoke_booking_link(
    work: Work, owner: User, link_id: UUID, *, event_type_id: UUID | None = None
) -> BookingLink:
    """Close a link for good; what was booked through it stays. Revoked again, it stays as it is."""
    await lock_host(work.db, owner.id)
    row = require(await store.find_row(work.db, owner.id, link_id, event_type_id), errors.LinkNotFound)
    link = store.LINKS.read(row)
    if link.revoked_at is not None:
        return link
    revoked = replace(link, revoked_at=work.now)
    await store.update_revoked(work.db, revoked)
    return revoked


def find_link_url(runtime: Runtime, owner: User, event_type: EventType, found: HostLink) -> str | None:
    """Write the address that a host gives to somebody; None if it can't be shown any more."""
    if found.token is None:
        return None
    path = find_booking_path(owner, event_type, found.team_page)
    return f"{runtime.settings.public_url}{path}?{urlencode({'token': found.token})}"


def find_booking_path(owner: User, event_type: EventType, team_page: str | None) -> str:
    """Return where an event type can be booked: below the page of its team, or else of its owner."""
    return f"/{team_page or quote(owner.username)}/{event_type.slug}"


def take_link_uses(work: Work, link: BookingLink, *booking_ids: UUID) -> None:
    """Stage what takes a link's use for each booking whose insert is staged; refused if too few are left."""
    work.stage(*store.take_uses(link, booking_ids, now=work.now))


def give_link_back(work: Work, booking_id: UUID) -> None:
    """Stage what gives the use of a link back, if a booking that was never confirmed has one."""
    work.stage(*store.give_back(booking_id))


async def take_link_again(work: Work, booking_id: UUID) -> None:
    """Stage what takes the use again that a booking has given back; refused if another one has it."""
    if await store.has_given_back(work.db, booking_id):
        work.stage(*store.take_again(booking_id))


def _to_host_link(work: Work, row: Row) -> HostLink:
    link = store.LINKS.read(row)
    try:
        token = work.runtime.cipher.open(TOKENS, row["token_sealed"], owner=link.id.bytes).decode()
    except SealBroken:
        token = None
    return HostLink(link=link, token=token, team_page=row["team_page"], bookings=store.read_made(row))
