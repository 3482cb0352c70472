"""The tokens of private links, read as the host's pages read them."""

from openslot.domains.accounts.operations import get_user
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import get_event_type_overview
from openslot.platform.core.work import Work


async def find_private_token(work: Work, event_type: EventType) -> str | None:
    """Read the token that opens an event type; None if it is public, or its key is lost."""
    owner = await get_user(work, event_type.owner_id)
    return (await get_event_type_overview(work, owner, event_type.id)).token


async def get_private_token(work: Work, event_type: EventType) -> str:
    """Read the token that opens an event type that is not listed."""
    token = await find_private_token(work, event_type)
    assert token is not None
    return token
