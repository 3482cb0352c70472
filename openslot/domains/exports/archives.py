"""Makes the file of an export: read from one snapshot, compressed, sealed and kept piece by piece."""

import asyncio
import zipfile
from datetime import datetime, timedelta
from typing import IO
from uuid import UUID

import asyncpg

from openslot.domains.accounts.events import UserDataExported
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user
from openslot.domains.exports import store
from openslot.domains.exports.files import FILES
from openslot.domains.exports.models import ExportFile
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.ids import new_id
from openslot.platform.core.query_plans import use_custom_plans
from openslot.platform.core.work import Runtime, Work

PIECE = 1024 * 1024
PURPOSE = "export"
KEPT_FOR = timedelta(days=7)
MAX_BYTES = 2 * 1024**3


class ZipPieces:
    """Collects what a ZIP file consists of, and gives it away in pieces of one size."""

    def __init__(self, *, written_at: datetime) -> None:
        self._buffer = bytearray()
        self._stamp = written_at.timetuple()[:6]
        # A stream that can't seek makes zipfile write sizes after each file instead of going back.
        self._zip = zipfile.ZipFile(_Sink(self._buffer), "w", zipfile.ZIP_DEFLATED, allowZip64=True)

    def open(self, name: str) -> IO[bytes]:
        """Begin a file; what is written to it is compressed at once."""
        info = zipfile.ZipInfo(name, date_time=self._stamp)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return self._zip.open(info, "w", force_zip64=True)

    def take(self) -> bytes | None:
        """Take the next piece; None while there is not enough."""
        if len(self._buffer) < PIECE:
            return None
        piece = bytes(self._buffer[:PIECE])
        del self._buffer[:PIECE]
        return piece

    def close(self) -> bytes:
        """Write the directory at the end and take what is left."""
        self._zip.close()
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest


class _Sink:
    def __init__(self, buffer: bytearray) -> None:
        self._buffer = buffer

    def write(self, data: bytes, /) -> int:
        self._buffer += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: everything is in the buffer already."""

    def close(self) -> None:
        """Do nothing: the buffer stays."""


class ExportTooLarge(Exception):
    """The file would be larger than is kept."""


class AttemptLost(Exception):
    """Another attempt writes the export, or it was deleted."""


class PieceWriter:
    def __init__(self, work: Work, export_id: UUID, attempt: UUID) -> None:
        self.work, self.export_id, self.attempt = work, export_id, attempt
        self.zip = ZipPieces(written_at=work.now)
        self.size = self.no = 0

    async def write_file(self, file: ExportFile, user: User, connection: asyncpg.Connection) -> None:
        with self.zip.open(file.name) as out:
            async for piece in file.write(self.work, user, connection):
                await asyncio.to_thread(out.write, piece)
                while (full := self.zip.take()) is not None:
                    await self._keep(full)

    async def close(self) -> None:
        with self.zip.open("README.txt") as out:
            out.write(write_readme(self.work).encode())
        await self._keep(self.zip.close())

    async def _keep(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > MAX_BYTES:
            raise ExportTooLarge
        sealed = self.work.runtime.cipher.seal(PURPOSE, piece, owner=name_piece(self.export_id, self.no))
        if not await store.insert_piece(self.work.db, self.export_id, self.attempt, self.no, sealed):
            raise AttemptLost
        self.no += 1


async def make_export(runtime: Runtime, export_id: UUID) -> None:
    """Make an export from the start, whatever an earlier attempt has left, and notify its user."""
    attempt = new_id()
    async with runtime.transaction(SYSTEM) as work:
        if not await store.begin_attempt(work.db, export_id, attempt):
            return
    work = runtime.work(SYSTEM)
    export = await store.find_export(work.db, export_id)
    if export is None:
        return
    user = await get_user(work, export.user_id)
    writer = PieceWriter(work, export_id, attempt)
    async with (
        runtime.pool.acquire() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
        use_custom_plans(connection),
    ):
        for done, file in enumerate(FILES, 1):
            await writer.write_file(file, user, connection)
            await store.update_progress(work.db, export_id, attempt, files_done=done)
    await writer.close()
    await _finish(runtime, writer, user)


async def _finish(runtime: Runtime, writer: PieceWriter, user: User) -> None:
    async with runtime.transaction(SYSTEM) as work:
        expires_at = work.now + KEPT_FOR
        if not await store.finish_export(
            work.db, writer.export_id, writer.attempt, size=writer.size, now=work.now, expires_at=expires_at
        ):
            raise AttemptLost
        await work.record(
            UserDataExported(
                user_id=user.id,
                email=user.email,
                export_id=writer.export_id,
                expires_at=expires_at,
                base_url=runtime.settings.public_url,
            )
        )


def name_piece(export_id: UUID, no: int) -> bytes:
    """Name a piece, so that none can be opened in place of another."""
    return export_id.bytes + no.to_bytes(4)


def write_readme(work: Work) -> str:
    files = "\n\n".join(f"{file.name}\n    {file.about}" for file in FILES)
    return (
        f"Your data in Openslot, as of {work.now:%d %B %Y, %H:%M} UTC.\n\n"
        "JSON files have the names and formats of the REST API. All times are in UTC. CSV files can be opened with a\n"
        "spreadsheet; a cell that a spreadsheet could take for a formula begins with an apostrophe.\n\n"
        "Passwords, keys, secrets and secret links are not included.\n\n"
        f"{files}\n"
    )
