"""SQL is in store files; only core, which has no domain, keeps it beside the code that runs it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "openslot"
CORE = PACKAGE / "core"
# Sentences begin with a capital letter, SQL does not.
SQL = re.compile(
    r"^\s*select\s|\bselect\b.*\bfrom\b|\b(?i:insert\s+into|delete\s+from)\s|\b(?i:update\s+\w+(\s+(as\s+)?\w+)?\s+set)\s",
    re.DOTALL,
)


def list_literals(source: str) -> Iterator[tuple[int, str]]:
    """List the strings of a module with their lines, formatted ones as a whole, but no docstrings."""
    tree = ast.parse(source)
    left_out = {
        id(part)
        for node in ast.walk(tree)
        for part in (node.values if isinstance(node, ast.JoinedStr) else [getattr(node, "value", None)])
        if isinstance(node, ast.JoinedStr | ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def find_sql(source: str) -> list[int]:
    return [line for line, text in list_literals(source) if SQL.search(text)]


def may_have_sql(path: Path) -> bool:
    return path.stem == "store" or path.stem.endswith("_store") or CORE in path.parents


def test_sql_is_in_store_files_and_in_core() -> None:
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not may_have_sql(path)
        for line in find_sql(path.read_text())
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'db.fetch("select id from users")',
        'db.fetch("""\nselect\n  id\nfrom users""")',
        'db.fetchval(f"select {LOCK}")',
        'db.execute(f"insert into {table} values ($1)")',
        'db.execute("INSERT INTO users values ($1)")',
        'db.execute("update users as u set name = $1")',
        'db.execute("with gone as (delete from users returning id) select count(*) from gone")',
    ],
)
def test_a_statement_is_recognized(source: str) -> None:
    assert find_sql(source) == [1]


@pytest.mark.parametrize(
    "source",
    [
        '"""Delete from the list what was selected."""',
        'Text("Select a time from the list")',
        'Text("Update the settings")',
        'def insert() -> None:\n    """Insert into the table."""',
    ],
)
def test_a_sentence_is_not_a_statement(source: str) -> None:
    assert find_sql(source) == []
