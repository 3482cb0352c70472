"""The verbs of exports."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.exports import store
from openslot.domains.exports.archives import KEPT_FOR, PURPOSE, name_piece
from openslot.domains.exports.errors import ExportInProgress, ExportLimitExceeded, ExportNotFound
from openslot.domains.exports.files import FILES
from openslot.domains.exports.models import DataExport, ExportState
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work

MAKE = "exports.make"
MAX_A_DAY = 3
DAY = timedelta(days=1)


async def request_data_export(work: Work, user: User) -> UUID:
    """Let the worker make a file of all that is kept about a user; one at a time, and three a day."""
    count, first = await store.count_since(work.db, user.id, since=work.now - DAY)
    export_id = new_id()
    if not await store.insert_export(
        work.db, export_id, user.id, files=len(FILES), now=work.now, expires_at=work.now + KEPT_FOR
    ):
        raise ExportInProgress
    if count >= MAX_A_DAY and first is not None:
        raise ExportLimitExceeded(MAX_A_DAY, retry_after=int((first + DAY - work.now).total_seconds()) + 1)
    await work.plan(MAKE, str(export_id), due_at=work.now, payload=str(export_id), tenant_id=user.id)
    return export_id


async def list_exports(work: Work, user: User) -> list[DataExport]:
    return await store.list_exports(work.db, user.id, now=work.now)


async def get_ready_export(work: Work, user: User, export_id: UUID) -> DataExport:
    found = await store.find_export(work.db, export_id)
    if found is None or found.user_id != user.id or found.state is not ExportState.READY:
        raise ExportNotFound
    if found.expires_at <= work.now:
        raise ExportNotFound
    return found


async def read_export_file(work: Work, export: DataExport) -> AsyncIterator[bytes]:
    """Read the file piece by piece; no connection is held between two pieces."""
    sent = no = 0
    while sent < export.size:
        sealed = await store.find_piece(work.db, export.id, no)
        if sealed is None:
            raise ExportNotFound
        piece = work.runtime.cipher.open(PURPOSE, sealed, owner=name_piece(export.id, no))
        yield piece
        sent, no = sent + len(piece), no + 1
