"""Texts that try to become markup, addresses or templates, and what a page is made of."""

import json
from collections.abc import Iterable
from html.parser import HTMLParser

import httpx2

# Each value is stored or typed as a whole, so a text leaves every context that it may stand in: attributes with either
# quote, elements that hold text, addresses, templates, formats, and text that is unescaped twice.
CORPUS = (
    "'\"></title></textarea></option></select></pre><script>x()</script><xss-probe onload=x()>",
    "javascript:x()//{{ 7 * 19100003 }}{% raw %} %(name)s %s {0} <xss-probe>",
    "\u202e&lt;xss-probe&gt;<xss-probe>\u2066",
)

# What is left of each of them on any page that shows enough of it to do harm, escaped or not.
TRACES = ("xss-probe", "x()")
# What `{{ 7 * 19100003 }}` becomes.
CALCULATED = "133700021"


class Markup(HTMLParser):
    """The tags, attributes, scripts and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts: list[str] = []
        self.facts: list[str] = []
        """What a page says of itself to machines, which nothing runs."""
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.attributes |= values.keys()
        if values.get("type") == "application/ld+json":
            self.facts.append("")
        elif tag == "script":
            self.scripts.append(values.get("src", ""))
        self.addresses += [values[name] for name in ("href", "action", "src") if name in values]

    def handle_data(self, data: str) -> None:
        if self.facts and self.cdata_elem == "script":
            self.facts[-1] += data


def check_pages(pages: Iterable[httpx2.Response]) -> int:
    """Fail if a text has become markup, an address or a template; return how many pages show one."""
    seen = 0
    for page in pages:
        assert page.status_code < 500, page.url
        assert CALCULATED not in page.text, page.url
        seen += "xss-probe" in page.text
        if any(trace in page.text for trace in TRACES):
            _check_markup(page)
    return seen


def _check_markup(page: httpx2.Response) -> None:
    markup = Markup()
    markup.feed(page.text)
    assert "xss-probe" not in markup.tags, page.url
    assert not any(name.startswith("on") for name in markup.attributes), page.url
    assert all(source.startswith(("/static/", "/widget.js")) for source in markup.scripts), page.url
    assert all(isinstance(json.loads(each), dict) for each in markup.facts), page.url
    assert not any(address.lower().lstrip().startswith("javascript") for address in markup.addresses), page.url
