"""What follows from what agents did: emails are sent, approvals expire, old records go."""

from datetime import timedelta

from openslot.domains.accounts.models import PRODUCT, Brand
from openslot.domains.mail import reasons
from openslot.domains.mail.models import Draft, MailAddress, MailKind, Recipient, RecipientRole
from openslot.domains.mail.operations import deliver, leave_unsent, mail_server
from openslot.domains.mail.rules import DELAYS, is_last_try
from openslot.doors.agents import budget, store
from openslot.doors.agents.approvals.operations import APPROVALS_KEPT, expire_approval, lock_expired_approvals
from openslot.doors.agents.approvals.store import delete_old_approvals, erase_approval_results
from openslot.doors.agents.audit.operations import keep_abandoned_records
from openslot.doors.agents.calls import keep_expired
from openslot.doors.agents.chat.operations import TELL_CHAT
from openslot.doors.agents.emails.operations import (
    SEND_EMAIL,
    EmailContent,
    find_agent_email,
    unsubscribe_url,
    write_letter,
)
from openslot.doors.agents.emails.store import (
    delete_old_emails,
    fail_abandoned_emails,
    fail_email,
    finish_email,
    is_opted_out,
)
from openslot.doors.agents.events import AgentEmailQueued
from openslot.doors.agents.models import AgentEmail, EmailCategory
from openslot.doors.agents.rules import Approval
from openslot.doors.mcp.approvals import RESULTS_KEPT
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, GiveUp, Outcome, Periodic, Reaction, Skipped, TryLater, Work
from openslot.platform.i18n.languages import choose_locale
from openslot.platform.jobs.batches import repeat
from openslot.platform.jobs.each import serve_each

EXPIRE = "agents.expire_approvals"


async def send_email(work: Work, effect: Effect) -> Outcome:
    """Send an agent's email; a marketing mail whose reader has unsubscribed meanwhile is not sent."""
    found = await find_agent_email(work, effect.event(AgentEmailQueued).email_id)
    if found is None:
        return Skipped(reasons.NOT_KEPT)
    email, content, locale = found
    if content is None:
        return Skipped(reasons.SENT_BEFORE)
    if email.category is EmailCategory.MARKETING and await is_opted_out(work.db, email.recipient):
        await fail_email(work.db, email.id, f"not sent: {reasons.OPTED_OUT.said}")
        return await leave_unsent(work, effect, reasons.OPTED_OUT)
    try:
        outcome = await deliver(work, effect, _write_draft(work, effect, email, content, locale), SYSTEM)
    except GiveUp as fault:
        await fail_email(work.db, email.id, str(fault))
        raise
    except TryLater as fault:
        if is_last_try(effect.attempts):
            await fail_email(work.db, email.id, str(fault))
        raise
    if not isinstance(outcome, Done):
        return outcome
    return Done(changes=(*outcome.changes, finish_email(email.id)))


def _write_draft(work: Work, effect: Effect, email: AgentEmail, content: EmailContent, locale: str | None) -> Draft:
    chosen = work.runtime.settings.mail_from
    sender = chosen.name if chosen else None
    url = unsubscribe_url(work.runtime, email.marketing_recipient_id) if email.marketing_recipient_id else None
    return Draft(
        id=effect.id,
        kind=MailKind.AGENT,
        letter=write_letter(email, content, sender=sender, unsubscribe_url=url),
        recipient=Recipient(role=RecipientRole.NONE, email=email.recipient, name=None, zone="UTC", locale=locale),
        brand=Brand(name=sender) if sender else PRODUCT,
        locale=choose_locale(locale),
        host_id=None,
        reply_to=MailAddress(content.reply_to) if content.reply_to else None,
        unsubscribe_url=url,
    )


AGENT_REACTIONS = (
    TELL_CHAT,
    Reaction(name=SEND_EMAIL, on=(AgentEmailQueued,), run=send_email, delays=DELAYS, destination=mail_server),
)


LOOKED_AT = 1000


async def give_back(work: Work) -> str:
    """Release what calls have reserved that did not finish within 10 minutes, and keep their audit records."""
    given_back = await budget.give_back_abandoned(work)
    async with work.transaction():
        recorded = await keep_abandoned_records(work, before=work.now - budget.GIVEN_BACK_AFTER)
    return f"{given_back} reservations given back, {recorded} calls without an end recorded"


async def expire_approvals(work: Work) -> str:
    """Expire approvals that nobody has decided within 15 minutes."""

    async def expire(approval: Approval) -> None:
        await expire_approval(work, approval)
        await keep_expired(work, approval)

    due = await lock_expired_approvals(work)
    served = await serve_each(work, EXPIRE, due, expire, key=lambda each: each.id)
    return f"{len(served.results)} approvals expired"


async def tidy_agents(work: Work) -> str:
    """Erase results of approved calls after a day; remove old approvals, images and email log entries."""
    before = work.now - RESULTS_KEPT
    erased = await repeat(lambda limit: erase_approval_results(work.db, before=before, limit=limit))
    old = work.now - APPROVALS_KEPT
    removed = await repeat(lambda limit: delete_old_approvals(work.db, before=old, limit=limit))
    failed = await fail_abandoned_emails(work.db, limit=LOOKED_AT)
    oldest = work.now - timedelta(days=work.runtime.settings.keep_mail_days)
    emails = await repeat(lambda limit: delete_old_emails(work.db, before=oldest, limit=limit))
    images = await repeat(lambda limit: store.delete_expired_images(work.db, now=work.now, limit=limit))
    removed_all = f"{removed} approvals, {emails} emails and {images} images removed"
    return f"{erased} results erased, {removed_all}, {failed} emails given up"


AGENT_JOBS = (
    Periodic(name=budget.GIVE_BACK, expression="* * * * *", run=give_back, transaction="none"),
    Periodic(name=EXPIRE, expression="* * * * *", run=expire_approvals),
    Periodic(name="agents.tidy", expression="4-59/5 * * * *", run=tidy_agents, transaction="none"),
)
