"""The forms of a page, and what a stranger may type into them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from tests.doors.web.all_routes.paths import WebRoute
from tests.support.hostile_text import read_tags

# What a browser lets people type or send; the rest is ticked, chosen, or hidden.
TYPED = frozenset({"text", "search", "email", "url", "tel", "password", "number", "date", "time", "month", "color"})
FIELDS = frozenset({"input", "textarea", "select", "button"})
KEPT = frozenset({"csrf", "organization"})


class PageForm(Struct):
    """A form as a page shows it."""

    method: str
    action: str
    typed: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    """What is hidden, ticked or chosen, with what would be sent."""
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def fill(self, text: str, *, wholly: bool) -> dict[str, str]:
        """Type a text into every field; wholly: also into those that nobody types into."""
        others = {name: text if wholly and name not in KEPT else value for name, value in self.others.items()}
        return {**others, **dict.fromkeys(self.typed, text)}


class _Forms:
    def __init__(self) -> None:
        self.found: list[PageForm] = []
        self.by_id: dict[str, PageForm] = {}
        self.open: PageForm | None = None

    def read(self, tag: str, values: Mapping[str, str]) -> None:
        if tag == "form":
            self.open = PageForm(values.get("method", "get").upper(), values.get("action", ""))
            self.found.append(self.open)
            self.by_id[values.get("id", "")] = self.open
        elif tag == "/form":
            self.open = None
        form = self.by_id.get(values["form"]) if "form" in values else self.open
        if form is None:
            return
        if tag == "button" and "formaction" in values:
            form.buttons.append((values["formaction"], values.get("formmethod", form.method).upper()))
        if tag in FIELDS and (name := values.get("name")):
            _add_field(form, values.get("type", "text") if tag == "input" else tag, name, values)


def _add_field(form: PageForm, kind: str, name: str, values: Mapping[str, str]) -> None:
    if kind == "textarea" or kind in TYPED:
        form.typed.append(name)
    elif kind == "file":
        form.files.append(name)
    elif kind not in {"checkbox", "radio"} or "checked" in values:
        form.others.setdefault(name, values.get("value", "" if kind == "select" else "on"))


def read_forms(html: str, path: str) -> Iterator[PageForm]:
    """Read the forms of a page, and those that other buttons of a form make of it."""
    reader = _Forms()
    for tag, values in read_tags(html):
        reader.read(tag, values)
    for form in reader.found:
        form.action = form.action or path
        yield form
        for action, method in form.buttons:
            yield PageForm(method, action, form.typed, form.files, form.others)


def list_bodies(route: WebRoute, forms: Sequence[PageForm], short: str, whole: str) -> Iterator[dict[str, Any]]:
    """Write what is typed into a form: one text wherever nothing else is said, and one wherever anything may be sent.

    The first may be taken; the second is refused, and what was typed is shown again.
    """
    form = max(forms, key=lambda each: len(each.typed), default=None)
    if form and form.typed:
        yield {"data": form.fill(short, wholly=False)}
    if route.fields or (form and form.typed):
        yield {"data": dict.fromkeys(route.fields, whole) | (form.fill(whole, wholly=True) if form else {})}
    if form and form.files:
        files = {name: (short, whole.encode(), "image/png") for name in form.files}
        yield {"data": form.fill(short, wholly=False), "files": files}
