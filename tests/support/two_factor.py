"""What tests of the second factor share: a host whose password is quick to check, sessions, and codes of an app."""

from uuid import UUID

from msgspec import Struct

from openslot.domains.access.two_factor import operations as two_factor
from openslot.domains.access.two_factor.operations import code_at, step_of
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work
from tests.support.passwords import CHEAP, PASSWORD

# Verified like any other, in less time.


class App(Struct, frozen=True):
    """An authenticator app that has a user's secret, and the recovery codes on paper."""

    secret: str
    recovery_codes: tuple[str, ...]

    def code(self, runtime: Runtime, *, later: int = 0) -> str:
        """Read the code of the present step, or of one that is so many steps later."""
        return code_at(self.secret, step_of(runtime.clock()) + later)


async def add_host(runtime: Runtime, name: str = "ines") -> User:
    """Add someone whose password is cheap to check."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(
            email=f"{name}@lindqvist.example", name=name.title(), username=name, plan=Plan.PRO, locale="en"
        )
        return await people.welcome_user(work, wanted, password_hash=CHEAP.hash(PASSWORD))


def in_session(runtime: Runtime, user: User, session_id: UUID | None = None) -> Work:
    """Begin work as someone who has signed in."""
    return runtime.work(Actor(kind=ActorKind.SESSION, user_id=user.id, credential_id=session_id or new_id()))


async def turn_on(runtime: Runtime, user: User) -> App:
    """Turn two-factor authentication on; no code is used up yet."""
    work = in_session(runtime, user)
    await two_factor.begin_two_factor_setup(work, user, password=PASSWORD)
    secret = await two_factor.get_two_factor_secret(work, user)
    codes = await two_factor.confirm_two_factor_setup(work, user, code=App(secret, ()).code(runtime))
    await forget_steps(runtime)
    return App(secret, codes)


async def forget_steps(runtime: Runtime) -> None:
    """Let every code be used again."""
    await runtime.pool.execute("update authenticators set last_step = 0")
