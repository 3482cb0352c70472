"""The documentation quotes messages that Openslot prints, and names files and sections that exist."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.sources import list_modules, parse

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A run of the tests writes into test-results.
NAMED = r"`((?!test-results/)(?:[\w.-]+/)+[\w-]+\.(?:py|sql|css|js|json|html|toml|yaml)\b)"


def messages() -> Iterator[str]:
    """Every text in the code, with its constants filled in and an ellipsis for every other value."""
    for path in list_modules():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            if isinstance(node, ast.JoinedStr):
                yield "".join(_show(module, part) for part in node.values)


@cache
def all_messages() -> str:
    return "\n".join(messages())


def _show(module: str, part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id.isupper():
        return str(getattr(importlib.import_module(module), part.value.id))
    return "…"


def test_every_quoted_message_exists() -> None:
    page = (ROOT / "docs/troubleshooting.md").read_text("utf-8").partition("## Messages at the start")[2]
    quoted = re.findall(r"^\| (.+?) \| .+ \|$", page, re.MULTILINE)[1:]
    known = all_messages()
    patterns = {text: ".*".join(re.escape(piece.strip()) for piece in text.split("…")) for text in quoted}

    assert len(quoted) > 20
    assert [text for text, pattern in patterns.items() if not re.search(pattern, known)] == []


def test_every_line_that_the_log_is_said_to_have_exists() -> None:
    known = all_messages()
    quoted = [
        (page.name, " ".join(text.split()))
        for page in PAGES
        for text in re.findall(r"\b(?:log says|logs|log has a line)\s+`([^`]+)`", page.read_text("utf-8"))
    ]

    assert len(quoted) >= 7
    assert [(name, text) for name, text in quoted if text not in known] == []


def test_every_file_that_is_named_exists() -> None:
    missing = []
    for page in PAGES:
        named = re.findall(NAMED, page.read_text("utf-8"))
        missing += [
            f"{page.name}: {name}"
            for name in named
            if not any((ROOT / folder / name).exists() for folder in ("", "openslot", "openslot/doors/web"))
        ]

    assert missing == []


def test_every_section_that_is_linked_exists() -> None:
    texts = {page.resolve(): page.read_text("utf-8") for page in PAGES}
    sections = {page: {_anchor(title) for title in _titles(text)} for page, text in texts.items()}
    links = [
        (page, (page.parent / target).resolve() if target else page, section)
        for page, text in texts.items()
        for target, section in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text)
    ]

    assert len(links) > 50
    assert [
        f"{page.name}: {target.name}#{section}" for page, target, section in links if section not in sections[target]
    ] == []


def _titles(page: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.MULTILINE)


def _anchor(title: str) -> str:
    """The name that GitHub gives to a section."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
