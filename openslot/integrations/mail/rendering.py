"""Letters in their reader's language and their sender's colours: HTML that mail programs show, and the same as text."""

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.integrations.mail.colours import DARK_PAPER, PAPER, ink_on, readable_on
from openslot.integrations.mail.models import Brand, Fact, Letter, Link

WIDTH = 72


class Rendered(NamedTuple):
    """A letter as it is read."""

    subject: str
    html: str
    text: str


@pass_context
def _localize(context: Context, value: object) -> object:
    return localize(value, context["locale"])


templates = Environment(
    loader=PackageLoader("openslot.integrations.mail"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_localize,
)
templates.filters["localized"] = _localize


def render(letter: Letter, brand: Brand, locale: Locale, *, postal_address: str | None) -> Rendered:
    """Write a letter for its reader."""
    html = templates.get_template("letter.html").render(
        letter=letter,
        brand=brand,
        locale=locale,
        postal_address=postal_address,
        ink=ink_on(brand.colour),
        link=readable_on(brand.colour, PAPER),
        dark_link=readable_on(brand.colour, DARK_PAPER),
    )
    text = "\n\n".join(_write_text(letter, brand, locale, postal_address)) + "\n"
    return Rendered(str(localize(letter.subject, locale)), html, text)


def _write_text(letter: Letter, brand: Brand, locale: Locale, postal_address: str | None) -> Iterator[str]:
    def say(value: str) -> str:
        return str(localize(value, locale))

    yield say(letter.heading)
    yield from (textwrap.fill(say(each), WIDTH, break_on_hyphens=False) for each in letter.paragraphs)
    if letter.body:
        yield letter.body.text
    if letter.quote:
        yield textwrap.indent(say(letter.quote), "> ", lambda _: True)
    if letter.facts:
        yield "\n".join(_write_fact(fact, locale) for fact in letter.facts)
    if letter.button:
        yield _write_link(letter.button, locale)
    if letter.links and letter.links_label:
        yield "\n".join([f"{say(letter.links_label)}:", *(_write_link(link, locale) for link in letter.links)])
    small = [say(each) for each in letter.footer] + ([postal_address] if postal_address else [])
    yield "\n".join(["-- ", brand.name, *small])


def _write_fact(fact: Fact, locale: Locale) -> str:
    lines = [str(localize(line, locale)) for line in fact.lines]
    return "\n".join([f"{localize(fact.label, locale)}:", *(f"  {line}" for line in lines)])


def _write_link(link: Link, locale: Locale) -> str:
    return f"{localize(link.label, locale)}: {link.url}"
