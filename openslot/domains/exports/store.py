"""All SQL of exports; what they read of other domains is in `content_store.py`."""

from datetime import datetime
from uuid import UUID

from openslot.domains.exports.models import DataExport
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.rows import Rows

EXPORTS = Rows(DataExport, "data_exports")
# An attempt that was overtaken by another writes nothing.
OWN_ATTEMPT = "select from data_exports where id = $1 and attempt = $2 and state = 'running' for share"


async def insert_export(
    db: Db, export_id: UUID, user_id: UUID, *, files: int, now: datetime, expires_at: datetime
) -> bool:
    """Write a new export; False if the user's last one is not finished."""
    statement = """insert into data_exports (id, user_id, state, files, requested_at, expires_at)
        values ($1, $2, 'queued', $3, $4, $5)
        on conflict (user_id) where state in ('queued', 'running') do nothing"""
    return count_of(await db.execute(statement, export_id, user_id, files, now, expires_at)) == 1


async def list_exports(db: Db, user_id: UUID, *, now: datetime) -> list[DataExport]:
    statement = f"""select {EXPORTS.columns} from data_exports where user_id = $1 and expires_at > $2
        order by requested_at desc, id desc"""
    return [EXPORTS.read(row) for row in await db.fetch(statement, user_id, now)]


async def find_export(db: Db, export_id: UUID) -> DataExport | None:
    row = await db.fetchrow(f"select {EXPORTS.columns} from data_exports where id = $1", export_id)
    return EXPORTS.read(row) if row else None


async def begin_attempt(db: Db, export_id: UUID, attempt: UUID) -> bool:
    """Begin to write an export from the start; False if it is finished or gone."""
    statement = """update data_exports set state = 'running', attempt = $2, files_done = 0, size = 0
        where id = $1 and state in ('queued', 'running') returning id"""
    started = await db.fetchval(statement, export_id, attempt)
    if started is None:
        return False
    await db.execute("delete from data_export_pieces where export_id = $1", export_id)
    return True


async def insert_piece(db: Db, export_id: UUID, attempt: UUID, no: int, sealed: bytes) -> bool:
    statement = (
        f"""insert into data_export_pieces (export_id, no, sealed) select $1, $3, $4 where exists ({OWN_ATTEMPT})"""
    )
    return count_of(await db.execute(statement, export_id, attempt, no, sealed)) == 1


async def update_progress(db: Db, export_id: UUID, attempt: UUID, *, files_done: int) -> None:
    statement = "update data_exports set files_done = $3 where id = $1 and attempt = $2"
    await db.execute(statement, export_id, attempt, files_done)


async def finish_export(
    db: Db, export_id: UUID, attempt: UUID, *, size: int, now: datetime, expires_at: datetime
) -> bool:
    """Make an export ready and delete the user's older ones; False if another attempt has taken over."""
    statement = """
        update data_exports set state = 'ready', size = $3, files_done = files, finished_at = $4, expires_at = $5
        where id = $1 and attempt = $2 and state = 'running' returning user_id"""
    user_id = await db.fetchval(statement, export_id, attempt, size, now, expires_at)
    if user_id is None:
        return False
    # The rows of older exports stay, because they count for the limit; their files go.
    statement = """delete from data_export_pieces p using data_exports x
        where x.id = p.export_id and x.user_id = $1 and x.id <> $2"""
    await db.execute(statement, user_id, export_id)
    statement = "update data_exports set expires_at = $3 where user_id = $1 and id <> $2 and state = 'ready'"
    await db.execute(statement, user_id, export_id, now)
    return True


async def fail_export(db: Db, export_id: UUID, *, now: datetime) -> None:
    statement = """update data_exports set state = 'failed', attempt = null, finished_at = $2
        where id = $1 and state in ('queued', 'running')"""
    await db.execute(statement, export_id, now)
    await db.execute("delete from data_export_pieces where export_id = $1", export_id)


async def count_since(db: Db, user_id: UUID, *, since: datetime) -> tuple[int, datetime | None]:
    """Count the exports that a user has asked for and that did not fail, and return when the first of them was."""
    statement = """select count(*) as exports, min(requested_at) as first from data_exports
        where user_id = $1 and requested_at > $2 and state <> 'failed'"""
    row = await db.fetchrow(statement, user_id, since)
    return (row["exports"], row["first"]) if row else (0, None)


async def find_piece(db: Db, export_id: UUID, no: int) -> bytes | None:
    statement = """select p.sealed from data_export_pieces p join data_exports x on x.id = p.export_id
        where p.export_id = $1 and p.no = $2 and x.state = 'ready'"""
    found: bytes | None = await db.fetchval(statement, export_id, no)
    return found


async def delete_pieces(db: Db, *, now: datetime, limit: int) -> int:
    statement = """delete from data_export_pieces where (export_id, no) in (
                select p.export_id, p.no from data_exports x join data_export_pieces p on p.export_id = x.id
                where x.expires_at <= $1 limit $2)"""
    return count_of(await db.execute(statement, now, limit))


async def fail_abandoned(db: Db, *, before: datetime, now: datetime) -> int:
    statement = """update data_exports set state = 'failed', attempt = null, finished_at = $2
            where state in ('queued', 'running') and requested_at < $1"""
    return count_of(await db.execute(statement, before, now))
