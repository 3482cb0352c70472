"""Cells that a spreadsheet can open safely."""

import re

# A spreadsheet takes a cell that begins with one of these for a formula.
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
FORMULAS = (*SIGNS, "\t", "\r", "\n")
# Excel separates by semicolons in many countries, and LibreOffice by tabs too. For them our commas and quotation marks
# are ordinary characters, so that a cell begins behind each of these as well, even with an empty pair of marks.
SEPARATORS = "[;\t\r\n]"
SPACES = " \u00a0"
_INNER = re.compile(f'(?<={SEPARATORS})(?=[{SPACES}"]*[{re.escape(SIGNS)}])')


def make_safe(cell: str) -> str:
    """Keep a spreadsheet from taking a cell, or a part of it, for a formula."""
    guarded = _INNER.sub("'", cell)
    return f"'{guarded}" if cell.lstrip(SPACES).startswith(FORMULAS) else guarded
