"""Email by agents: checked, counted under a lock, logged, written in the product's layout, and left by a link."""

from html import escape
from typing import Annotated, ClassVar
from uuid import UUID

import msgspec
import nh3
from msgspec import Meta, Struct

from openslot.domains.accounts.models import PRODUCT
from openslot.domains.mail.models import Letter, LetterBody, Link
from openslot.domains.mail.operations import name_mail_message
from openslot.doors.agents import rules
from openslot.doors.agents.emails import store
from openslot.doors.agents.events import AgentEmailQueued, MarketingOptedOut
from openslot.doors.agents.models import AgentEmail, EmailCategory, ToolCall
from openslot.platform.core.errors import NotFound
from openslot.platform.core.ids import find_signed_id, new_id, sign_id
from openslot.platform.core.text import NOT_ALLOWED, PROSE, EmailAddress, Label, is_line, one_line, paragraph
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text

# Text and links only: an image or a style could track readers or imitate other parts of the mail.
TAGS = {"a", "b", "blockquote", "br", "code", "em", "h2", "h3", "hr", "i", "li", "ol", "p", "pre", "strong", "u", "ul"}
LONGEST_TEXT = 20_000


class EmailContent(Struct, frozen=True, kw_only=True):
    text: str
    html: str | None = None
    reply_to: str | None = None


def write_letter(
    email: AgentEmail, content: EmailContent, *, sender: str | None, unsubscribe_url: str | None
) -> Letter:
    name = sender or PRODUCT.name
    footer = (
        Text("This email was sent to the administrators of %(name)s by an automated assistant.", name=name)
        if email.category is EmailCategory.INTERNAL
        else Text("This email was written by an automated assistant of %(name)s.", name=name)
    )
    unsubscribe = (Link(label=Text("Unsubscribe"), url=unsubscribe_url),) if unsubscribe_url else ()
    return Letter(
        subject=one_line(email.subject),
        heading=one_line(email.subject),
        body=LetterBody(text=paragraph(content.text, max_=LONGEST_TEXT), html=write_html(content)),
        links_label=Text("To stop receiving these emails") if unsubscribe else None,
        links=unsubscribe,
        footer=(footer,),
    )


def write_html(content: EmailContent) -> str:
    """Write the body as safe HTML: the agent's own, cleaned, or else its text in paragraphs."""
    if content.html is not None:
        return clean(content.html)
    blocks = paragraph(content.text, max_=LONGEST_TEXT).split("\n\n")
    lines = ("<br>".join(escape(line) for line in block.strip().split("\n")) for block in blocks if block.strip())
    return "".join(f"<p>{block}</p>" for block in lines)


def clean(html: str) -> str:
    """Keep paragraphs, lists, emphasis and links; remove everything else, scripts and styles with their content."""
    return nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
        clean_content_tags={"script", "style", "template", "title"},
    )


SEND_EMAIL = "agents.send_email"
CONTENT = "agent email"


class ExactAddress(EmailAddress):
    """An email address in one line: a line break at its end is refused too."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> str:
        if not is_line(text):
            raise ValueError(NOT_ALLOWED)
        return super().parse(text)


class Subject(Label):
    """The subject of an email."""

    __slots__ = ()

    longest: ClassVar[int] = 150
    schema: ClassVar[dict[str, object]] = {**Label.schema, "maxLength": longest}


class EmailWanted(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One email to one recipient."""

    category: Annotated[
        EmailCategory,
        Meta(
            description="support and transactional: about the recipient's own matter; marketing: advertising, to those "
            "who have not unsubscribed; internal: to an administrator of this installation"
        ),
    ]
    to: ExactAddress
    subject: Subject
    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_TEXT,
            pattern=PROSE,
            description="The message as plain text; an empty line separates paragraphs",
        ),
    ]
    html: Annotated[
        Annotated[str, Meta(min_length=1, max_length=100_000, pattern=PROSE)] | None,
        Meta(description="The same as HTML: paragraphs, lists, emphasis and links are kept, everything else removed"),
    ] = None
    reply_to: ExactAddress | None = None


async def check_agent_email(work: Work, call: ToolCall, wanted: EmailWanted) -> None:
    """Refuse an email that the agent may not send now; nothing is locked, so `send_agent_email` checks again."""
    agent = call.caller.agent
    await _check_recipient(work, call, wanted)
    if wanted.category is EmailCategory.MARKETING and await store.is_opted_out(work.db, wanted.to):
        raise _opted_out()
    sent_at = await store.list_sent(work.db, agent.slug, since=rules.counted_since(work.now))
    rules.check_limits(agent.email_level, sent_at, now=work.now)


async def send_agent_email(work: Work, call: ToolCall, wanted: EmailWanted) -> AgentEmail:
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
    content = EmailContent(text=wanted.text, html=wanted.html, reply_to=wanted.reply_to)
    sealed = work.runtime.cipher.seal(CONTENT, msgspec.json.encode(content), owner=email.id.bytes)
    await store.insert(work.db, email, sealed)
    await work.record(AgentEmailQueued(email_id=email.id, agent=email.agent, category=email.category))
    effect_id = await store.find_effect(work.db, email.id, reaction=SEND_EMAIL)
    message_id = name_mail_message(work.runtime, effect_id)
    await store.keep_effect(work.db, email.id, effect_id, message_id)
    return msgspec.structs.replace(email, message_id=message_id)


async def find_agent_email(work: Work, email_id: UUID) -> tuple[AgentEmail, EmailContent | None, str | None] | None:
    """Look up an email with its content, unless that is erased, and its reader's language, if it is known."""
    found = await store.find_email(work.db, email_id)
    if found is None:
        return None
    email, sealed, locale = found
    if sealed is None:
        return email, None, locale
    content = work.runtime.cipher.open(CONTENT, sealed, owner=email_id.bytes)
    return email, msgspec.json.decode(content, type=EmailContent), locale


async def list_agent_emails(work: Work, *, agent: str | None, limit: int) -> list[AgentEmail]:
    return await store.list_emails(work.db, agent=agent, limit=limit)


async def _check_recipient(work: Work, call: ToolCall, wanted: EmailWanted) -> None:
    rules.check_category(call.caller.agent, wanted.category)
    if wanted.category is EmailCategory.INTERNAL and not await store.is_administrator(work.db, wanted.to):
        raise rules.not_allowed("recipient", "Internal email may only go to an administrator of this installation")
    if wanted.category is EmailCategory.MARKETING and not work.runtime.settings.postal_address:
        raise rules.not_allowed(
            "postal_address", "Marketing email needs the operator's postal address. Set OPENSLOT_POSTAL_ADDRESS"
        )


async def _get_marketing_recipient(work: Work, address: str) -> UUID:
    recipient_id, opted_out_at = await store.add_marketing_recipient(work.db, address, now=work.now)
    if opted_out_at is not None:
        raise _opted_out()
    return recipient_id


def _opted_out() -> Exception:
    return rules.not_allowed("opted_out", "The recipient has unsubscribed from marketing email")


PURPOSE = "unsubscribe"


def unsubscribe_url(runtime: Runtime, recipient_id: UUID) -> str:
    """Write the link of one recipient; it never expires."""
    return f"{runtime.settings.public_url}/unsubscribe/{unsubscribe_token(runtime, recipient_id)}"


def unsubscribe_token(runtime: Runtime, recipient_id: UUID) -> str:
    """Sign a recipient's id; the token does not reveal the address."""
    return sign_id(runtime.signer, PURPOSE, recipient_id)


async def get_email_recipient(work: Work, token: str) -> tuple[UUID, bool]:
    """Read whose link it is, and whether that recipient has unsubscribed."""
    recipient_id = find_signed_id(work.runtime.signer, PURPOSE, token)
    if recipient_id is None:
        raise NotFound
    row = await store.find_marketing_recipient(work.db, recipient_id)
    if row is None:
        raise NotFound
    return recipient_id, row["opted_out_at"] is not None


async def unsubscribe_recipient(work: Work, token: str) -> None:
    """Send no more marketing mail to the recipient; doing it again changes nothing."""
    recipient_id, _ = await get_email_recipient(work, token)
    if await store.opt_out(work.db, recipient_id, now=work.now):
        await work.record(MarketingOptedOut(recipient_id=recipient_id))
