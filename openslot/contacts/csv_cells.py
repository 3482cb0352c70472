"""Cells of CSV files that a spreadsheet opens safely, and that are read back as they were."""

import csv
import re
from io import StringIO

from openslot.core.spreadsheets import FORMULAS, SEPARATORS, SIGNS, SPACES

GUARD = "'"
_PASSED_OVER = SPACES + GUARD
_IS_INNER = f'(?=[{_PASSED_OVER}"]*[{re.escape(SIGNS)}])'
_INNER = re.compile(f"(?<={SEPARATORS}){_IS_INNER}")
_GUARDED = re.compile(f"(?<={SEPARATORS}){GUARD}{_IS_INNER}")


def write_cell(text: str) -> str:
    """Keep a spreadsheet from taking a cell or a part of it for a formula, with marks that `read_cell` takes off."""
    guarded = _INNER.sub(GUARD, text)
    return f"{GUARD}{guarded}" if _is_formula(text) else guarded


def read_cell(cell: str) -> str:
    """Take off the marks that keep a cell and its parts from being formulas."""
    text = _GUARDED.sub("", cell)
    return text[1:] if text.startswith(GUARD) and _is_formula(text[1:]) else text


def write_tags(tags: tuple[str, ...]) -> str:
    """Write tags into one cell, separated by commas; one that has a comma is put in quotation marks."""
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(tags)
    return text.getvalue()


def _is_formula(text: str) -> bool:
    return text.lstrip(_PASSED_OVER).startswith(FORMULAS)
