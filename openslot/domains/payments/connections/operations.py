"""The verbs that connect and disconnect an account of a payment provider."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import Organization, User
from openslot.domains.bookings.errors import PaymentUnavailable
from openslot.domains.event_types.accounts.operations import (
    Following,
    count_following_organization,
    count_following_own,
    follow_organization,
    follow_own,
    tell_account_disconnected,
)
from openslot.domains.event_types.models import PaymentAccount
from openslot.domains.payments import operations
from openslot.domains.payments.connections import store
from openslot.domains.payments.connections.accounts import (
    can_be_notified,
    describe_fault,
    notice_url,
    opened_by_key,
    opened_payment_account,
)
from openslot.domains.payments.connections.events import PaymentKeyReplaced, PaymentsConnected, PaymentsDisconnected
from openslot.domains.payments.errors import (
    FollowingChanged,
    PaymentConnectionChanged,
    PaymentsNotConnected,
    PaymentsUnderWay,
)
from openslot.domains.payments.models import (
    ConnectionEnding,
    ConnectionPreview,
    ConnectionWanted,
    KeyCheck,
    KeyRight,
    PaymentConnection,
    PaymentStep,
)
from openslot.domains.payments.ports import Checkout, CheckoutFault, CheckoutRefused, KeyRefused, RightMissing
from openslot.platform.core.errors import Invalid
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.sealing import seal
from openslot.platform.core.work import Done, GiveUp, Outcome, Skipped, TryLater, Work
from openslot.platform.i18n import CodedReason, Text

REGISTER = "payments.register_endpoint"
ENDING = 4
NO_KEY = Text("must be a restricted or secret key, which begins with rk_ or sk_")
REFUSED = Text("was refused by Stripe. Check that all of it was copied, or create a new one")
LACKS = Text("lacks these permissions: %(rights)s. Edit the key in Stripe, then try again")
NOT_CHECKED = Text("could not be checked (%(reason)s). Try again in a minute")
NO_SECRET = Text("must begin with whsec_")

AccountOwner = User | Organization


class AccountReplacement(Struct, frozen=True, kw_only=True):
    """What it changes that an account takes the place of another one, which is asked first."""

    in_place_of: UUID
    following: Following
    upcoming: int
    """Paid bookings that are not over: they can then be refunded only with the provider."""


class CheckedAccount(Struct, frozen=True, kw_only=True):
    """An account whose key was checked, and the connection in whose place it comes."""

    wanted: ConnectionWanted
    found: KeyCheck
    known: PaymentConnection | None
    is_same: bool
    """Whether the known connection is to the same account, and gets another key."""
    replacement: AccountReplacement | None
    """The replacement to be confirmed first; None if no other account is replaced."""

    @property
    def name(self) -> str:
        """The account's name as people know it."""
        return _name(self.found.account_name, self.found.account_id, self.wanted.key[-ENDING:])


async def check_payment_account(work: Work, owner: AccountOwner, wanted: ConnectionWanted) -> CheckedAccount:
    """Ask the provider what a key may do, and refuse one that can't do all that is needed; begins no transaction."""
    if wanted.notice_secret is not None and not wanted.notice_secret.startswith("whsec_"):
        raise Invalid(details={"noticeSecret": NO_SECRET})
    known = await store.find_of_owner(work.db, owner.id)
    try:
        async with opened_by_key(work.runtime, owner.id, wanted.key) as checkout:
            found = await _check_rights(work, checkout, wanted)
            is_same = known is not None and await _is_same(work, checkout, known, found)
    except KeyRefused:
        raise Invalid(details={"key": NO_KEY}) from None
    except CheckoutFault as fault:
        raise Invalid(details={"key": NOT_CHECKED.fill(reason=describe_fault(fault))}) from None
    replacement = None if known is None or is_same else await preview_replacement(work, owner, known)
    return CheckedAccount(wanted=wanted, found=found, known=known, is_same=is_same, replacement=replacement)


async def preview_replacement(work: Work, owner: AccountOwner, known: PaymentConnection) -> AccountReplacement:
    """Say what follows if another account takes the place of the connected one; refuse while somebody pays to it."""
    left = await store.preview(work.db, known.id, now=work.now)
    if left.under_way:
        raise PaymentsUnderWay
    if isinstance(owner, User):
        following = await count_following_own(work, owner.id)
    else:
        following = await count_following_organization(work, owner.id, in_place_of=known.id)
    return AccountReplacement(in_place_of=known.id, following=following, upcoming=left.upcoming)


async def connect_payment_account(work: Work, owner: AccountOwner, account: CheckedAccount) -> PaymentConnection:
    """Keep an account that was checked: with its new key if it was connected before, or in the place of another one.

    Refuse if another connection is replaced, or other event types follow, than the check has found.
    """
    await store.lock_owner(work.db, owner.id)
    known = await store.find_of_owner(work.db, owner.id)
    if (known and known.id) != (account.known and account.known.id):
        raise PaymentConnectionChanged
    if known is not None and account.is_same:
        connection = await _replace_key(work, known, account)
    else:
        if known is not None:
            await _end(work, known)
        connection = await _insert(work, owner, account)
        following = await _name_in_event_types(work, owner, connection, in_place_of=known)
        if account.replacement is not None and account.replacement.following != following:
            raise FollowingChanged
    if connection.notice_secret is None and can_be_notified(work.runtime.settings):
        await work.plan(
            REGISTER,
            str(connection.id),
            due_at=work.now,
            payload=connection.id,
            tenant_id=connection.user_id,
            target=str(connection.id),
        )
    return connection


async def get_payment_connection(work: Work, owner: AccountOwner) -> PaymentConnection:
    """Read the connection of a user or an organization itself."""
    found = await find_payment_connection(work, owner)
    if found is None:
        raise PaymentsNotConnected
    return found


async def find_payment_connection(work: Work, owner: AccountOwner) -> PaymentConnection | None:
    return await store.find_of_owner(work.db, owner.id)


async def preview_payment_disconnection(work: Work, connection: PaymentConnection) -> ConnectionPreview:
    return await store.preview(work.db, connection.id, now=work.now)


async def end_open_checkouts(work: Work, connection: PaymentConnection) -> bool:
    """Let nobody pay any more for what is open, and free its times; begins no transaction.

    Return whether some must be left open, because the provider takes the key no longer: their times are freed when the
    checkouts are over.
    """
    for booking_id in await store.list_under_way(work.db, connection.id):
        try:
            await operations.end_checkout(work.runtime, booking_id)
        except PaymentUnavailable:
            if await _is_key_refused(work, connection):
                return True
            raise PaymentsUnderWay from None
    return False


async def _is_key_refused(work: Work, connection: PaymentConnection) -> bool:
    try:
        async with opened_payment_account(work.runtime, connection) as checkout:
            await checkout.check_key()
    except KeyRefused:
        return True
    except CheckoutFault:
        return False
    return False


async def disconnect_payment_account(work: Work, owner: AccountOwner, *, leaves_open: bool) -> PaymentConnection:
    """Delete a connection's key and let its endpoint be removed; first `end_open_checkouts` says what it leaves."""
    await store.lock_owner(work.db, owner.id)
    connection = await get_payment_connection(work, owner)
    await _end(work, connection, leaves_open=leaves_open)
    await tell_account_disconnected(work, connection.id, by=owner.id)
    return connection


REGISTERED = CodedReason(
    "payments.registered", "it is no longer needed", said="the connection is gone, or has an endpoint"
)


async def register_endpoint(work: Work, effect: Effect) -> Outcome:
    """Ask the provider to tell what happens; until it does, and wherever it can't, it is only read."""
    connection = await store.find_stored_connection(work.db, effect.plan(UUID))
    if connection is None or connection.key is None or connection.notice_secret is not None:
        return Skipped(REGISTERED)
    url = notice_url(work.runtime.settings, connection.id)
    try:
        async with opened_payment_account(work.runtime, connection) as checkout:
            endpoint = await checkout.register_endpoint(url, PaymentStep(connection.id, "endpoint"))
    except (KeyRefused, RightMissing, CheckoutRefused) as fault:
        raise GiveUp(str(fault), answered=True) from None
    except CheckoutFault as fault:
        raise TryLater(str(fault)) from None

    async def keep(work: Work) -> None:
        secret = await seal(work, endpoint.secret)
        if not await store.keep_endpoint(work.db, connection.id, endpoint.id, secret):
            await _keep_ending(work, replace(connection, endpoint_id=endpoint.id))

    return Done(vendor_id=endpoint.id, write=keep)


async def _check_rights(work: Work, checkout: Checkout, wanted: ConnectionWanted) -> KeyCheck:
    try:
        found = await checkout.check_key()
    except KeyRefused:
        raise Invalid(details={"key": REFUSED}) from None
    needs_endpoint = wanted.notice_secret is None and can_be_notified(work.runtime.settings)
    missing = [each for each in found.missing if needs_endpoint or each is not KeyRight.ENDPOINTS]
    if missing:
        raise Invalid(details={"key": LACKS.fill(rights=", ".join(missing))})
    return found


async def _is_same(work: Work, checkout: Checkout, known: PaymentConnection, found: KeyCheck) -> bool:
    """Tell whether a key is of the account that is connected; if it may not say so, by a payment that it knows."""
    if known.mode is not found.mode:
        return False
    if known.account_id and found.account_id:
        return known.account_id == found.account_id
    session_id = await store.find_newest_session(work.db, known.id)
    if session_id is None:
        # Nothing was paid, so nothing is lost; an endpoint that somebody has registered by hand keeps its address.
        return known.endpoint_id is None and known.account_id is None
    try:
        await checkout.get_session(session_id)
    except CheckoutRefused:
        return False
    return True


async def _replace_key(work: Work, known: PaymentConnection, account: CheckedAccount) -> PaymentConnection:
    wanted, found = account.wanted, account.found
    if wanted.notice_secret is not None and known.endpoint_id is not None:
        await _keep_ending(work, known)
    changed = replace(
        known,
        key=await seal(work, wanted.key),
        key_ending=wanted.key[-ENDING:],
        notice_secret=await seal(work, wanted.notice_secret) if wanted.notice_secret else known.notice_secret,
        endpoint_id=None if wanted.notice_secret else known.endpoint_id,
        account_id=found.account_id or known.account_id,
        account_name=found.account_name or known.account_name,
        last_error=None,
        failing_since=None,
        told_at=None,
    )
    await store.update(work.db, changed)
    await work.record(PaymentKeyReplaced(**tell(changed)))
    return changed


async def _insert(work: Work, owner: AccountOwner, account: CheckedAccount) -> PaymentConnection:
    wanted, found = account.wanted, account.found
    connection = PaymentConnection(
        id=new_id(),
        user_id=owner.id if isinstance(owner, User) else None,
        organization_id=owner.id if isinstance(owner, Organization) else None,
        mode=found.mode,
        key=await seal(work, wanted.key),
        key_ending=wanted.key[-ENDING:],
        notice_secret=await seal(work, wanted.notice_secret) if wanted.notice_secret else None,
        account_id=found.account_id,
        account_name=found.account_name,
        read_until=work.now - timedelta(minutes=1),
        connected_at=work.now,
    )
    await store.insert(work.db, connection)
    await work.record(PaymentsConnected(**tell(connection)))
    return connection


async def _name_in_event_types(
    work: Work, owner: AccountOwner, connection: PaymentConnection, *, in_place_of: PaymentConnection | None
) -> Following:
    """Let event types name this account: the owner's own, and members' that name the one that it replaces."""
    account = PaymentAccount(id=connection.id, name=name_payment_account(connection))
    if isinstance(owner, User):
        return await follow_own(work, account, owner.id)
    if in_place_of is not None:
        return await follow_organization(work, account, owner.id, in_place_of=in_place_of.id)
    return Following()


async def _end(work: Work, connection: PaymentConnection, *, leaves_open: bool = False) -> None:
    if not leaves_open and (await store.preview(work.db, connection.id, now=work.now)).under_way:
        raise PaymentsUnderWay
    if connection.endpoint_id is not None:
        await _keep_ending(work, connection)
    ended = replace(connection, key=None, notice_secret=None, endpoint_id=None, disconnected_at=work.now)
    await store.update(work.db, ended)
    await work.record(PaymentsDisconnected(**tell(connection)))


async def _keep_ending(work: Work, connection: PaymentConnection) -> None:
    """Let the endpoint be removed with the key that registered it."""
    if connection.key is None:
        return
    ending = ConnectionEnding(
        id=new_id(),
        behalf_of=connection.owner_id,
        key=connection.key,
        endpoint_id=connection.endpoint_id,
        ended_at=work.now,
    )
    await store.insert_ending(work.db, ending)


def name_payment_account(connection: PaymentConnection) -> str:
    """Name an account as people know it."""
    return _name(connection.account_name, connection.account_id, connection.key_ending)


def _name(account_name: str | None, account_id: str | None, key_ending: str) -> str:
    return account_name or account_id or f"…{key_ending}"


def tell(connection: PaymentConnection) -> dict[str, Any]:
    """Say what every event tells of a connection."""
    return {name: getattr(connection, name) for name in ("user_id", "organization_id", "mode", "account_name")} | {
        "connection_id": connection.id
    }
