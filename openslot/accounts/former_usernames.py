"""Former usernames: reserved for their owner for a time, and their links lead to the current one."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from openslot.accounts import profile_store as store
from openslot.accounts.errors import TooManyUsernames, UsernameNotReserved
from openslot.accounts.models import FormerUsername, User
from openslot.accounts.usernames import SHAPE
from openslot.core.errors import NotFound
from openslot.core.text import is_line
from openslot.core.work import Periodic, Work
from openslot.jobs.batches import repeat

RESERVED_DAYS = 180
"""How long a name is reserved; the database does it (`reserve_username` in 0065)."""
MAX_RESERVED = 10

Found = TypeVar("Found")


async def find_current_username(work: Work, former: str) -> str | None:
    """Find the username to which links with a former one lead; what can't be a username costs no statement."""
    name = former.lower()
    if not SHAPE.fullmatch(name):
        return None
    return await store.find_current(work.db, name, now=work.now)


async def follow(work: Work, username: str, read: Callable[[str], Awaitable[Found]]) -> Found:
    """Read what a username names, or if nothing is found, what the name to which it leads names."""
    try:
        return await read(username)
    except NotFound:
        current = await find_current_username(work, username)
        if current is None:
            raise
    return await read(current)


async def list_former_usernames(work: Work, user: User) -> list[FormerUsername]:
    """Read the names that are reserved for a user, the latest first."""
    return await store.list_of_user(work.db, user.id, now=work.now)


async def set_leads(work: Work, user: User, name: str, *, leads: bool) -> None:
    """Choose whether links with a former name lead to the user's page; the name stays reserved."""
    if not is_line(name) or not await store.update_leads(work.db, user.id, name, leads=leads, now=work.now):
        raise UsernameNotReserved


async def check_may_reserve(work: Work, user: User) -> None:
    """Refuse to reserve more names for a user than allowed; runs after the change, which holds the user's row."""
    if await store.count_of_user(work.db, user.id, now=work.now) > MAX_RESERVED:
        raise TooManyUsernames


async def forget_expired(work: Work) -> str:
    """Remove names whose reservation has ended."""
    gone = await repeat(lambda limit: store.delete_expired(work.db, now=work.now, limit=limit))
    return f"{gone} former usernames are free"


ACCOUNT_JOBS = (
    Periodic(name="accounts.former_usernames", expression="23 3 * * *", run=forget_expired, transaction="none"),
)
