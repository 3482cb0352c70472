"""Files of messages, fetched from the provider for the owner of the thread."""

from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.messaging import files
from openslot.domains.messaging.errors import MessageFileNotFound
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Response, get

LIMIT = RateLimit("message-files", 120)


@get("/conversations/{conversation_id}/messages/{message_id}/files/{position}", limit=LIMIT)
async def download_message_file(
    work: Work, user: User, conversation_id: UUID, message_id: UUID, position: str
) -> Response:
    """Send a file as a download: what a stranger has sent is never shown as a part of the site."""
    if len(position) > 2 or not (position.isascii() and position.isdigit()):
        raise MessageFileNotFound
    number = int(position)
    file = await files.fetch_file(work, user, conversation_id=conversation_id, message_id=message_id, position=number)
    headers = {
        "content-type": file.content_type,
        "content-disposition": f"attachment; filename=file-{number + 1}",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
    }
    return Response(headers=headers, body=file.content)
