"""A docstring of a field says what the field is: “The …”, “Whether …”, “How many …”, “Set if …”, “None if …”."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.support.sources import PACKAGE, list_modules, parse, read_source

# Who reads “Of a host.” has to guess what there is of a host.
OPENINGS = (
    "After|As|At|Before|Below|By|For|From|In|Instead|Not|Of|On|Per|Such|That|Through|Those|To|Until|Up|"
    "What|Which|Who|Whom|Whose|With"
)
OPENING = re.compile(rf"({OPENINGS})\b")
# “None: the host's” leaves out the verb.
SHORTHAND = re.compile(r"\b([Nn]one|empty): ")
# A module without both has nothing to be found, and need not be parsed.
SUSPECT = re.compile(rf'"""{OPENING.pattern}|{SHORTHAND.pattern}')


def list_field_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """List the texts that stand below fields, attributes and constants, with their lines."""
    for body in (getattr(node, "body", None) for node in ast.walk(tree)):
        for field, text in pairwise(body if isinstance(body, list) else ()):
            if isinstance(field, ast.Assign | ast.AnnAssign) and isinstance(text, ast.Expr):
                match text.value:
                    case ast.Constant(value=str(words)):
                        yield text.lineno, " ".join(words.split())


def find_riddles(tree: ast.Module) -> list[tuple[int, str]]:
    return [
        (line, words) for line, words in list_field_docstrings(tree) if OPENING.match(words) or SHORTHAND.search(words)
    ]


@pytest.mark.parametrize(
    ("docstring", "is_riddle"),
    [
        ("Set if the recipient is a host.", False),
        ("None if unanswered, or answered without an account.", False),
        ("Whether it is one of those that are shown.", False),
        ("Of a host.", True),
        ("Whom the call is audited for.", True),
        ("What was paid.", True),
        ("None: nobody, or no user.", True),
        ("A language tag; None: the host's.", True),
    ],
)
def test_riddles_are_found(docstring: str, is_riddle: bool) -> None:
    for code in (f'class Noun:\n    field: int\n    """{docstring}"""', f'FIELD = 1\n"""{docstring}"""'):
        assert bool(find_riddles(ast.parse(code))) is is_riddle


def test_docstrings_of_fields_are_no_riddles() -> None:
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: {words}"
        for path in list_modules()
        if SUSPECT.search(read_source(path))
        for line, words in find_riddles(parse(path))
    ]

    assert found == []
