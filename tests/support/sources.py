"""The sources of the product, read and parsed once in a process."""

import ast
import gc
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import openslot

PACKAGE = Path(openslot.__file__).parent


@cache
def list_modules() -> Sequence[Path]:
    """List the modules of the product."""
    return sorted(PACKAGE.rglob("*.py"))


@cache
def read_source(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def parse(path: Path) -> ast.Module:
    """Parse a module; nobody may change the tree, which all tests share."""
    was_enabled = gc.isenabled()
    # A tree is many objects that all stay: looking through them again and again takes longer than parsing.
    gc.disable()
    try:
        return ast.parse(read_source(path))
    finally:
        if was_enabled:
            gc.enable()
