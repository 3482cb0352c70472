"""Periodic cleanup of finished sign-ins."""

from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.integrations.oidc.store import delete_expired_finished
from openslot.jobs.batches import repeat


async def tidy_oidc(work: Work) -> str:
    """Remove finished sign-ins that have expired."""
    gone = await repeat(lambda limit: delete_expired_finished(work.db, now=work.now, limit=limit))
    return f"{gone} finished sign-ins forgotten"


OIDC_JOBS = (Periodic(name="oidc.tidy", expression="17 * * * *", run=tidy_oidc, transaction="none"),)
