"""Texts that people write for others, in a small part of Markdown: what is not in it is shown as it was typed.

Paragraphs, line breaks, bold, italic, headings, lists and links. Each link says where it leads, so that no text can
pretend to be another address.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from openslot.platform.core.text import parse_email, without_direction_marks
from openslot.platform.i18n import Text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

RULES = ["autolink", "emphasis", "entity", "escape", "heading", "link", "list", "newline"]
# Enough for nine lists in each other; whatever is deeper is left out.
MAX_DEPTH = 20
LONGEST_SHOWN = 60

_WEB = re.compile(
    r"https://((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9])(?::\d{1,5})?(?:[/?#][!-~]*)?"
)
_BLOCKS = {"paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li"}
_INLINE = {"strong_open": "<strong>", "strong_close": "</strong>", "em_open": "<em>", "em_close": "</em>"}


# benchmarks/caches.py: write a description as HTML, in every booking page with one, 990 times
@lru_cache(maxsize=256)
def render(text: str, *, shows_addresses: bool = False) -> Markup:
    """Write a text as HTML of a few plain elements; with `shows_addresses`, only addresses are links, and no words."""
    return Markup("".join(_write_blocks(_parse(text), shows_addresses)))  # noqa: S704 - only elements of our own, and escaped text


def find_fault(text: str) -> Text | None:
    """Find a link that would not be one."""
    refused: list[str] = []

    def check(link: str) -> bool:
        if find_target(link) is None:
            refused.append(link)
        return True

    blocks = _make_parser(check).parse(text)
    refused += ["" for block in blocks for each in block.children or () if _is_empty(each)]
    if not refused:
        return None
    shown = without_direction_marks(refused[0])[:LONGEST_SHOWN] or "()"
    return Text("must have no links but those that begin with https:// or mailto:, not %(link)s", link=shown)


def find_target(link: str) -> str | None:
    """Return where a link leads, as people are told it: a host or an email address; None if it is not allowed."""
    if (web := _WEB.fullmatch(link)) is not None:
        return web[1]
    scheme, _, address = link.partition(":")
    try:
        return parse_email(address) if scheme == "mailto" and "%" not in address else None
    except ValueError:
        return None


def _parse(text: str) -> "Sequence[Token]":
    return _make_parser(lambda link: find_target(link) is not None).parse(without_direction_marks(text))


def _make_parser(check_link: Callable[[str], bool]) -> "MarkdownIt":
    # Loaded with the first text: every start of a process would wait for the library.
    from markdown_it import MarkdownIt  # noqa: PLC0415

    parser = MarkdownIt("zero", {"maxNesting": MAX_DEPTH}).enable(RULES)
    parser.validateLink = check_link  # type: ignore[method-assign,assignment]
    return parser


def _is_empty(token: "Token") -> bool:
    """Return whether a link begins that leads nowhere; the parser checks no target where there is none."""
    return token.type == "link_open" and not token.attrs["href"]


def _write_blocks(tokens: "Sequence[Token]", shows_addresses: bool) -> Iterator[str]:
    # The page has a heading of its own: the highest one of the text becomes the second.
    highest = min((each.tag for each in tokens if each.type == "heading_open"), default="h1")
    for token in tokens:
        if token.type == "inline":
            yield from (_write_addresses if shows_addresses else _write_inline)(token.children or ())
        elif not token.hidden and (name := _name_block(token, highest)) is not None:
            yield _write_tag(name, token) if token.nesting == 1 else f"</{name}>"


def _name_block(token: "Token", highest: str) -> str | None:
    kind = token.type.rpartition("_")[0]
    if kind == "heading":
        return "h2" if token.tag == highest else "h3"
    return _BLOCKS.get(kind)


def _write_tag(name: str, token: "Token") -> str:
    if name == "li":
        # A list has its marks on one side, whatever each line begins with.
        return "<li>"
    start = token.attrs.get("start")
    return f'<{name} dir="auto" start="{start}">' if isinstance(start, int) else f'<{name} dir="auto">'


def _write_inline(tokens: "Iterable[Token]") -> Iterator[str]:
    link, words = "", ""
    for token in tokens:
        if token.type == "text":
            words += token.content
            yield escape(token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            yield "<br>"
        elif token.type == "link_open":
            link, words = str(token.attrs["href"]), ""
            yield _open_link(link) if link else "["
        elif token.type == "link_close":
            yield f"</a>{_write_target(link, words)}" if link else "]()"
        else:
            yield _INLINE.get(token.type, "")


def _write_addresses(tokens: "Iterable[Token]") -> Iterator[str]:
    """Write the words of each link as words, and the address as the link."""
    link, words = "", list["Token"]()
    for token in tokens:
        if token.type == "link_open" and token.attrs["href"]:
            link, words = str(token.attrs["href"]), []
        elif token.type == "link_close" and link:
            address = link.removeprefix("mailto:")
            if "".join(each.content for each in words).strip() not in {address, link.removeprefix("https://")}:
                yield from _write_inline(words)
                yield " "
            yield f'{_open_link(link)}<bdi dir="ltr">{escape(address)}</bdi></a>'
            link, words = "", []
        elif link:
            words.append(token)
        else:
            yield from _write_inline([token])


def _open_link(link: str) -> str:
    return f'<a href="{escape(link)}" rel="nofollow noopener" target="_blank">'


def _write_target(link: str, words: str) -> str:
    """Write where a link leads, unless its words are the address itself."""
    target = find_target(link) or ""
    if words.strip() in {target, link, link.removeprefix("https://")}:
        return ""
    return f' <bdi dir="ltr">({escape(target)})</bdi>'
