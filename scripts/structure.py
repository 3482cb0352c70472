"""How the package is laid out: its five drawers, what imports what, and files that want to be folders."""

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from scripts.reasons import list_literal_skips

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "openslot"
# From the top down: whoever is above may import whoever is below.
DRAWERS = ("top", "doors", "vendors", "domains", "platform")
WEB = ("openslot", "doors", "web")
SHARED = "shared"
# The last word of a file that a domain has once: with a noun before it, the file belongs to a room of that noun.
KINDS = frozenset(
    [
        *("api", "errors", "events", "jobs", "mails", "models", "operations"),
        *("ports", "queries", "reactions", "rules", "schemas", "store", "words"),
    ]
)
CLOSED = frozenset({"public_api", "manage_api", "notice_api"})


class Import(NamedTuple):
    """One module that another one imports, and the name that it gets there if that is not its own."""

    by: str
    of: str
    alias: str | None


class Bound(NamedTuple):
    """A figure of the layout, and what it may be at most."""

    name: str
    measure: Callable[[], int]
    at_most: int


@cache
def list_modules() -> Mapping[str, Path]:
    """List the modules of the package by their names."""
    return {name_module(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def name_module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def list_imports() -> tuple[Import, ...]:
    """List the imports between modules of the package, those for types alone included."""
    return tuple(found for name, path in list_modules().items() for found in _read_imports(name, path))


def _read_imports(name: str, path: Path) -> Iterator[Import]:
    modules = list_modules()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (Import(name, each.name, each.asname) for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                if inner in modules:
                    yield Import(name, inner, each.asname)
                elif node.module in modules:
                    yield Import(name, node.module, None)


def find_drawer(module: str) -> str:
    """Tell in which drawer a module is; whatever lies beside them is the top."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in DRAWERS else DRAWERS[0]


@cache
def count_between_drawers() -> Counter[tuple[str, str]]:
    """Count the imports from one drawer into another; the version of the package itself is everybody's."""
    pairs = ((find_drawer(each.by), find_drawer(each.of)) for each in list_imports() if each.of != "openslot")
    return Counter(pair for pair in pairs if pair[0] != pair[1])


def count_drawers() -> int:
    return len({find_drawer(module) for module in list_modules()})


def count_layers() -> int:
    """Count the steps of the longest way from the top down to the ground."""
    between = count_between_drawers()
    return sum(between[pair] > 0 for pair in pairwise(DRAWERS))


def count_upward() -> int:
    return sum(
        count
        for (above, below), count in count_between_drawers().items()
        if DRAWERS.index(above) > DRAWERS.index(below)
    )


def list_prefixed() -> list[str]:
    """List files of domains that are named after another noun: `noun_kind.py`, or two and more with one first word."""
    found = []
    for folder in sorted(path for path in (PACKAGE / "domains").rglob("*") if path.is_dir()):
        names = [path.stem for path in sorted(folder.glob("*.py")) if path.stem not in CLOSED]
        first = Counter(name.partition("_")[0] for name in names if "_" in name.strip("_"))
        found += [
            f"{folder.relative_to(PACKAGE)}/{name}.py"
            for name in names
            if "_" in name.strip("_") and (name.rpartition("_")[2] in KINDS or first[name.partition("_")[0]] > 1)
        ]
    return found


def list_between_areas() -> list[str]:
    """List the imports from one area of the pages into another; what is in no folder is an area too."""
    return [
        f"{each.by} imports {each.of}"
        for each in list_imports()
        if (by := _find_area(each.by)) and (of := _find_area(each.of)) and of not in {by, SHARED}
    ]


def _find_area(module: str) -> str | None:
    parts = tuple(module.split("."))
    if parts[: len(WEB)] != WEB:
        return None
    inner = parts[len(WEB) :]
    return inner[0] if inner and (PACKAGE / "doors" / "web" / inner[0]).is_dir() else "web"


def list_aliases() -> list[Import]:
    """List where a module is imported under another name than its own."""
    return [each for each in list_imports() if each.alias is not None]


def list_kinds_of_aliases() -> list[tuple[str, str]]:
    """List each alias with its module, in the order of the glossary's table."""
    return sorted({(each.alias, each.of) for each in list_imports() if each.alias is not None})


def count_kinds_of_aliases() -> int:
    return len(list_kinds_of_aliases())


# A bound only ever falls.
BOUNDS = (
    Bound("drawers", count_drawers, 5),
    Bound("layers between drawers", count_layers, 4),
    Bound("imports against the order of drawers", count_upward, 0),
    Bound("files of domains with a prefix of another noun", lambda: len(list_prefixed()), 20),
    Bound("imports between areas of web", lambda: len(list_between_areas()), 0),
    Bound("steps left out with a sentence instead of a code", lambda: len(list_literal_skips()), 0),
    Bound("aliases of modules, kinds", count_kinds_of_aliases, 9),
    Bound("aliases of modules, uses", lambda: len(list_aliases()), 19),
)


def draw_drawers() -> str:
    """Draw the drawers with what is in them, and which of those below each imports."""
    rooms: defaultdict[str, set[str]] = defaultdict(set)
    for module in list_modules():
        parts = module.split(".")
        drawer = find_drawer(module)
        inner = parts[1:2] if drawer == DRAWERS[0] else parts[2:3]
        rooms[drawer].update(inner)
    lines = ["```mermaid", "flowchart TD"]
    for drawer in DRAWERS:
        inner = sorted(rooms[drawer] - {"__main__"})
        rows = [" ".join(inner[start : start + 6]) for start in range(0, len(inner), 6)]
        lines.append(f'    {drawer}["<b>{drawer}</b><br/>{"<br/>".join(rows)}"]')
    between = count_between_drawers()
    lines += [f"    {above} --> {below}" for above in DRAWERS for below in DRAWERS if (above, below) in between]
    return "\n".join([*lines, "```"])
