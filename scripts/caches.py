#!/usr/bin/env python3
"""List the caches of the package, those without a figure marked: `.venv/bin/python scripts/caches.py`."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "openslot"
REMEMBERING = {"cache", "cached_property", "lru_cache"}
OWN = re.compile("Cache")
"""Classes of our own that remember are named so. What nobody else could be asked for is no cache: queues, locks."""
FIGURE = re.compile(r"# benchmarks/caches\.py: (?P<work>.+), (?P<times>[\d.,]+) times")
AT_LEAST = 2.0


class Cache(NamedTuple):
    """A cache, with what the comment above it says: the work that it saves, and how many times as long that takes."""

    path: str
    line: int
    name: str
    work: str = ""
    times: str = ""

    @property
    def has_figure(self) -> bool:
        return bool(self.times) and float(self.times.replace(",", "")) >= AT_LEAST


@cache
def list_caches(package: Path = PACKAGE) -> tuple[Cache, ...]:
    """List every use of functools' caches, and every class of our own that remembers."""
    found = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text("utf-8")
        # Most modules have none, and parsing takes far longer than looking for a word.
        if not OWN.search(text) and not any(each in text for each in REMEMBERING):
            continue
        lines = text.splitlines()
        for line, name in _find_caches(ast.parse(text)):
            figure = FIGURE.fullmatch(lines[line - 2].strip())
            said = (figure["work"], figure["times"]) if figure else ()
            found.append(Cache(path.relative_to(package).as_posix(), line, name, *said))
    return tuple(found)


def list_without_figure() -> list[str]:
    return [f"{each.path}:{each.line} {each.name}" for each in list_caches() if not each.has_figure]


def _find_caches(tree: ast.Module) -> Iterator[tuple[int, str]]:
    known: set[ast.expr] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            caching = [each for each in node.decorator_list if _remembers(each)]
            known |= {*caching, *(each.func for each in caching if isinstance(each, ast.Call))}
            if caching or (isinstance(node, ast.ClassDef) and OWN.search(node.name)):
                yield min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.name
        elif isinstance(node, ast.Call) and node not in known and _remembers(node):
            known.add(node.func)
            yield node.lineno, ast.unparse(node)


def _remembers(node: ast.expr) -> bool:
    while isinstance(node, ast.Call):
        node = node.func
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in REMEMBERING


def main() -> None:
    """Print all caches."""
    for each in list_caches():
        print(f"{'' if each.has_figure else 'no figure: '}{each.path}:{each.line} {each.name}")
    print(f"caches {len(list_caches())}, without a figure {len(list_without_figure())}")


if __name__ == "__main__":
    main()
