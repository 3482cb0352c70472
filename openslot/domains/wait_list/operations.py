"""The verbs of the wait list: join, confirm, book or decline what is offered, leave; and what its host does."""

from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import lock_host
from openslot.domains.allowances.models import CauseKind, Cost
from openslot.domains.allowances.operations import causes_of, has_spent_on_page, spend
from openslot.domains.availability.claims.operations import lock_time
from openslot.domains.availability.operations import list_taken_slots
from openslot.domains.bookings.pending import HAND_OUT
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import change_event_type, get_event_type, get_event_type_for_change
from openslot.domains.event_types.rules import is_offered
from openslot.domains.wait_list import errors, offers, rules, store
from openslot.domains.wait_list.events import WaitListConfirmed, WaitListJoined, WaitListLeft
from openslot.domains.wait_list.models import (
    EntryState,
    FoundEntry,
    ListedWait,
    Offer,
    OfferState,
    WaitListEntry,
    WaitListWanted,
)
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import find_signed_id, new_id, sign_id
from openslot.platform.core.text import parse_email
from openslot.platform.core.times import find_zone
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text

PURPOSE = "wait list"
WAIT_LIST_PAGE = "/wait-list/"


def entry_token(runtime: Runtime, entry_id: UUID) -> str:
    return sign_id(runtime.signer, PURPOSE, entry_id)


def wait_list_url(runtime: Runtime, entry_id: UUID) -> str:
    """Write where somebody on the wait list confirms, books, declines and leaves; only their mails have it."""
    return f"{runtime.settings.public_url}{WAIT_LIST_PAGE}{entry_token(runtime, entry_id)}"


def read_wait_list_token(runtime: Runtime, token: str) -> UUID:
    return require(find_signed_id(runtime.signer, PURPOSE, token), errors.EntryNotFound)


async def join_wait_list(work: Work, wanted: WaitListWanted) -> None:
    """Let somebody wait for a full day or session, once they have confirmed their address by mail.

    Who waits already is not told so: whoever asks may be somebody else. They get the mail again.
    """
    zone = find_zone(wanted.zone)
    if zone is None:
        raise Invalid(details={"timezone": Text("is not a time zone; use a name such as Europe/Berlin")})
    await lock_time(work, wanted.which)
    found, slots, taken = await list_taken_slots(work, wanted.which, wanted.day, zone)
    event_type = found.inputs.event_type
    # What is offered later takes no use of a link, and would outlast it.
    if event_type.wait_list_minutes is None or not is_offered(event_type) or found.link is not None:
        raise errors.WaitListOff
    if not rules.is_full(wanted.starts_at, open_starts=slots.starts, taken=taken):
        raise errors.NothingToWaitFor
    entry = WaitListEntry(
        id=new_id(),
        host_id=event_type.owner_id,
        event_type_id=event_type.id,
        day=wanted.day,
        starts_at=wanted.starts_at,
        minutes=wanted.which.minutes,
        until=rules.end_of(wanted.day, wanted.starts_at, zone),
        name=wanted.name.strip(),
        email=parse_email(wanted.email),
        zone=str(zone),
        locale=wanted.locale,
        state=EntryState.UNPROVEN,
        created_at=work.now,
        asked_at=work.now,
    )
    is_reserved = await _spend_entry(work, entry)
    known = await store.find_same(work.db, event_type.id, entry.email, entry.day, entry.starts_at)
    if known is not None:
        await _ask_again(work, known, is_reserved=is_reserved)
        return
    await _check_limits(work, entry)
    work.stage(store.insert_entry(entry))
    await work.record(_tell_joined(entry, is_reserved=is_reserved))


async def _spend_entry(work: Work, entry: WaitListEntry) -> bool:
    """Refuse who joins this host's lists too often, or those of many hosts; return whether the mail is reserved.

    It is if it is known who asks, beyond an address. Who joins again is counted too, because the answer does not tell
    who waits already.
    """
    causes = await causes_of(work, email=entry.email)
    await spend(work, Cost.WAIT_LIST, causes, scope=str(entry.host_id), host_id=entry.host_id)
    known = [each for each in causes if each.kind is not CauseKind.MAIL_DOMAIN]
    # It mails somebody who may never have heard of it.
    await spend(work, Cost.MAIL, known, host_id=entry.host_id)
    return bool(known) and await has_spent_on_page(work, entry.host_id)


async def _ask_again(work: Work, known: WaitListEntry, *, is_reserved: bool) -> None:
    if known.asked_at + rules.ASKED_AGAIN_AFTER <= work.now:
        await store.ask_again(work.db, known.id, now=work.now)
        await work.record(_tell_joined(known, is_reserved=is_reserved))


async def _check_limits(work: Work, entry: WaitListEntry) -> None:
    unproven, of_address = await store.count_entries(work.db, entry, now=work.now)
    await _check_room(work, entry)
    if of_address >= rules.MAX_OF_ADDRESS:
        raise errors.TooManyWaits
    if unproven >= rules.MAX_UNPROVEN:
        work.stage(store.drop_unproven(entry.event_type_id, entry.day, keeping=rules.MAX_UNPROVEN - 1))


def _tell_joined(entry: WaitListEntry, *, is_reserved: bool) -> WaitListJoined:
    return WaitListJoined(
        entry_id=entry.id, event_type_id=entry.event_type_id, host_id=entry.host_id, is_reserved=is_reserved
    )


async def _check_room(work: Work, entry: WaitListEntry) -> None:
    """Refuse who comes too late, or after too many others of the same mail domain; the host is locked."""
    waiting = await store.list_addresses(work.db, entry.event_type_id, entry.day, now=work.now)
    if not rules.has_room(entry.email, waiting):
        raise errors.WaitListFull


async def get_wait_list_entry(work: Work, entry_id: UUID) -> FoundEntry:
    """Read an entry; one that was not confirmed in time is gone."""
    found = require(await store.find_entry(work.db, entry_id), errors.EntryNotFound)
    entry = found.entry
    if entry.state is EntryState.UNPROVEN and entry.asked_at + rules.PROVEN_WITHIN <= work.now:
        raise errors.EntryNotFound
    return found


async def _lock(work: Work, entry_id: UUID) -> FoundEntry:
    if not await store.lock_host_of(work.db, entry_id):
        raise errors.EntryNotFound
    return await get_wait_list_entry(work, entry_id)


async def confirm_entry(work: Work, entry_id: UUID) -> None:
    """Confirm the address of somebody who wants to wait, unless the list is full; again, it stays as it is."""
    entry = (await _lock(work, entry_id)).entry
    if entry.state is not EntryState.UNPROVEN:
        return
    await _check_room(work, entry)
    work.stage(store.confirm_entry(entry.id))
    await work.record(WaitListConfirmed(entry_id=entry.id, event_type_id=entry.event_type_id, host_id=entry.host_id))
    await offers.hand_out_freed(work, entry.host_id, [entry.day])


async def accept_offer(work: Work, entry_id: UUID) -> tuple[FoundEntry, Offer]:
    """Take the time that is kept for somebody; the same transaction books it with the offer's `hold_id`."""
    found = await _lock(work, entry_id)
    offer = found.offer
    if offer is None or not offer.is_open(now=work.now):
        raise errors.OfferNotOpen
    await offers.accept(work, found.entry, offer)
    return found, offer


async def decline_offer(work: Work, entry_id: UUID) -> None:
    """Give an offered time back, which is offered to the next; whoever declines stays on the list for other times."""
    found = await _lock(work, entry_id)
    if found.offer is not None and found.offer.state is OfferState.OFFERED:
        await _hand_on(work, found, found.offer, OfferState.DECLINED)


async def end_untold(work: Work, *, entry_id: UUID, offer_id: UUID) -> None:
    """End an offer that its person can't be told of, and offer its time to the next."""
    found = await _lock(work, entry_id)
    if found.offer is not None and found.offer.id == offer_id and found.offer.state is OfferState.OFFERED:
        await _hand_on(work, found, found.offer, OfferState.EXPIRED)


async def _hand_on(work: Work, found: FoundEntry, offer: Offer, state: OfferState) -> None:
    await offers.end(work, offer, found.entry, state)
    await _hand_out_time(work, offer)


async def _hand_out_time(work: Work, offer: Offer) -> None:
    await offers.hand_out_freed(work, offer.host_id, rules.days_around((offer.starts_at, offer.ends_at)))


async def leave_wait_list(work: Work, entry_id: UUID) -> None:
    """Remove somebody from the list with all that is stored of them; what is offered to them goes to the next."""
    await _remove(work, await _lock(work, entry_id))


async def remove_wait_list_entry(work: Work, host: User, event_type_id: UUID, entry_id: UUID) -> None:
    """Remove somebody from the list of one of the host's event types."""
    await lock_host(work.db, host.id)
    found = await store.find_entry(work.db, entry_id)
    if found is None or (found.entry.host_id, found.entry.event_type_id) != (host.id, event_type_id):
        raise errors.EntryNotFound
    await _remove(work, found)


async def _remove(work: Work, found: FoundEntry) -> None:
    entry = found.entry
    offer = found.offer if found.offer is not None and found.offer.state is OfferState.OFFERED else None
    if offer is not None:
        await offers.end(work, offer, entry, OfferState.DECLINED)
    work.stage(store.delete_entry(entry.id))
    await work.record(WaitListLeft(entry_id=entry.id, event_type_id=entry.event_type_id, host_id=entry.host_id))
    if offer is not None:
        await _hand_out_time(work, offer)


async def list_wait_list(
    work: Work, host: User, event_type_id: UUID, *, page: int, limit: int
) -> tuple[EventType, list[ListedWait], int]:
    """Read one page of who waits for an event type, those who have waited longest first, and how many there are."""
    event_type = await get_event_type(work, host, event_type_id)
    offset = (page - 1) * limit
    listed, total = await store.list_entries(work.db, host.id, event_type_id, now=work.now, limit=limit, offset=offset)
    return event_type, listed, total


async def set_up_wait_list(work: Work, host: User, event_type_id: UUID, *, minutes: int | None) -> EventType:
    """Switch the wait list of an event type on or off; off, what is offered ends, and who waits stays on the list."""
    event_type = await get_event_type_for_change(work, host, event_type_id)
    changed = await change_event_type(work, replace(event_type, wait_list_minutes=minutes))
    await offers.end_over(work, host.id)
    await work.plan(HAND_OUT, str(host.id), due_at=work.now, tenant_id=host.id)
    return changed


async def close_wait_lists(work: Work, host: User) -> None:
    """Remove everybody who waits for a host who leaves; the caller has locked the host."""
    for offer, each in await store.list_live(work.db, host.id):
        await offers.end(work, offer, each.entry, OfferState.WITHDRAWN)
    await store.delete_of_host(work.db, host.id)
