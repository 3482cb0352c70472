"""The four ways in which a flag can be set for a user, and what follows from each."""

import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.flags import operations as flags
from openslot.platform.flags.models import FlagKey

# What the flag is for everyone, what it is for the user alone, and whether the feature is there for the user.
SWITCHED = pytest.mark.parametrize(
    ("everyone", "own", "works"),
    [(True, None, True), (False, None, False), (False, True, True), (True, False, False)],
    ids=["on", "off", "off but on for the user", "on but off for the user"],
)


async def switch(runtime: Runtime, key: FlagKey, user: User, *, everyone: bool, own: bool | None) -> None:
    """Set a flag for everyone and, if it differs, for one user."""
    async with runtime.transaction(OPERATOR) as work:
        await flags.toggle_flag(work, key, enabled=everyone)
        if own is not None:
            await flags.set_override(work, key, user.id, enabled=own)
