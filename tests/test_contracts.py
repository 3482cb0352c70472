"""The contracts of imports name all files they are about, outgoing calls their owner, and no test imports another."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.figures import circles, import_graph
from tests.support.sources import list_modules, parse, read_source

ROOT = Path(__file__).parents[1]
NO_STORES = "Doors and wire shapes never read a store"
PURE = "Rules and pure files know no database, clock or environment"


def get_contract(name: str) -> dict[str, Any]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(contract for contract in contracts if contract["name"] == name)


def list_names(ending: str) -> set[str]:
    """List the modules, at whatever depth, whose name is this word or ends with it."""
    return {
        f"openslot.**.{path.stem}"
        for path in (ROOT / "openslot").rglob(f"*{ending}.py")
        if path.stem == ending or path.stem.endswith(f"_{ending}")
    }


@pytest.mark.parametrize(
    ("contract", "side", "ending"),
    [
        (PURE, "source_modules", "rules"),
        (NO_STORES, "forbidden_modules", "store"),
        (NO_STORES, "source_modules", "api"),
        (NO_STORES, "source_modules", "schemas"),
    ],
    ids=["rules are pure", "stores are not read", "by handlers", "by wire shapes"],
)
def test_a_contract_covers_all_files_of_a_kind(contract: str, side: str, ending: str) -> None:
    assert list_names(ending) - set(get_contract(contract)[side]) == set()


def test_every_outgoing_call_says_on_whose_behalf_it_is_made() -> None:
    anonymous = re.compile(r"runtime\.outbound\b(?!\.(?:on_behalf_of|check_url)\()")
    found = [str(path) for path in list_modules() if anonymous.search(read_source(path))]
    assert found == [], "look-ups are shared fairly by owner: call `runtime.outbound.on_behalf_of(owner_id)` first"


WRITES = re.compile(r"\b(insert\s+into|update\s+\w+(\s+\w+)?\s+set|delete\s+from|truncate)\b|\.insert\(|\.assign\(")


def list_foreign_names(path: Path) -> Iterator[tuple[Path, str]]:
    """List what a module takes from the stores of other domains: each store, and the name."""
    tree = parse(path)
    domain = path.relative_to(ROOT).parts[:3]
    stores: dict[str, Path] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            module = ROOT / node.module.replace(".", "/")
            for alias in node.names:
                named = module / f"{alias.name}.py"
                if module.parts[len(ROOT.parts) :][:3] == domain:
                    continue
                if module.name.endswith("store") and module.with_suffix(".py").exists():
                    yield module.with_suffix(".py"), alias.name
                elif named.stem.endswith("store") and named.exists():
                    stores[alias.asname or alias.name] = named
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in stores:
            yield stores[node.value.id], node.attr


def writes(store: Path, name: str, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether a function or a constant of a store, or one that it uses there, has SQL that writes."""
    for node in parse(store).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        if name in {getattr(target, "name", getattr(target, "id", "")) for target in targets}:
            used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - seen - {name}
            is_written = bool(WRITES.search(ast.unparse(node)))
            return is_written or any(writes(store, each, seen | {name}) for each in used)
    return False


def test_tables_are_written_by_the_verbs_of_their_own_domain() -> None:
    # Who takes something from a store names it; the other modules need not be parsed.
    modules = [path for path in list_modules() if "store" in read_source(path)]
    taken = {(path, store, name) for path in modules for store, name in list_foreign_names(path)}
    found = [
        f"{path.relative_to(ROOT)}: {name} of {store.relative_to(ROOT)}"
        for path, store, name in taken
        if writes(store, name)
    ]

    assert len(taken) > 30
    assert found == [], "another domain's store may be read and locked; what writes its tables is a verb of that domain"


def test_no_test_module_imports_from_another() -> None:
    imported = re.compile(
        r"^\s*from tests\.(?:\w+\.)*test_\w+ import|^\s*from tests[\w.]* import .*\btest_\w+", re.MULTILINE
    )
    found = [str(path) for path in (ROOT / "tests").rglob("*.py") if imported.search(path.read_text("utf-8"))]
    assert found == [], (
        "what several modules need belongs to tests/support, or to the folder's conftest.py or support.py"
    )


def test_no_modules_import_each_other_not_even_for_types() -> None:
    trees = {path: parse(path) for path in list_modules()}
    assert circles(import_graph(trees)) == []
