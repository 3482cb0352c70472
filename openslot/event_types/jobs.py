"""Periodic jobs: private tokens that an earlier release has stored in the clear are sealed."""

from openslot.core import migrate
from openslot.core.actor import SYSTEM
from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.event_types import operations
from openslot.jobs.batches import repeat

# Processes of the previous release can only read tokens in the clear.
MIGRATION = "0022_found_in_clear.sql"


async def seal_tokens(work: Work) -> str:
    """Encrypt private tokens that 0.1.0 stored in the clear, starting a day after the upgrade."""
    if not await migrate.is_rollout_over(work.db, MIGRATION, now=work.now):
        return "waiting for the end of the rollout"

    async def seal(limit: int) -> int:
        async with work.runtime.transaction(SYSTEM) as batch:
            return await operations.seal_tokens_in_clear(batch, limit=limit)

    return f"{await repeat(seal)} private tokens sealed"


EVENT_TYPE_JOBS = (
    Periodic(name="event_types.seal_tokens", expression="6 * * * *", run=seal_tokens, transaction="none"),
)
