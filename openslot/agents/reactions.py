"""What happens because agents did something: their emails are sent, and the team chat is told."""

from openslot.agents import email_store, emails
from openslot.agents.chat import TELL_CHAT
from openslot.agents.email_letters import EmailContent, product_brand, write_letter
from openslot.agents.emails import SEND_EMAIL
from openslot.agents.events import AgentEmailQueued
from openslot.agents.models import AgentEmail
from openslot.agents.unsubscribing import unsubscribe_url
from openslot.core.actor import SYSTEM
from openslot.core.events import Done, Effect, GiveUp, Outcome, Reaction, Skipped, TryLater
from openslot.core.work import Work
from openslot.integrations.mail.models import MailAddress, MailKind, Recipient, RecipientRole
from openslot.integrations.mail.operations import Draft, choose_locale, deliver, finish_mail, leave_unsent, mail_server
from openslot.integrations.mail.rules import DELAYS, is_last_try

OPTED_OUT = "the recipient has unsubscribed"


async def send_email(work: Work, effect: Effect) -> Outcome:
    """Send an agent's email; a marketing mail whose reader has unsubscribed meanwhile is not sent."""
    found = await emails.find_email(work, effect.event(AgentEmailQueued).email_id)
    if found is None:
        return Skipped("the email is no longer kept")
    email, content, locale = found
    if content is None:
        return Skipped("the email was sent before")
    if await emails.is_unwanted(work, email):
        await email_store.fail(work.db, email.id, f"not sent: {OPTED_OUT}")
        return await leave_unsent(work, effect, OPTED_OUT)
    try:
        outcome = await deliver(work, effect, _write_draft(work, effect, email, content, locale), SYSTEM)
    except GiveUp as fault:
        await email_store.fail(work.db, email.id, str(fault))
        raise
    except TryLater as fault:
        if is_last_try(effect.attempts):
            await email_store.fail(work.db, email.id, str(fault))
        raise
    return Done(write=lambda done: _finish(done, effect, email)) if isinstance(outcome, Done) else outcome


async def _finish(work: Work, effect: Effect, email: AgentEmail) -> None:
    await finish_mail(work, effect.id)
    await email_store.finish(work.db, email.id)


def _write_draft(work: Work, effect: Effect, email: AgentEmail, content: EmailContent, locale: str | None) -> Draft:
    chosen = work.runtime.settings.mail_from
    sender = chosen.name if chosen else None
    url = unsubscribe_url(work.runtime, email.marketing_recipient_id) if email.marketing_recipient_id else None
    return Draft(
        id=effect.id,
        kind=MailKind.AGENT,
        letter=write_letter(email, content, sender=sender, unsubscribe_url=url),
        recipient=Recipient(role=RecipientRole.NONE, email=email.recipient, name=None, zone="UTC", locale=locale),
        brand=product_brand(sender),
        locale=choose_locale(locale),
        host_id=None,
        reply_to=MailAddress(content.reply_to) if content.reply_to else None,
        unsubscribe_url=url,
    )


AGENT_REACTIONS = (
    TELL_CHAT,
    Reaction(name=SEND_EMAIL, on=(AgentEmailQueued,), run=send_email, delays=DELAYS, destination=mail_server),
)
