"""What a service must provide to send messages."""

from typing import Protocol
from uuid import UUID

from openslot.conversations.models import Channel


class Messenger(Protocol):
    """Sends messages on the channels that a host has connected."""

    async def list_channels(self, owner_id: UUID) -> frozenset[Channel]:
        """List the channels that a host has connected."""
        ...

    async def send(self, owner_id: UUID, *, channel: Channel, phone: str, content: str) -> str:
        """Send a message, and return the id by which the service will report about it."""
        ...
