"""Tool: branded email."""

from typing import Annotated, ClassVar
from uuid import UUID

from msgspec import Meta, Struct

from openslot.agents import emails
from openslot.agents.emails import LONGEST_HTML, LONGEST_TEXT, EmailContent, EmailWanted
from openslot.agents.models import EmailCategory, Tier, ToolCall
from openslot.agents.registry import tool
from openslot.core.dollars import to_usd
from openslot.core.text import NOT_ALLOWED, PROSE, EmailAddress, Label, is_line
from openslot.core.work import Work


class ExactAddress(EmailAddress):
    """An email address in one line: a line break at its end is refused too."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> str:
        """Return the normal form."""
        if not is_line(text):
            raise ValueError(NOT_ALLOWED)
        return super().parse(text)


class Subject(Label):
    """The subject of an email."""

    __slots__ = ()

    longest: ClassVar[int] = 150
    schema: ClassVar[dict[str, object]] = {**Label.schema, "maxLength": longest}


class EmailArguments(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
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
        Annotated[str, Meta(min_length=1, max_length=LONGEST_HTML, pattern=PROSE)] | None,
        Meta(description="The same as HTML: paragraphs, lists, emphasis and links are kept, everything else removed"),
    ] = None
    reply_to: ExactAddress | None = None


class QueuedEmail(Struct, frozen=True, kw_only=True, rename="camel"):
    """An email that is on its way."""

    id: UUID
    message_id: str
    status: Annotated[str, Meta(description="queued: it is sent within moments, and retried for a day")]
    category: EmailCategory
    to: str
    subject: str
    cost_usd: float


def _wanted(arguments: EmailArguments) -> EmailWanted:
    content = EmailContent(text=arguments.text, html=arguments.html, reply_to=arguments.reply_to)
    return EmailWanted(category=arguments.category, to=arguments.to, subject=arguments.subject, content=content)


async def _check(work: Work, call: ToolCall, arguments: EmailArguments) -> None:
    await emails.check_email(work, call, _wanted(arguments))


@tool(
    scope="email:write",
    tier=Tier.T2,
    cost=lambda settings: int(settings.agent_email_cost),
    check=_check,
    is_idempotent=False,
    reaches_outside=True,
)
async def send_email(work: Work, call: ToolCall, arguments: EmailArguments) -> QueuedEmail:
    """Send one email in the product's layout to one recipient.

    Each agent may send in its own categories only; at autonomy level L0 only internal email, which goes to
    administrators of this installation. Refused with email_not_allowed (-32016) if the category, the level or the
    recipient is not allowed, and with rate_limited (-32015) if the agent has reached its number of emails for the UTC
    day or for the last 60 minutes. Marketing email gets a link to unsubscribe. Costs 0.001 USD unless the operator has
    set another price: call check_budget first. Every call sends another email; it can't be taken back.
    """
    email = await emails.send_email(work, call, _wanted(arguments))
    return QueuedEmail(
        id=email.id,
        message_id=email.message_id or "",
        status="queued",
        category=email.category,
        to=email.recipient,
        subject=email.subject,
        cost_usd=to_usd(email.cost_micros),
    )


EMAIL_TOOLS = (send_email,)
