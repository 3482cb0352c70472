"""The verbs of feature flags: what the product asks, and what an operator or an agent changes."""

from time import monotonic
from uuid import UUID

from openslot.platform.core.db import BUSY, DOWN, Db
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work
from openslot.platform.flags import store
from openslot.platform.flags.errors import FeatureDisabled, FlagNotFound
from openslot.platform.flags.events import FlagOverrideRemoved, FlagOverrideSet, FlagToggled
from openslot.platform.flags.models import Flag, FlagForUser, FlagKey, FlagOverride, FlagValues
from openslot.platform.i18n import Text

MAX_OVERRIDES = 100
FRESH_SECONDS = 1.0


# benchmarks/caches.py: ask whether a feature is on, for which the database is read, 30 times
class FlagCache:
    """All flags of a runtime, read again at most once a second and only if they have changed."""

    def __init__(self) -> None:
        self._values = FlagValues()
        self._read_at = -FRESH_SECONDS

    async def is_enabled(self, db: Db, key: FlagKey, *, user_id: UUID | None) -> bool:
        """Return whether a flag is on for a user or, without one, for everyone; unknown flags are on."""
        await self._refresh(db)
        own = self._values.overrides.get((key, str(user_id))) if user_id else None
        return self._values.flags.get(key, True) if own is None else own

    async def _refresh(self, db: Db) -> None:
        """Read what has changed; if the database can't answer, the last known flags stay.

        The caller's own connection is used: a second one might never be free while every caller holds one and waits.
        """
        now, known = monotonic(), self._values.version
        if known is not None and now - self._read_at < FRESH_SECONDS:
            return
        # Before the statement, so that those who come meanwhile do not send it too.
        self._read_at = now
        try:
            changed = await store.read_changed(db, known)
        except (*DOWN, *BUSY):
            if known is None:
                raise
            return
        if changed is not None:
            self._values = changed


async def is_enabled(work: Work, key: FlagKey, *, user_id: UUID | None = None) -> bool:
    """Return whether a flag is on, for a user if one is given; answered from memory, at most about a second old."""
    return await work.runtime.one(FlagCache).is_enabled(work.db, key, user_id=user_id)


async def check_enabled(work: Work, key: FlagKey, *, user_id: UUID | None = None) -> None:
    if not await is_enabled(work, key, user_id=user_id):
        raise FeatureDisabled


async def list_flags(work: Work, *, search: str = "") -> list[Flag]:
    return await store.list_flags(work.db, search=search)


async def get_flag(work: Work, key: str) -> Flag:
    flag = await store.find_flag(work.db, key)
    if flag is None:
        raise FlagNotFound
    return flag


async def list_overrides(work: Work, flag: Flag) -> list[FlagOverride]:
    """List users for whom a flag is set separately, the latest 100."""
    return await store.list_overrides(work.db, flag.key, limit=MAX_OVERRIDES)


async def get_for_user(work: Work, key: str, user_id: UUID) -> FlagForUser:
    found = await store.find_for_user(work.db, key, user_id)
    if found is None:
        raise FlagNotFound
    return found


async def toggle_flag(work: Work, key: str, *, enabled: bool) -> Flag:
    """Switch a flag on or off for everyone who has no override."""
    if await store.update_flag(work.db, key, enabled=enabled, now=work.now):
        await work.record(FlagToggled(key=key, enabled=enabled))
    return await get_flag(work, key)


async def set_override(work: Work, key: str, user_id: UUID, *, enabled: bool) -> FlagForUser:
    """Set a flag for one user, whatever it is for everyone."""
    if await store.upsert_override(work.db, key, user_id, enabled=enabled, now=work.now):
        await work.record(FlagOverrideSet(key=key, user_id=user_id, enabled=enabled))
    found = await get_for_user(work, key, user_id)
    if not found.is_override:
        raise NotFound(Text("User not found"))
    return found


async def remove_override(work: Work, key: str, user_id: UUID) -> FlagForUser:
    """Let a flag be for one user what it is for everyone."""
    is_removed = await store.delete_override(work.db, key, user_id)
    found = await get_for_user(work, key, user_id)
    if is_removed:
        await work.record(FlagOverrideRemoved(key=key, user_id=user_id, enabled=found.enabled))
    return found
