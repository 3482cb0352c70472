"""Periodic jobs: links that an earlier release has stored in the clear are removed."""

from openslot.bookings import store
from openslot.core import migrate
from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.jobs.batches import repeat

# Workers of the previous release send facts as they are stored.
MIGRATION = "0022_found_in_clear.sql"


async def remove_links(work: Work) -> str:
    """Remove manage links and private tokens that 0.1.0 stored in events, starting a day after the upgrade."""
    if not await migrate.is_rollout_over(work.db, MIGRATION, now=work.now):
        return "waiting for the end of the rollout"
    facts = await repeat(lambda limit: store.remove_links(work.db, limit=limit))
    return f"links removed from {facts} facts"


BOOKING_JOBS = (Periodic(name="bookings.remove_links", expression="7 * * * *", run=remove_links, transaction="none"),)
