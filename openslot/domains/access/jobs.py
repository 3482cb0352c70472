"""Periodic cleanup of old logs, kept answers, wrong passwords and expired sessions."""

from datetime import timedelta
from functools import partial

from openslot.domains.access.idempotency import delete_old_responses
from openslot.domains.access.limits.store import FORGOTTEN_AFTER, forget_old_logs
from openslot.domains.access.models import CredentialKind
from openslot.domains.access.store import delete_expired_setup_links, keep_uses
from openslot.platform.core.work import Periodic, Work
from openslot.platform.jobs.batches import BATCH, Batch, delete_old, repeat, walk

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


async def tidy_access(work: Work) -> str:
    """Save when credentials were last used, and remove what can't be used any more."""
    for kind in CredentialKind:
        await walk(partial(_keep_uses, work, kind), "")
    logs = await walk(partial(_forget_logs, work), "")
    answers = await repeat(lambda limit: delete_old_responses(work.db, now=work.now, limit=limit))
    sessions = await delete_old(work.db, "sessions", "expires_at", before=work.now)
    await delete_old(work.db, "wrong_passwords", "failed_at", before=work.now - FORGOTTEN_AFTER, key="subject")
    # For a day they count for the limit of an account.
    for table in ("password_resets", "address_changes"):
        await delete_old(work.db, table, "expires_at", before=work.now - DAY)
    # For an hour they count for the limit of their recipient.
    await delete_old(work.db, "email_codes", "expires_at", before=work.now - HOUR)
    for table in ("sign_ups", "pending_sign_ins"):
        await delete_old(work.db, table, "expires_at", before=work.now)
    await delete_expired_setup_links(work.db, now=work.now)
    return f"{logs} limit logs, {answers} kept answers, {sessions} sessions removed"


async def _keep_uses(work: Work, kind: CredentialKind, behind: str) -> Batch[str]:
    return Batch(*await keep_uses(work.db, kind, behind=behind, limit=BATCH))


async def _forget_logs(work: Work, behind: str) -> Batch[str]:
    return Batch(*await forget_old_logs(work.db, behind=behind, limit=BATCH))


ACCESS_JOBS = (Periodic(name="access.tidy", expression="2-59/5 * * * *", run=tidy_access, transaction="none"),)
