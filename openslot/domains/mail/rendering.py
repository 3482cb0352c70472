"""Letters in their reader's language and their sender's colors: HTML that mail programs show, and the same as text."""

import re
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec.structs import replace

from openslot.domains.accounts.models import Brand
from openslot.domains.mail.models import Fact, Letter, Link
from openslot.platform.core.text import defuse
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale
from openslot.platform.i18n.localization import localize, translate

SHAPE = re.compile(r"#[0-9a-f]{6}")
DARK, LIGHT = "#16181d", "#ffffff"
PAPER, DARK_PAPER = "#ffffff", "#181a20"
READABLE = 4.5


def ink_on(color: str) -> str:
    return max((LIGHT, DARK), key=lambda ink: contrast(ink, color))


# benchmarks/caches.py: choose a color of a mail, six times in each, 49 times
@lru_cache(maxsize=256)
def readable_on(color: str, ground: str) -> str:
    """Return the color itself, or the nearest one in which text is readable on this background."""
    towards = ink_on(ground)
    mixed = (mix(color, towards, step / 10) for step in range(11))
    return next((each for each in mixed if contrast(each, ground) >= READABLE), towards)


def mix(one: str, other: str, share: float) -> str:
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def contrast(one: str, other: str) -> float:
    """Measure how far apart two colors are to the eye, as WCAG does: from 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    red, green, blue = (_linear(channel / 255) for channel in _channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


WIDTH = 72


class Rendered(NamedTuple):
    subject: str
    html: str
    text: str
    logged_subject: str


templates = Environment(
    loader=PackageLoader("openslot.domains.mail"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(letter: Letter, brand: Brand, locale: Locale, *, postal_address: str | None) -> Rendered:
    letter, brand = show_letter(letter, locale), replace(brand, name=defuse(brand.name))
    ink = ink_on(brand.color)
    html = templates.get_template("letter.html").render(
        letter=letter,
        brand=brand,
        locale=locale,
        postal_address=postal_address,
        button=readable_on(brand.color, ink),
        ink=ink,
        link=readable_on(brand.color, PAPER),
        dark_link=readable_on(brand.color, DARK_PAPER),
    )
    text = "\n\n".join(_write_text(letter, brand, postal_address)) + "\n"
    return Rendered(letter.subject, html, text, letter.logged_subject or letter.subject)


def say(value: object, locale: Locale) -> str:
    """Show a value to a reader; names in it, which are anybody's own words, become no links."""
    if isinstance(value, Text):
        found = translate(value, locale.language)
        return found % {name: say(inner, locale) for name, inner in value.values.items()} if value.values else found
    return defuse(value) if isinstance(value, str) else str(localize(value, locale))


def show_letter(letter: Letter, locale: Locale) -> Letter:
    """Put all that a letter says into the reader's language; what is quoted stays as its author has written it."""
    return replace(
        letter,
        subject=say(letter.subject, locale),
        heading=say(letter.heading or letter.subject, locale),
        logged_subject=say(letter.logged_subject, locale),
        paragraphs=tuple(say(each, locale) for each in letter.paragraphs),
        facts=tuple(_show_fact(each, locale) for each in letter.facts),
        quote=say(letter.quote, locale) if isinstance(letter.quote, Text) else letter.quote,
        button=letter.button and _show_link(letter.button, locale),
        actions=tuple(_show_link(each, locale) for each in letter.actions),
        links_label=None if letter.links_label is None else say(letter.links_label, locale),
        links=tuple(_show_link(each, locale) for each in letter.links),
        footer=tuple(say(each, locale) for each in letter.footer),
    )


def _show_fact(fact: Fact, locale: Locale) -> Fact:
    lines = (str(localize(each, locale)) if fact.is_verbatim else say(each, locale) for each in fact.lines)
    return replace(fact, label=say(fact.label, locale), lines=tuple(lines))


def _show_link(link: Link, locale: Locale) -> Link:
    # An address stays as it is.
    return link if link.label == link.url else replace(link, label=say(link.label, locale))


def _write_text(letter: Letter, brand: Brand, postal_address: str | None) -> Iterator[str]:
    yield letter.heading
    yield from (textwrap.fill(each, WIDTH, break_on_hyphens=False) for each in letter.paragraphs)
    if letter.body:
        yield letter.body.text
    if letter.quote:
        yield textwrap.indent(letter.quote, "> ", lambda _: True)
    if letter.facts:
        lines = ((f"{fact.label}:", *(f"  {line}" for line in fact.lines)) for fact in letter.facts)
        yield "\n".join(chain.from_iterable(lines))
    if letter.button:
        yield "\n".join(_write_link(link) for link in (letter.button, *letter.actions))
    if letter.links and letter.links_label:
        yield "\n".join([f"{letter.links_label}:", *(_write_link(link) for link in letter.links)])
    small = list(letter.footer) + ([postal_address] if postal_address else [])
    yield "\n".join(["-- ", brand.name, *small])


def _write_link(link: Link) -> str:
    return f"{link.label}: {link.url}"
