"""One word, one thing: no two classes of the product have the same name, and no alias has the name of a class."""

import ast
from collections import defaultdict
from functools import cache

from tests.support.sources import PACKAGE, list_modules, parse


@cache
def definitions() -> list[tuple[str, ast.stmt]]:
    """List what the modules of the product define."""
    return [(str(path.relative_to(PACKAGE.parent)), node) for path in list_modules() for node in parse(path).body]


def find_classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path, node in definitions():
        if isinstance(node, ast.ClassDef):
            found[node.name].append(path)
    return found


def test_no_two_classes_have_the_same_name() -> None:
    assert {name: paths for name, paths in find_classes().items() if len(paths) > 1} == {}


def test_no_alias_of_a_type_has_the_name_of_a_class() -> None:
    classes = find_classes()
    assigned = [(path, node) for path, node in definitions() if isinstance(node, ast.Assign)]
    aliases = [
        (path, target.id)
        for path, node in assigned
        for target in node.targets
        if isinstance(target, ast.Name) and not ast.unparse(node.value).startswith("TypeVar(")
    ]

    assert len(aliases) > 100
    assert [(path, name) for path, name in aliases if name in classes] == []
