"""Periodic jobs of the tool server: reservations are given back, approvals expire, and old records are removed."""

from datetime import timedelta

from openslot.agents import approval_store, approvals, budget, email_store
from openslot.agents.approval_rules import RESULTS_KEPT
from openslot.agents.deciding import keep_expired
from openslot.core.events import Periodic
from openslot.core.work import Work
from openslot.jobs.batches import repeat

LOOKED_AT = 1000


async def give_back(work: Work) -> str:
    """Release what calls have reserved that did not finish within 10 minutes."""
    return f"{await budget.give_back_abandoned(work)} reservations given back"


async def expire_approvals(work: Work) -> str:
    """Expire approvals that nobody has decided within 15 minutes."""
    expired = await approvals.expire(work)
    await keep_expired(work, expired)
    return f"{len(expired)} approvals expired"


async def tidy_agents(work: Work) -> str:
    """Erase results of approved calls after a day, remove old approvals, and close and remove old email log entries."""
    before = work.now - RESULTS_KEPT
    erased = await repeat(lambda limit: approval_store.erase_results(work.db, before=before, limit=limit))
    old = work.now - approvals.KEPT
    removed = await repeat(lambda limit: approval_store.delete_old(work.db, before=old, limit=limit))
    failed = await email_store.fail_abandoned(work.db, limit=LOOKED_AT)
    oldest = work.now - timedelta(days=work.runtime.settings.keep_mail_days)
    emails = await repeat(lambda limit: email_store.delete_old(work.db, before=oldest, limit=limit))
    return f"{erased} results erased, {removed} approvals and {emails} emails removed, {failed} emails given up"


AGENT_JOBS = (
    Periodic(name="agents.give_back", expression="* * * * *", run=give_back, transaction="none"),
    Periodic(name="agents.expire_approvals", expression="* * * * *", run=expire_approvals),
    Periodic(name="agents.tidy", expression="4-59/5 * * * *", run=tidy_agents, transaction="none"),
)
