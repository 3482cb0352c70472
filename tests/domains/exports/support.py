"""An export as its owner asks for it and reads it."""

import io
import zipfile
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.exports import operations as exports
from openslot.domains.exports.archives import make_export
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime


async def request(runtime: Runtime, user: User) -> UUID:
    async with runtime.transaction(OPERATOR) as work:
        return await exports.request_data_export(work, user)


async def read(runtime: Runtime, user: User, export_id: UUID) -> bytes:
    work = runtime.work(OPERATOR)
    export = await exports.get_ready_export(work, user, export_id)
    body = b"".join([piece async for piece in exports.read_export_file(work, export)])
    assert len(body) == export.size
    return body


async def export(runtime: Runtime, user: User) -> zipfile.ZipFile:
    export_id = await request(runtime, user)
    await make_export(runtime, export_id)
    return zipfile.ZipFile(io.BytesIO(await read(runtime, user, export_id)))
