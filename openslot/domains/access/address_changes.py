"""A user's own change of the email address: password first, then a link that is sent to the new address."""

from datetime import timedelta
from uuid import UUID

from openslot.domains.access.errors import EmailChangeLimitExceeded, InvalidEmailLink, PasswordChanged, PasswordRequired
from openslot.domains.access.events import AddressChangeRequested
from openslot.domains.access.models import AddressChange, SignedIn
from openslot.domains.access.operations import confirm_password, let_in_verified
from openslot.domains.access.resets import store
from openslot.domains.access.store import delete_sessions_of
from openslot.domains.access.two_factor.operations import confirm_second_factor
from openslot.domains.access.two_factor.store import delete_pending_of, lock_user
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import check_own_address, get_user, replace_address
from openslot.domains.accounts.sign_ups import forget_sign_ups
from openslot.domains.accounts.store import find_password_hash, lock_host
from openslot.domains.allowances.models import Cost
from openslot.domains.allowances.operations import causes_of, spend
from openslot.platform.core.errors import Invalid, Unauthorized
from openslot.platform.core.ids import fingerprint, new_id
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text

LASTS = timedelta(hours=24)
MAX_IN_AN_HOUR = 3
MAX_IN_A_DAY = 10
PURPOSE = "address change"
PATH = "/account/email"
SAME = Text("is already your address")


async def request_change(work: Work, user: User, email: str, *, password: str, code: str) -> None:
    """Ask for another address, in the same steps whether or not it has an account; the last request counts.

    No connection is held while the password is checked.
    """
    await check_own_address(work, user)
    if fold_ascii(email) == fold_ascii(user.email):
        raise Invalid(details={"email": SAME})
    stored = await find_password_hash(work.db, user.id)
    if stored is None:
        raise PasswordRequired
    await confirm_password(work, user, password)
    await confirm_second_factor(work, user, code)
    change = AddressChange(id=new_id(), user_id=user.id, email=email, expires_at=work.now + LASTS)
    token_hash = fingerprint(change_token(work.runtime, change.id))
    async with work.transaction():
        in_an_hour, in_a_day = await store.count_recent(work.db, user.id, now=work.now)
        if in_an_hour >= MAX_IN_AN_HOUR or in_a_day >= MAX_IN_A_DAY:
            raise EmailChangeLimitExceeded
        await spend(work, Cost.CODE, await causes_of(work, email=email))
        await store.end_changes(work.db, user.id, now=work.now)
        if not await store.insert_change(
            work.db, change, user, token_hash=token_hash, password_hash=stored, now=work.now
        ):
            raise PasswordChanged
        await work.record(AddressChangeRequested(user_id=user.id, email=user.email, change_id=change.id))


def change_token(runtime: Runtime, change_id: UUID) -> str:
    """Derive the token from the installation's key: only its hash is stored."""
    return runtime.signer.write_token(PURPOSE, change_id)


def change_url(runtime: Runtime, change_id: UUID) -> str:
    """Write the address of the page that confirms, which is the same when the mail is sent again."""
    return f"{runtime.settings.public_url}{PATH}/{change_token(runtime, change_id)}"


async def find_change(work: Work, change_id: UUID) -> AddressChange | None:
    return await store.find_change(work.db, change_id, now=work.now)


async def find_own_change(work: Work, user: User) -> AddressChange | None:
    return await store.find_change_of(work.db, user.id, now=work.now)


async def withdraw_change(work: Work, user: User) -> None:
    await store.end_changes(work.db, user.id, now=work.now)


async def get_change(work: Work, user: User, token: str) -> AddressChange:
    change = await store.find_change_by_link(work.db, fingerprint(token), user.id, now=work.now)
    if change is None:
        raise InvalidEmailLink
    return change


async def confirm_change(work: Work, user: User, token: str, *, user_agent: str) -> SignedIn:
    """Give the account its new address: other sessions, links and open invitations end, and API keys stay.

    Only the user's own session can do it: an address that was mistyped belongs to a stranger, who reads the link. Of
    two concurrent uses one is refused.
    """
    async with work.transaction():
        # Before the user's row, as identity providers do: whether one of them manages the address holds until then.
        await lock_host(work.db, user.id)
        await lock_user(work.db, user.id)
        change = await get_change(work, user, token)
        current = await get_user(work, user.id)
        await check_own_address(work, current)
        await replace_address(work, current, change.email)
        await store.end_changes(work.db, user.id, now=work.now)
        await store.delete_resets_of(work.db, user.id)
        await delete_pending_of(work.db, user.id)
        await forget_sign_ups(work, change.email)
        if work.actor.credential_id not in await delete_sessions_of(work.db, user.id):
            raise Unauthorized
        stored = await find_password_hash(work.db, user.id)
        renewed = await get_user(work, user.id)
        return await let_in_verified(work, renewed, password_hash=stored, user_agent=user_agent)
