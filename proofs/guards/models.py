"""A guard of a promise, and the product without it."""

from msgspec import Struct


class Edit(Struct, frozen=True):
    """A guard in a file of the product, and what stands there without it."""

    path: str
    guard: str
    without: str


class Mutant(Struct, frozen=True):
    """A product without a guard, and the test that must fail on it."""

    name: str
    test: str
    edits: tuple[Edit, ...]


def mutant(name: str, test: str, *edits: tuple[str, str, str]) -> Mutant:
    return Mutant(name, f"tests/{test}", tuple(Edit(f"openslot/{path}", *words) for path, *words in edits))
