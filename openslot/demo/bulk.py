"""Rows of the demo that are written in bulk: the verbs would take too long for thousands of them."""

from typing import Any, cast

import asyncpg

from openslot.platform.core.db import Db
from openslot.platform.core.rows import Noun, Rows


async def copy_rows(db: Db, table: str, rows: list[dict[str, Any]]) -> None:
    """Add rows, all with the same columns, to a table; its triggers and constraints see to them as usual."""
    if rows:
        connection = cast("asyncpg.Connection", db)
        await connection.copy_records_to_table(
            table, columns=list(rows[0]), records=[tuple(row.values()) for row in rows]
        )


def to_row(rows: Rows[Noun], noun: Noun) -> dict[str, Any]:
    return dict(zip(rows.stored.names, rows.values(noun), strict=True))
