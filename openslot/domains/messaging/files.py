"""Files of messages and calls: they stay at the provider, and are fetched for the owner alone."""

from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.calls.models import Call
from openslot.domains.calls.operations import get_call
from openslot.domains.conversations.models import clean
from openslot.domains.messaging import store
from openslot.domains.messaging.connections.accounts import opened_message_account
from openslot.domains.messaging.connections.store import find_messaging_connection
from openslot.domains.messaging.errors import MessageFileNotFound, MessageFileUnavailable
from openslot.domains.messaging.models import Media, MediaLimits
from openslot.domains.messaging.ports import MediaRefused, MessageFault, MessageRefused
from openslot.platform.core.errors import require
from openslot.platform.core.work import Work

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
# About two hours of a call as providers store it.
RECORDINGS = MediaLimits(max_bytes=32 * 1024 * 1024, content_types=("audio/*",))
TRANSCRIPTS = MediaLimits(max_bytes=256 * 1024, content_types=("text/plain",))


async def fetch_file(work: Work, owner: User, *, conversation_id: UUID, message_id: UUID, position: int) -> Media:
    """Fetch a file of a message from its provider, within the limits; begins no transaction."""
    found = await store.find_file(
        work.db, owner.id, conversation_id=conversation_id, message_id=message_id, position=position
    )
    ref, connection_id = require(found, MessageFileNotFound)
    return await _fetch(work, ref, connection_id, limits=LIMITS)


async def fetch_recording(work: Work, owner: User, call_id: UUID) -> Media:
    """Fetch the recording of a call from its provider, within the limits; begins no transaction."""
    call = (await get_call(work, owner, call_id)).call
    return await _fetch(work, call.recording, call.connection_id, limits=RECORDINGS)


async def fetch_transcript(work: Work, call: Call) -> str:
    """Fetch what was said in a call from its provider, within the limits; begins no transaction."""
    file = await _fetch(work, call.transcript, call.connection_id, limits=TRANSCRIPTS)
    return clean(file.content.decode(errors="replace"))


async def _fetch(work: Work, ref: bytes | None, connection_id: UUID | None, *, limits: MediaLimits) -> Media:
    connection = await find_messaging_connection(work.db, connection_id) if connection_id else None
    if ref is None or connection is None or connection.token is None:
        raise MessageFileNotFound
    try:
        async with opened_message_account(work.runtime, connection) as account:
            return await account.fetch_media(work.runtime.secrets.open(ref), limits=limits)
    except (MessageRefused, MediaRefused):
        raise MessageFileNotFound from None
    except MessageFault:
        raise MessageFileUnavailable from None
