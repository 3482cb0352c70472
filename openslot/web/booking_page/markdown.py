"""Markdown from templates, in which what users have written is text and never markup."""

import re

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

MARKDOWN = "text/markdown; charset=utf-8"
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!])")
# At the start of a line these make lists, headings and rules.
LEADING = re.compile(r"^(\s*)([-+=]|\d+[.)])")


def plain(text: str) -> str:
    """Write a text of one line so that Markdown shows it as it is."""
    escaped = SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return LEADING.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", escaped)


def quote(text: str) -> str:
    """Write a text of several lines as a quotation."""
    return "\n".join(f"> {plain(line)}".rstrip() for line in text.strip().splitlines())


_templates = Environment(
    loader=PackageLoader("openslot.web", "templates/assistants"),
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_templates.filters |= {"plain": plain, "quote": quote}


def write_markdown(template: str, **values: object) -> str:
    """Render a template for assistants."""
    return _templates.get_template(template).render(**values)
