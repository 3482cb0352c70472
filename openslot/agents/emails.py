"""Email by agents: checked, counted under a lock, logged, and sent by an effect of the same transaction."""

from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.agents import email_rules as rules
from openslot.agents import email_store as store
from openslot.agents.email_letters import EmailContent
from openslot.agents.events import AgentEmailQueued
from openslot.agents.models import AgentEmail, EmailCategory, ToolCall
from openslot.core.ids import new_id
from openslot.core.work import Work
from openslot.integrations.mail import operations as mail

SEND_EMAIL = "agents.send_email"
CONTENT = "agent email"


class EmailWanted(Struct, frozen=True, kw_only=True):
    """An email that an agent wants to send."""

    category: EmailCategory
    to: str
    subject: str
    content: EmailContent


async def check_email(work: Work, call: ToolCall, wanted: EmailWanted) -> None:
    """Refuse an email that the agent may not send now; nothing is locked, so `send_email` checks again."""
    agent = call.caller.agent
    await _check_recipient(work, call, wanted)
    if wanted.category is EmailCategory.MARKETING and await store.is_opted_out(work.db, wanted.to):
        raise _opted_out()
    sent_at = await store.list_sent(work.db, agent.slug, since=rules.counted_since(work.now))
    rules.check_limits(agent.email_level, sent_at, now=work.now)


async def send_email(work: Work, call: ToolCall, wanted: EmailWanted) -> AgentEmail:
    """Send an email when this transaction is committed."""
    agent = call.caller.agent
    await _check_recipient(work, call, wanted)
    await store.lock_sender(work.db, agent.slug)
    sent_at = await store.list_sent(work.db, agent.slug, since=rules.counted_since(work.now))
    rules.check_limits(agent.email_level, sent_at, now=work.now)
    is_marketing = wanted.category is EmailCategory.MARKETING
    email = AgentEmail(
        id=new_id(),
        at=work.now,
        agent=agent.slug,
        category=wanted.category,
        recipient=wanted.to,
        subject=wanted.subject,
        opt_out_checked=is_marketing,
        cost_micros=int(work.runtime.settings.agent_email_cost),
        audit_id=call.id,
        marketing_recipient_id=await _get_marketing_recipient(work, wanted.to) if is_marketing else None,
    )
    sealed = work.runtime.cipher.seal(CONTENT, msgspec.json.encode(wanted.content), owner=email.id.bytes)
    await store.insert(work.db, email, sealed)
    await work.record(AgentEmailQueued(email_id=email.id, agent=email.agent, category=email.category))
    effect_id = await store.find_effect(work.db, email.id, reaction=SEND_EMAIL)
    message_id = mail.name_message(work.runtime, effect_id)
    await store.keep_effect(work.db, email.id, effect_id, message_id)
    return msgspec.structs.replace(email, message_id=message_id)


async def find_email(work: Work, email_id: UUID) -> tuple[AgentEmail, EmailContent | None, str | None] | None:
    """Look up an email with its content, unless that is erased, and its reader's language, if it is known."""
    found = await store.find_email(work.db, email_id)
    if found is None:
        return None
    email, sealed, locale = found
    if sealed is None:
        return email, None, locale
    content = work.runtime.cipher.open(CONTENT, sealed, owner=email_id.bytes)
    return email, msgspec.json.decode(content, type=EmailContent), locale


async def is_unwanted(work: Work, email: AgentEmail) -> bool:
    """Return whether the recipient of a marketing mail has unsubscribed since it was queued."""
    return email.category is EmailCategory.MARKETING and await store.is_opted_out(work.db, email.recipient)


async def list_emails(work: Work, *, agent: str | None, limit: int) -> list[AgentEmail]:
    """List the emails that agents have sent, newest first."""
    return await store.list_emails(work.db, agent=agent, limit=limit)


async def _check_recipient(work: Work, call: ToolCall, wanted: EmailWanted) -> None:
    rules.check_category(call.caller.agent, wanted.category)
    if wanted.category is EmailCategory.INTERNAL and not await store.is_administrator(work.db, wanted.to):
        raise rules.not_allowed("recipient", "Internal email may only go to an administrator of this installation")
    if wanted.category is EmailCategory.MARKETING and not work.runtime.settings.postal_address:
        raise rules.not_allowed(
            "postal_address",
            "Marketing email needs the operator's postal address. Set OPENSLOT_POSTAL_ADDRESS",
        )


async def _get_marketing_recipient(work: Work, address: str) -> UUID:
    recipient_id, opted_out_at = await store.add_marketing_recipient(work.db, address, now=work.now)
    if opted_out_at is not None:
        raise _opted_out()
    return recipient_id


def _opted_out() -> Exception:
    return rules.not_allowed("opted_out", "The recipient has unsubscribed from marketing email")
