"""The flags in a process's memory: checking one costs no statement, and a change is seen within a second."""

from time import monotonic
from uuid import UUID

from openfeature.evaluation_context import EvaluationContext

from openslot.core.db import BUSY, DOWN, Db
from openslot.flags import store
from openslot.flags.models import FlagKey
from openslot.flags.provider import FlagClient, FlagProvider

FRESH_SECONDS = 1.0


class FlagCache:
    """All flags of a runtime, read again at most once a second and only if they have changed."""

    def __init__(self) -> None:
        self.provider = FlagProvider()
        self.client = FlagClient(self.provider)
        self._read_at = -FRESH_SECONDS

    async def is_enabled(self, db: Db, key: FlagKey, *, user_id: UUID | None) -> bool:
        """Ask OpenFeature whether a flag is on for a user or, without one, for everyone; unknown flags are on."""
        await self._refresh(db)
        return self.client.get_boolean_value(key, True, EvaluationContext(str(user_id) if user_id else None))

    async def _refresh(self, db: Db) -> None:
        """Read what has changed; if the database can't answer, the last known flags stay.

        The caller's own connection is used: a second one might never be free while every caller holds one and waits.
        """
        now = monotonic()
        if self.provider.values is not None and now - self._read_at < FRESH_SECONDS:
            return
        # Before the statement, so that those who come meanwhile do not send it too.
        self._read_at = now
        known = self.provider.values.version if self.provider.values else None
        try:
            changed = await store.read_changed(db, known)
        except (*DOWN, *BUSY):
            if known is None:
                raise
            return
        if changed is not None:
            self.provider.values = changed
