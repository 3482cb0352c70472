"""There is always an administrator who can sign in."""

from openslot.accounts import store
from openslot.accounts.errors import LastAdministrator
from openslot.accounts.models import User
from openslot.core.work import Work


async def check_another_admin(work: Work, user: User) -> None:
    """Refuse to lose the last administrator who can sign in."""
    if await store.lock_administrators(work.db) == {user.id}:
        raise LastAdministrator
