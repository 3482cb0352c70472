"""The tokens of private links, read as the host's pages read them."""

from openslot.accounts.operations import get_user
from openslot.core.work import Work
from openslot.event_types.models import EventType
from openslot.event_types.operations import get_overview


async def find_private_token(work: Work, event_type: EventType) -> str | None:
    """Read the token that opens an event type; None if it is public, or its key is lost."""
    owner = await get_user(work, event_type.owner_id)
    return (await get_overview(work, owner, event_type.id)).token


async def get_private_token(work: Work, event_type: EventType) -> str:
    """Read the token that opens an event type that is not listed."""
    token = await find_private_token(work, event_type)
    assert token is not None
    return token
