"""Periodic cleanup of the log, departures that no longer count, and unused invitations."""

from datetime import timedelta

from openslot.accounts.invitations import WEEK
from openslot.core.work import Periodic, Work
from openslot.jobs.batches import delete_old
from openslot.people.departures import WITHIN
from openslot.scim.operations import KEPT

INVITATIONS_KEPT = timedelta(days=30)


async def tidy_scim(work: Work) -> str:
    """Remove logged requests after 30 days, departures that no longer count, and old invitations."""
    requests = await delete_old(work.db, "scim_requests", "at", before=work.now - KEPT)
    await delete_old(work.db, "departures", "at", before=work.now - WITHIN)
    await delete_old(work.db, "sent_invitations", "at", before=work.now - WEEK)
    invitations = await delete_old(work.db, "invitations", "expires_at", before=work.now - INVITATIONS_KEPT)
    return f"{requests} logged requests, {invitations} invitations removed"


SCIM_JOBS = (Periodic(name="scim.tidy", expression="3-59/5 * * * *", run=tidy_scim, transaction="none"),)
