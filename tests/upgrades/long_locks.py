"""What a migration must not do to a table that may be large: hold a lock for as long as it takes to read all of it."""

import re
from collections.abc import Iterator

from openslot.platform.core.migrate import split_statements

MAKES_TABLE = re.compile(r"create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(?P<table>\w+)", re.IGNORECASE)
BUILDS_INDEX = re.compile(
    r"create\s+(?:unique\s+)?index\s+(?!concurrently\b).*?\bon\s+(?:only\s+)?(?P<table>\w+)", re.IGNORECASE | re.DOTALL
)
ALTERS_TABLE = re.compile(
    r"alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?(?P<table>\w+)\s+(?P<actions>.*)", re.IGNORECASE | re.DOTALL
)
LONG_ACTIONS = {
    r"\balter\s+(column\s+)?\w+\s+(set\s+data\s+)?type\b": "a new type rewrites the table: add a column and copy",
    r"\badd\s+(column\s+)?(if\s+not\s+exists\s+)?\w+\s[^,]*\bgenerated\b": "a generated column rewrites the table",
    r"\badd\s+(column\s+)?(if\s+not\s+exists\s+)?\w+\s[^,]*\bdefault\s+[^,]*(random|clock_timestamp|nextval)": (
        "a default that differs from row to row rewrites the table"
    ),
    r"\badd\s+(constraint\s+\w+\s+)?(primary\s+key|unique|exclude)\s*\(": "build its index concurrently, then use that",
    r"\bset\s+(un)?logged\b": "the table is rewritten",
}
# With a valid check that says the same, PostgreSQL reads nothing.
SETS_NOT_NULL, VALIDATES = (
    re.compile(words, re.IGNORECASE) for words in (r"\bset\s+not\s+null\b", r"\bvalidate\s+constraint\b")
)
NAMELESS = re.compile(r"create\s+(unique\s+)?index\s+concurrently\s+on\b", re.IGNORECASE)
CHECKS_ROWS = re.compile(r"\badd\s+(constraint\s+\w+\s+)?(check|foreign\s+key)\b", re.IGNORECASE)
REWRITES = re.compile(r"(cluster|vacuum\s+full|reindex\s+(?!.*\bconcurrently\b))\b", re.IGNORECASE)


def find_long_locks(script: str) -> Iterator[str]:
    """Tell what in a migration would keep others out of a large table; tables that it makes itself are empty."""
    statements = split_statements(script)
    new = {found["table"].lower() for each in statements if (found := MAKES_TABLE.match(each))}
    for statement in statements:
        if REWRITES.match(statement):
            yield f"the table is rewritten: {statement}"
        if NAMELESS.match(statement):
            yield f"an index without a name can't be found again when its building was cut off: {statement}"
        index = BUILDS_INDEX.match(statement)
        if index and index["table"].lower() not in new:
            yield f"an index is built while nobody may write: build it concurrently: {statement}"
        altered = ALTERS_TABLE.match(statement)
        if altered and altered["table"].lower() not in new:
            yield from (f"{why}: {statement}" for why in _find_long_actions(altered["actions"]))
            if SETS_NOT_NULL.search(statement) and not any(VALIDATES.search(each) for each in statements):
                yield f"every row is read for nulls: validate a check first, then set it: {statement}"


def _find_long_actions(actions: str) -> Iterator[str]:
    yield from (why for action, why in LONG_ACTIONS.items() if re.search(action, actions, re.IGNORECASE))
    if CHECKS_ROWS.search(actions) and not re.search(r"\bnot\s+valid\b", actions, re.IGNORECASE):
        yield "every row is checked: add it not valid, and validate it in a statement of its own"
