"""Files of messages: they stay at the provider, and are fetched for the owner of the thread alone."""

from uuid import UUID

from openslot.accounts.models import User
from openslot.core.errors import require
from openslot.core.work import Work
from openslot.messaging import connection_store, store
from openslot.messaging.connections import opened
from openslot.messaging.errors import MessageFileNotFound, MessageFileUnavailable
from openslot.messaging.models import Media, MediaLimits
from openslot.messaging.ports import MediaRefused, MessageFault, MessageRefused

# What people send from a phone. No type that a browser runs: no HTML, no SVG.
LIMITS = MediaLimits(
    max_bytes=16 * 1024 * 1024,
    content_types=(
        "image/jpeg",
        "image/png",
        "image/gif",
        "image/webp",
        "image/heic",
        "audio/*",
        "video/*",
        "application/pdf",
        "text/vcard",
        "text/x-vcard",
    ),
)


async def fetch_file(work: Work, owner: User, *, conversation_id: UUID, message_id: UUID, position: int) -> Media:
    """Fetch a file of a message from its provider, within the limits; begins no transaction."""
    found = await store.find_file(
        work.db, owner.id, conversation_id=conversation_id, message_id=message_id, position=position
    )
    ref, connection_id = require(found, MessageFileNotFound)
    connection = await connection_store.find(work.db, connection_id) if connection_id else None
    if connection is None or connection.token is None:
        raise MessageFileNotFound
    try:
        async with opened(work.runtime, connection) as account:
            return await account.fetch_media(work.runtime.secrets.open(ref), limits=LIMITS)
    except (MessageRefused, MediaRefused):
        raise MessageFileNotFound from None
    except MessageFault:
        raise MessageFileUnavailable from None
