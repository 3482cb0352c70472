"""Texts that try to become markup, addresses or templates, and what a page is made of."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser

import httpx2

# Each value is stored or typed as a whole, so a text leaves every context that it may stand in: attributes with either
# quote, elements that hold text, addresses, templates, formats, and text that is unescaped twice.
CORPUS = (
    "'\"></title></textarea></option></select></pre><script>x()</script><xss-probe onload=x()>",
    "javascript:x()//{{ 7 * 19100003 }}{% raw %} %(name)s %s {0} <xss-probe>",
    "\u202e&lt;xss-probe&gt;<xss-probe>\u2066",
)

# All of them in one, for a walk over every page: an address has to begin so, and a text that is cut still shows a tag.
WHOLE = f"javascript:x()//<xss-probe>{''.join(CORPUS)}"

# What is left of each of them on any page that shows enough of it to do harm, escaped or not.
TRACES = ("xss-probe", "x()")
# What `{{ 7 * 19100003 }}` becomes.
CALCULATED = "133700021"
# A quote belongs to a value only where one begins; what is not closed is no tag, which leaves it to the first check.
TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)>""")
ATTRIBUTE = re.compile(r"""([^\s="'/>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
# What a page says of itself to machines, which nothing runs.
FACTS = "application/ld+json"


class Markup(HTMLParser):
    """The tags, attributes and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.attributes |= values.keys()
        self.addresses += [values[name] for name in ("href", "action", "src") if name in values]


def check_pages(pages: Iterable[httpx2.Response]) -> int:
    """Fail if a text has become markup, an address or a template; return how many pages show one."""
    seen = 0
    for page in pages:
        assert page.status_code < 500, page.url
        assert CALCULATED not in page.text, page.url
        seen += "xss-probe" in page.text
        if any(trace in page.text for trace in TRACES):
            fault = find_markup(page.text)
            assert fault is None, f"{page.url}: {fault}"
    return seen


def read_tags(html: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Read the tags of a page, also inside of scripts, in a tenth of a parser's time; `/name` ends an element."""
    for end, name, inner in TAG.findall(html):
        yield end + name.lower(), _read_attributes(inner)


@lru_cache(maxsize=20_000)
def _read_attributes(inner: str) -> Mapping[str, str]:
    return {each[0].lower(): unescape(each[1] or each[2] or each[3]) for each in ATTRIBUTE.findall(inner)}


def find_markup(html: str) -> str | None:
    """Return what a text has become; None if it is still text."""
    if "<xss-probe" in html:
        return "a tag"
    for end, name, inner in TAG.findall(html):
        if fault := _find_fault(end + name.lower(), inner):
            return f"{fault}: {name} {inner[:200]}"
    facts = re.findall(f"<script[^>]*{re.escape(FACTS)}[^>]*>(.*?)</script>", html, re.DOTALL)
    return None if all(isinstance(json.loads(each), dict) for each in facts) else "facts"


# Most tags of a page are those of other pages too.
@lru_cache(maxsize=20_000)
def _find_fault(tag: str, inner: str) -> str | None:
    values = _read_attributes(inner)
    if any(name.startswith("on") for name in values):
        return "an attribute"
    own = values.get("src", "").startswith(("/static/", "/widget.js")) or values.get("type") == FACTS
    if tag == "script" and not own:
        return "a script"
    addresses = (values.get(name, "") for name in ("href", "action", "formaction", "src"))
    return "an address" if any(each.lower().lstrip().startswith("javascript") for each in addresses) else None
