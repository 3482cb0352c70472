"""Texts that try to become markup, addresses or templates, and what a page is made of."""

from html.parser import HTMLParser

# Each value is stored or typed as a whole, so a text leaves every context that it may stand in: attributes with either
# quote, elements that hold text, addresses, templates, formats, and text that is unescaped twice.
CORPUS = (
    "'\"></title></textarea></option></select></pre><script>x()</script><xss-probe onload=x()>",
    "javascript:x()//{{ 7 * 19100003 }}{% raw %} %(name)s %s {0} <xss-probe>",
    "\u202e&lt;xss-probe&gt;<xss-probe>\u2066",
)


class Markup(HTMLParser):
    """The tags, attributes, scripts and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.attributes |= values.keys()
        if tag == "script":
            self.scripts.append(values.get("src", ""))
        self.addresses += [values[name] for name in ("href", "action", "src") if name in values]
