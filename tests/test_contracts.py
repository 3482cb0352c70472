"""The contracts of imports name all files they are about, outgoing calls their owner, and no test imports another."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

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
    found = [str(path) for path in (ROOT / "openslot").rglob("*.py") if anonymous.search(path.read_text())]
    assert found == [], "look-ups are shared fairly by owner: call `runtime.outbound.on_behalf_of(owner_id)` first"


def test_no_test_module_imports_from_another() -> None:
    imported = re.compile(
        r"^\s*from tests\.(?:\w+\.)*test_\w+ import|^\s*from tests[\w.]* import .*\btest_\w+", re.MULTILINE
    )
    found = [str(path) for path in (ROOT / "tests").rglob("*.py") if imported.search(path.read_text("utf-8"))]
    assert found == [], (
        "what several modules need belongs to tests/support, or to the folder's conftest.py or support.py"
    )
