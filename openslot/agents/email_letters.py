"""An agent's email as a letter in the product's layout; HTML that an agent wrote is reduced to what is safe."""

from html import escape

import nh3
from msgspec import Struct

from openslot.agents.models import AgentEmail, EmailCategory
from openslot.i18n import Text
from openslot.integrations.mail.message import one_line, paragraph
from openslot.integrations.mail.models import Brand, Letter, LetterBody, Link
from openslot.integrations.mail.operations import DEFAULT_COLOUR

# Text and links only: an image or a style could track readers or imitate other parts of the mail.
TAGS = {"a", "b", "blockquote", "br", "code", "em", "h2", "h3", "hr", "i", "li", "ol", "p", "pre", "strong", "u", "ul"}
SCHEMES = {"http", "https", "mailto"}
PRODUCT = "Openslot"
LONGEST_TEXT = 20_000
LONGEST_HTML = 100_000


class EmailContent(Struct, frozen=True, kw_only=True):
    """What an agent has written."""

    text: str
    html: str | None = None
    reply_to: str | None = None


def write_letter(
    email: AgentEmail, content: EmailContent, *, sender: str | None, unsubscribe_url: str | None
) -> Letter:
    """Write an agent's email as a letter."""
    name = sender or PRODUCT
    footer = (
        Text("This email was sent to the administrators of %(name)s by an automated assistant.", name=name)
        if email.category is EmailCategory.INTERNAL
        else Text("This email was written by an automated assistant of %(name)s.", name=name)
    )
    unsubscribe = (Link(label=Text("Unsubscribe"), url=unsubscribe_url),) if unsubscribe_url else ()
    return Letter(
        subject=one_line(email.subject),
        heading=one_line(email.subject),
        body=LetterBody(text=paragraph(content.text, most=LONGEST_TEXT), html=write_html(content)),
        links_label=Text("To stop receiving these emails") if unsubscribe else None,
        links=unsubscribe,
        footer=(footer,),
    )


def product_brand(sender: str | None) -> Brand:
    """Return the brand of the installation."""
    return Brand(name=sender or PRODUCT, colour=DEFAULT_COLOUR)


def write_html(content: EmailContent) -> str:
    """Write the body as safe HTML: the agent's own, cleaned, or else its text in paragraphs."""
    if content.html is not None:
        return clean(content.html)
    blocks = paragraph(content.text, most=LONGEST_TEXT).split("\n\n")
    lines = ("<br>".join(escape(line) for line in block.strip().split("\n")) for block in blocks if block.strip())
    return "".join(f"<p>{block}</p>" for block in lines)


def clean(html: str) -> str:
    """Keep paragraphs, lists, emphasis and links; remove everything else, scripts and styles with their content."""
    return nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer",
        clean_content_tags={"script", "style", "template", "title"},
    )
