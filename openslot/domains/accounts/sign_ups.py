"""Sign-ups: what somebody has typed in the form, until the link in the mail opens the account."""

from datetime import timedelta
from uuid import UUID

from openslot.domains.accounts.errors import InvalidSignUpLink, SignUpDisabled
from openslot.domains.accounts.events import SignUpRequested
from openslot.domains.accounts.invitations import store
from openslot.domains.accounts.models import SignUp, UserWanted
from openslot.domains.accounts.rules import check_user
from openslot.domains.allowances.models import Cost
from openslot.domains.allowances.operations import causes_of, spend
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import fingerprint, new_id
from openslot.platform.core.work import Runtime, Work

LASTS = timedelta(hours=24)
MAX_IN_AN_HOUR = 3
PURPOSE = "sign up"


def is_open(settings: Settings) -> bool:
    return settings.sign_up == "open"


def check_open(work: Work) -> None:
    """Refuse to sign anyone up if accounts are made by invitation."""
    if not is_open(work.runtime.settings):
        raise SignUpDisabled


async def request_sign_up(work: Work, wanted: UserWanted, *, password_hash: str, browser: str) -> SignUp:
    """Keep what was typed and send the mail, in the same steps whether or not the address has an account."""
    check_open(work)
    checked = check_user(wanted)
    await spend(work, Cost.CODE, await causes_of(work, email=checked.email))
    sign_up = SignUp(
        id=new_id(),
        browser_hash=fingerprint(browser),
        email=checked.email,
        name=checked.name,
        zone=checked.zone,
        locale=checked.locale,
        password_hash=password_hash,
        created_at=work.now,
        expires_at=work.now + LASTS,
    )
    await store.insert_sign_up(work.db, sign_up, token_hash=fingerprint(sign_up_token(work.runtime, sign_up.id)))
    await work.record(SignUpRequested(sign_up_id=sign_up.id))
    return sign_up


def sign_up_url(runtime: Runtime, sign_up_id: UUID) -> str:
    """Write the address of the page that opens the account, which is the same when the mail is sent again."""
    return f"{runtime.settings.public_url}/verify/{sign_up_token(runtime, sign_up_id)}"


def sign_up_token(runtime: Runtime, sign_up_id: UUID) -> str:
    """Derive the token from the installation's key: only its hash is stored."""
    return runtime.signer.write_token(PURPOSE, sign_up_id)


async def find_sign_up(work: Work, sign_up_id: UUID) -> SignUp | None:
    return await store.find_sign_up_by_id(work.db, sign_up_id, now=work.now)


async def has_enough_mail(work: Work, sign_up: SignUp) -> bool:
    since = sign_up.created_at - timedelta(hours=1)
    return await store.count_earlier(work.db, sign_up, since=since) >= MAX_IN_AN_HOUR


async def get_sign_up(work: Work, token: str) -> SignUp:
    check_open(work)
    found = await store.find_sign_up(work.db, fingerprint(token), now=work.now)
    if found is None:
        raise InvalidSignUpLink
    return found


async def lock_sign_up(work: Work, token: str, *, email: str) -> SignUp:
    """Read the sign-up of a valid link; other uses for the same address wait, and find it used."""
    check_open(work)
    await store.lock_address(work.db, email)
    found = await store.lock_sign_up(work.db, fingerprint(token), now=work.now)
    if found is None:
        raise InvalidSignUpLink
    return found


async def forget_sign_ups(work: Work, email: str) -> None:
    await store.delete_sign_ups_of(work.db, email)
