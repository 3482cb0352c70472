"""Periodic cleanup of the log, departures that no longer count, and unused invitations."""

from datetime import timedelta

from openslot.accounts.invitations import delete_old_invitations, delete_uncounted
from openslot.core.work import Periodic, Work
from openslot.jobs.batches import repeat
from openslot.people.departures import WITHIN
from openslot.people.store import delete_old_departures
from openslot.scim import store
from openslot.scim.operations import KEPT

INVITATIONS_KEPT = timedelta(days=30)


async def tidy_scim(work: Work) -> str:
    """Remove logged requests after 30 days, departures that no longer count, and old invitations."""
    requests = await repeat(lambda limit: store.delete_old_requests(work.db, before=work.now - KEPT, limit=limit))
    await repeat(lambda limit: delete_old_departures(work.db, before=work.now - WITHIN, limit=limit))
    await repeat(lambda limit: delete_uncounted(work, limit=limit))
    before = work.now - INVITATIONS_KEPT
    invitations = await repeat(lambda limit: delete_old_invitations(work, before=before, limit=limit))
    return f"{requests} logged requests, {invitations} invitations removed"


SCIM_JOBS = (Periodic(name="scim.tidy", expression="3-59/5 * * * *", run=tidy_scim, transaction="none"),)
