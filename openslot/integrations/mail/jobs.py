"""Periodic jobs of mail: abandoned mail is marked as failed, and old mail is removed."""

from datetime import timedelta

from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.integrations.mail import store
from openslot.jobs.batches import repeat

LOOKED_AT = 1000


async def tidy_mail(work: Work) -> str:
    """Close log entries of emails that are no longer tried, and remove emails past their retention."""
    failed = await store.fail_abandoned(work.db, limit=LOOKED_AT)
    before = work.now - timedelta(days=work.runtime.settings.keep_mail_days)
    removed = await repeat(lambda limit: store.delete_old(work.db, before, limit=limit))
    return f"{failed} given up, {removed} mails removed"


MAIL_JOBS = (Periodic(name="mail.tidy", expression="2-59/5 * * * *", run=tidy_mail, transaction="none"),)
