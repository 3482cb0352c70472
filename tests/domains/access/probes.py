"""Handlers that write a row, so that one can count how often they ran."""

from msgspec import Struct

from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Work
from openslot.platform.routing import get, patch, post

TABLE = "create table probe_rows (id bigint generated always as identity, note text not null)"


class Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to write, and how it should end."""

    note: str
    lock: int = 0
    ending: str = "good"


@post("/api/v1/probe/rows", status=201)
async def add_row(data: Row, work: Work) -> dict[str, object]:
    """Write a row, once the lock that is named can be had, and end as asked."""
    return await _add(work, data)


@patch("/api/v1/probe/rows/{row}")
async def change_row(row: str, data: Row, work: Work) -> dict[str, object]:
    """Write a row under another path."""
    return {**await _add(work, data), "row": row}


@get("/api/v1/probe/rows")
async def count_rows(work: Work) -> dict[str, int]:
    """Tell how many rows there are."""
    return {"rows": await work.db.fetchval("select count(*) from probe_rows")}


async def _add(work: Work, data: Row) -> dict[str, object]:
    number = await work.db.fetchval("insert into probe_rows (note) values ($1) returning id", data.note)
    await work.db.execute("select pg_advisory_xact_lock_shared($1)", data.lock)
    if data.ending == "refused":
        raise Conflict("The row was not wanted")
    if data.ending == "broken":
        raise RuntimeError("after the row was written")
    if data.ending == "killed":
        await work.db.execute("select pg_terminate_backend(pg_backend_pid())")
    return {"id": number, "note": data.note}


PROBES = (add_row, change_row, count_rows)
