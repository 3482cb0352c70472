"""The accounts that invitees pay to: each event type with a price names one, and its owner alone chooses another."""

from collections.abc import Iterable
from itertools import groupby
from uuid import UUID

from msgspec import Struct

from openslot.domains.event_types.accounts import store
from openslot.domains.event_types.events import PaymentAccountChanged
from openslot.domains.event_types.models import EventType, PaymentAccount
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

NOT_USABLE = Text("must be an account that is connected and that you may use")


class Following(Struct, frozen=True, kw_only=True):
    """How many event types name another account when one is connected, and how many people they belong to."""

    event_types: int = 0
    owners: int = 0


async def list_accounts(work: Work, owner_id: UUID) -> list[PaymentAccount]:
    """List the accounts that an owner can choose: their own first, then those of their organizations."""
    return await store.list_accounts(work.db, owner_id)


async def check_account_of_event_type(work: Work, event_type: EventType, *, known: UUID | None = None) -> None:
    """Refuse an account that the owner can't be paid to; the one that is named already needs no check."""
    wanted = event_type.payment_connection_id
    if event_type.price is None or wanted in (None, known):
        return
    if wanted not in {each.id for each in await list_accounts(work, event_type.owner_id)}:
        raise Invalid(details={"paymentAccount": NOT_USABLE})


async def follow_own(work: Work, account: PaymentAccount, owner_id: UUID) -> Following:
    """Name an account that its owner has just connected where they named none, or an earlier one of their own."""
    return _count(await store.follow_own(work.db, owner_id, account.id, now=work.now))


async def count_following_own(work: Work, owner_id: UUID) -> Following:
    """Count the event types that would name an account if their owner connected it."""
    return _count(await store.list_following_own(work.db, owner_id))


async def follow_organization(
    work: Work, account: PaymentAccount, organization_id: UUID, *, in_place_of: UUID
) -> Following:
    """Name the account of an organization where its members name the one that it replaces, and tell them."""
    changed = await store.follow_organization(
        work.db, organization_id, account.id, in_place_of=in_place_of, now=work.now
    )
    await _tell(work, changed, account.name)
    return _count(changed)


async def count_following_organization(work: Work, organization_id: UUID, *, in_place_of: UUID) -> Following:
    """Count the event types of members that would name another account of their organization in its place."""
    return _count(await store.list_following_organization(work.db, organization_id, in_place_of=in_place_of))


async def tell_account_disconnected(work: Work, connection_id: UUID, *, by: UUID) -> None:
    """Tell those whose event types name an account that somebody else has disconnected."""
    gone = await store.list_naming(work.db, connection_id)
    await _tell(work, [each for each in gone if each.owner_id != by], None)


async def tell_owner_left(work: Work, owner_id: UUID, *, organization_id: UUID) -> None:
    """Tell somebody who has left an organization which of their event types were paid to its account."""
    await _tell(work, await store.list_left(work.db, owner_id, organization_id), None)


async def tell_account_chosen(work: Work, event_type: EventType) -> None:
    """Tell an owner that somebody has chosen another account in their name."""
    accounts = await list_accounts(work, event_type.owner_id)
    name = next((each.name for each in accounts if each.id == event_type.payment_connection_id), None)
    await _tell(work, [store.NamingEventType(event_type.owner_id, event_type.name)], name)


def _count(named: list[store.NamingEventType]) -> Following:
    return Following(event_types=len(named), owners=len({each.owner_id for each in named}))


async def _tell(work: Work, changed: Iterable[store.NamingEventType], account: str | None) -> None:
    base_url = work.runtime.settings.public_url
    for owner_id, theirs in groupby(sorted(changed, key=lambda each: each.owner_id), key=lambda each: each.owner_id):
        names = tuple(each.name for each in theirs)
        event = PaymentAccountChanged(owner_id=owner_id, event_types=names, account=account, base_url=base_url)
        await work.record(event)
