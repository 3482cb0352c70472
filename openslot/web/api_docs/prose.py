"""A description's sentences as a page shows them: paragraphs, and code between back quotes."""

import re

from markupsafe import Markup, escape

CODE = re.compile(r"`([^`\n]+)`")


def sentences(text: str) -> Markup:
    """Mark the code in a text."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(" ".join(text.split())))))  # noqa: S704 - escaped just here


def paragraphs(text: str) -> Markup:
    """Mark paragraphs and code in a text."""
    blocks = (sentences(block) for block in re.split(r"\n\s*\n", text) if block.strip())
    return Markup("").join(Markup("<p>{}</p>").format(block) for block in blocks)


def capitalize_first(text: str) -> str:
    """Begin a text with a capital and leave the rest as it is."""
    return text[:1].upper() + text[1:]
