"""A page as a person reads it: its fields and their faults, notices, headings, tables, links, buttons and text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape

import httpx2

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
CELLS = frozenset({"td", "th"})
READ = HEADINGS | CELLS | {"a", "button"}
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
# What stands within a line: no other tag leaves the words around it together.
INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong", "sub"}
    | {"sup", "time", "u", "var", "wbr"}
)
# A comment, a script or stylesheet with all that is in it, or a tag.
TAGS = re.compile(
    r"""<!--.*?-->|<![^>]*>
    |<(?P<raw>script|style)\b[^>]*>.*?</(?P=raw)\s*>
    |<(?P<closing>/?)(?P<tag>[a-z][^\s/>]*)(?P<attributes>(?:[^>"']++|"[^"]*"|'[^']*')*+)>""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
ATTRIBUTES = re.compile(r"""([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
# What is no text of a page: a field keeps what is in it.
UNREAD = frozenset({"head", "option", "script", "style", "template", "textarea", "title"})


@dataclass
class Field:
    """All inputs of one name: what they would send now, and what may be chosen (value → text)."""

    values: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    @property
    def value(self) -> str:
        """What the first of them would send."""
        return self.values[0] if self.values else ""

    @property
    def checked(self) -> bool:
        """Whether a box or a choice of this name is ticked."""
        return bool(self.values)


@dataclass
class Page:
    """What a page says, in its order; white space is normalized everywhere."""

    fields: dict[str, Field] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    """Text → address, of the first link with this text."""
    addresses: set[str] = field(default_factory=set)
    """All that anything in the page links to."""
    buttons: list[str] = field(default_factory=list)
    text: str = ""
    """What is not hidden, and stands neither in a field nor in an attribute."""


@dataclass(slots=True)
class _Element:
    tag: str
    attributes: dict[str, str]
    hidden: bool
    parts: list[str] = field(default_factory=list)

    def read(self) -> str:
        return " ".join("".join(self.parts).split())


class _Reader:
    def __init__(self) -> None:
        self.page = Page()
        self.root = _Element("", {}, hidden=False)
        self.open = [self.root]
        self.options: list[tuple[str, str, bool]] = []

    def feed(self, html: str) -> None:
        """Read a page from its first tag to its last; `html.parser` takes twice as long."""
        end = 0
        for found in TAGS.finditer(html):
            self.open[-1].parts.append(unescape(html[end : found.start()]))
            end = found.end()
            closing, tag, attributes, raw = found["closing"], found["tag"], found["attributes"], found["raw"]
            if raw:
                self.handle_starttag(raw.lower(), {})
                self.handle_endtag(raw.lower())
            elif closing:
                self.handle_endtag(tag.lower())
            elif tag:
                self.handle_starttag(tag.lower(), dict(_read_attributes(attributes)))
        self.open[-1].parts.append(unescape(html[end:]))

    def handle_starttag(self, tag: str, attributes: dict[str, str]) -> None:
        hidden = self.open[-1].hidden or tag in UNREAD or "hidden" in attributes
        self.separate(tag)
        if "href" in attributes:
            self.page.addresses.add(attributes["href"])
        if tag == "input":
            self.read_input(attributes)
        elif tag == "select":
            self.options = []
        elif tag == "tr":
            self.page.rows.append([])
        if tag not in VOID:
            self.open.append(_Element(tag, attributes, hidden))

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1].tag == tag or any(one.tag == tag for one in self.open):
            while self.close_last() != tag:
                pass
            self.separate(tag)

    def finish(self) -> Page:
        while len(self.open) > 1:
            self.close_last()
        self.page.text = self.root.read()
        return self.page

    def separate(self, tag: str) -> None:
        if tag not in INLINE:
            self.open[-1].parts.append(" ")

    def close_last(self) -> str:
        closed = self.open.pop()
        if not closed.hidden:
            self.open[-1].parts += closed.parts
            self.read_element(closed)
        self.read_field(closed)
        return closed.tag

    def read_element(self, closed: _Element) -> None:
        tag, name = closed.tag, closed.attributes.get("id", "")
        is_notice = "notice" in closed.attributes.get("class", "").split()
        # Reading what an element says takes long for those that hold most of the page.
        if not (tag in READ or is_notice or name.startswith("fault-")):
            return
        words = closed.read()
        if name.startswith("fault-"):
            self.page.faults[name.removeprefix("fault-")] = words
        if is_notice and words:
            self.page.notices.append(words)
        if tag in HEADINGS:
            self.page.headings.append(words)
        elif tag in CELLS and self.page.rows:
            self.page.rows[-1].append(words)
        elif tag == "a":
            self.page.links.setdefault(words, closed.attributes.get("href", ""))
        elif tag == "button":
            self.page.buttons.append(words)

    def read_field(self, closed: _Element) -> None:
        name = closed.attributes.get("name", "")
        if closed.tag == "option":
            value = closed.attributes.get("value", closed.read())
            self.options.append((value, closed.read(), "selected" in closed.attributes))
        elif closed.tag == "select":
            found = self.find_field(name)
            found.options |= {value: words for value, words, _ in self.options}
            chosen = [value for value, _, selected in self.options if selected]
            several = "multiple" in closed.attributes
            found.values += chosen or [value for value, _, _ in self.options[:1] if not several]
        elif closed.tag == "textarea":
            # A line break right after the tag is no part of the value.
            self.find_field(name).values.append("".join(closed.parts).removeprefix("\n"))
        elif closed.tag == "button" and name:
            self.find_field(name).options[closed.attributes.get("value", "")] = closed.read()

    def read_input(self, attributes: dict[str, str]) -> None:
        found = self.find_field(attributes.get("name", ""))
        if attributes.get("type") not in {"checkbox", "radio"}:
            found.values.append(attributes.get("value", ""))
            return
        value = attributes.get("value", "on")
        found.options[value] = ""
        if "checked" in attributes:
            found.values.append(value)

    def find_field(self, name: str) -> Field:
        return self.page.fields.setdefault(name, Field())


def _read_attributes(written: str) -> Iterator[tuple[str, str]]:
    for name, *values in ATTRIBUTES.findall(written):
        yield name.lower(), unescape("".join(values))


def read_page(answer: httpx2.Response) -> Page:
    """Read the page that an answer carries."""
    assert answer.headers["content-type"].startswith("text/html"), answer.headers["content-type"]
    return read_html(answer.text)


@lru_cache(maxsize=8)
def read_html(html: str) -> Page:
    """Read a page, once for all that is asked of it."""
    reader = _Reader()
    reader.feed(html)
    return reader.finish()
