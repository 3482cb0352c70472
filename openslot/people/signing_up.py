"""Opening the account of somebody who has signed up and verified the email address."""

from openslot.access import operations as access
from openslot.access.errors import WrongPassword
from openslot.access.models import SecondFactorNeeded, SignedIn
from openslot.access.passwords import STRANGERS, check_password, hash_password, is_password
from openslot.access.tries import by_stranger, counted
from openslot.accounts import sign_ups
from openslot.accounts.events import SignUpVerified
from openslot.accounts.models import SignUp, UserWanted
from openslot.accounts.rules import check_user
from openslot.core.secrets import fingerprint
from openslot.core.work import Work
from openslot.people.operations import welcome


async def sign_up(work: Work, wanted: UserWanted, *, password: str, browser: str) -> None:
    """Keep what was typed until the link in the mail is used; no connection is held while the password is hashed."""
    sign_ups.check_open(work)
    check_user(wanted)
    check_password(password)
    password_hash = await hash_password(password, STRANGERS)
    async with work.transaction():
        await sign_ups.request_sign_up(work, wanted, password_hash=password_hash, browser=browser)


def is_same_browser(sign_up: SignUp, browser: str) -> bool:
    """Return whether this browser has sent the form."""
    return bool(browser) and fingerprint(browser) == sign_up.browser_hash


async def verify(
    work: Work, token: str, *, browser: str, password: str, address: str, user_agent: str
) -> SignedIn | SecondFactorNeeded:
    """Open the account of a valid link and sign its owner in; the link is used up.

    In another browser than the one that sent the form, the chosen password is asked for: otherwise somebody could sign
    up with another person's address, let that person use the link, and sign in with the password.
    """
    found = await sign_ups.get_sign_up(work, token)
    if not is_same_browser(found, browser):
        async with counted(work, by_stranger(f"sign-up {found.id}", address)):
            if not await is_password(password, found.password_hash, STRANGERS):
                raise WrongPassword
    async with work.transaction():
        found = await sign_ups.lock_sign_up(work, token, email=found.email)
        wanted = UserWanted(email=found.email, name=found.name, zone=found.zone, locale=found.locale)
        user = await welcome(work, wanted, password_hash=found.password_hash)
        await work.record(SignUpVerified(user_id=user.id, email=user.email, sign_up_id=found.id))
        await sign_ups.forget_sign_ups(work, found.email)
        return await access.let_in(work, user, password_hash=found.password_hash, user_agent=user_agent)
