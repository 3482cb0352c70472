"""Find the words that a reader would see and no catalog knows, in templates, page modules and scripts."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from jinja2 import nodes

from openslot.doors.web.shared.templating import templates

SEEN = frozenset({"alt", "aria-label", "label", "placeholder", "title", "data-label", "data-copied", "data-failed"})
UNSEEN = frozenset({"code", "script", "style"})
# The same in every language.
NAMES = frozenset({"openslot", "Openslot", "UTC", "Google", "Outlook", "iCloud", "Fastmail", "Nextcloud"})
VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
WORD = re.compile(r"[^\W\d_]{2,}")
# What a macro adds to a tag that stands elsewhere.
ATTRIBUTE = re.compile(r'\b(?:[a-z-]+="[^"]*"|(?:autofocus|required)\b)')
TAG = re.compile(r"<[^<>]*>?")
# What a reader would take for words: a capital and what follows, or two words with a space between them.
SENTENCE = re.compile(r"^[A-Z][a-z]+\b(?![-/_.])|[A-Za-z]{2,} [a-z]{2,}")
TRANSLATED = frozenset({"_", "gettext", "ngettext", "pgettext", "npgettext"})
TEXTS = frozenset({"Text", "PluralText", "CodedReason"})
# Told to programmers, not to readers.
RAISED = frozenset({"RuntimeError", "TypeError", "LookupError", "NotImplementedError"})
SCRIPT_TEXT = re.compile(r"""(?<![.\w])(["'`])((?:(?!\1).)*)\1""")


def in_markup(source: str) -> list[str]:
    """List the words in a template's own HTML: its text, and the attributes that are shown or read aloud."""
    reader = _Reader()
    reader.feed(_without_code(source))
    reader.close()
    return reader.found


def in_expressions(source: str) -> list[str]:
    """List the words in a template's expressions that are not handed to a catalog."""
    return list(_constants(templates.parse(source)))


def in_module(source: str) -> list[str]:
    """List the words in a module that are neither a text of the catalogs nor told to programmers."""
    return list(_strings(ast.parse(source)))


def in_refusals(source: str) -> list[str]:
    """List what refusals say, in a module that defines them, without being a text of the catalogs."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [
        found
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
        for argument in (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg != "headers"))
        for found in _plain(argument)
    ]


def in_raised(source: str, exceptions: frozenset[str]) -> list[str]:
    """List what these exceptions are raised with, in a module, without being a text of the catalogs."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [
        found
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in exceptions
        for argument in call.args
        for found in _plain(argument)
    ]


def in_reasons(source: str) -> list[str]:
    """List the reasons that a module gives for what it does, without being a text of the catalogs."""
    return [
        found
        for node in ast.walk(ast.parse(source))
        for value in _reasons(node)
        for found in _plain(value)
        if SENTENCE.search(found.strip("f'\""))
    ]


def in_script(source: str) -> list[str]:
    """List the words in a browser script, comments left out."""
    code = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)
    return [match[2] for match in SCRIPT_TEXT.finditer(code) if SENTENCE.search(match[2])]


def _without_code(source: str) -> str:
    """Take out everything between Jinja's braces, and whatever stands between `trans` and `endtrans`."""
    parts, skipping, at_block = [], False, False
    for _, kind, value in templates.lex(source):
        if kind == "block_begin":
            at_block = True
        elif kind == "name" and at_block:
            skipping = value == "trans" or (skipping and value != "endtrans")
            at_block = False
        elif kind == "data" and not skipping:
            parts.append(value)
    return "".join(parts)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        hidden = self.is_hidden() or tag in UNSEEN or values.get("lang") == "en"
        if not hidden:
            self.found += [value for name, value in values.items() if name in SEEN and _has_words(value)]
        if tag not in VOID:
            self.open.append((tag, hidden))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self.is_hidden() and _has_words(data):
            self.found.append(" ".join(data.split()))

    def is_hidden(self) -> bool:
        return bool(self.open) and self.open[-1][1]


def _has_words(text: str) -> bool:
    return any(word not in NAMES for word in WORD.findall(ATTRIBUTE.sub("", text)))


def _constants(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in TRANSLATED:
        return
    if isinstance(node, nodes.Const) and isinstance(node.value, str) and SENTENCE.search(node.value):
        yield node.value
    for child in node.iter_child_nodes():
        yield from _constants(child)


def _strings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TEXTS | RAISED:
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if SENTENCE.search(TAG.sub("", node.value)) and node.value not in NAMES:
            yield node.value
        return
    for child in _values(node) if isinstance(node, ast.Dict) else ast.iter_child_nodes(node):
        yield from _strings(child)


def _values(node: ast.Dict) -> Iterator[ast.expr]:
    """Yield the values of a dictionary; the types of JSON-LD are names that only programs read."""
    for key, value in zip(node.keys, node.values, strict=True):
        if not (isinstance(key, ast.Constant) and key.value == "@type"):
            yield value


def _reasons(node: ast.AST) -> list[ast.expr]:
    """List what a keyword or a variable named `reason` is given."""
    if (isinstance(node, ast.keyword) and node.arg == "reason") or (
        isinstance(node, ast.Assign) and any(ast.unparse(target).lower() == "reason" for target in node.targets)
    ):
        value = node.value
    else:
        return []
    return value.values if isinstance(value, ast.BoolOp) else [value]


def _plain(node: ast.AST) -> Iterator[str]:
    """List the strings that a refusal is given as they are; the names of fields are no words."""
    if isinstance(node, ast.Dict):
        for value in node.values:
            yield from _plain(value)
    elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield ast.unparse(node)
