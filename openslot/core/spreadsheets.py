"""Cells that a spreadsheet can open safely."""

# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def make_safe(cell: str) -> str:
    """Keep a spreadsheet from taking a cell for a formula."""
    return f"'{cell}" if cell.lstrip(" \u00a0").startswith(FORMULAS) else cell
