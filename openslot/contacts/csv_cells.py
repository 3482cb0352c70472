"""Cells of CSV files that a spreadsheet opens safely, and that are read back as they were."""

import csv
from io import StringIO

# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
GUARD = "'"
_PASSED_OVER = " \u00a0" + GUARD


def write_cell(text: str) -> str:
    """Keep a spreadsheet from taking a cell for a formula, with a mark that `read_cell` takes off again."""
    return f"{GUARD}{text}" if _is_formula(text) else text


def read_cell(cell: str) -> str:
    """Take off the mark that keeps a cell from being a formula."""
    return cell[1:] if cell.startswith(GUARD) and _is_formula(cell[1:]) else cell


def write_tags(tags: tuple[str, ...]) -> str:
    """Write tags into one cell, separated by commas; one that has a comma is put in quotation marks."""
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(tags)
    return text.getvalue()


def _is_formula(text: str) -> bool:
    return text.lstrip(_PASSED_OVER).startswith(FORMULAS)
