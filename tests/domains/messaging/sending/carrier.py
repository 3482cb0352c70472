"""A provider in memory: what it was asked to send, and which faults come next."""

from collections.abc import Awaitable, Callable, Collection
from datetime import datetime

from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.models import (
    AccountCheck,
    DeliveryStatus,
    Media,
    MediaLimits,
    MessageCredentials,
    NumberState,
    OutboundMessage,
    ProviderName,
    SentMessage,
)
from openslot.domains.messaging.ports import MessageFault
from openslot.platform.core.outbound import Outbound


class Carrier:
    """The provider, its account and the port of all providers in one."""

    name = ProviderName.TWILIO

    def __init__(self) -> None:
        self.sent: list[OutboundMessage] = []
        self.lost: list[OutboundMessage] = []
        """Sent, but the answer was not heard."""
        self.faults: list[MessageFault] = []
        """Raised by the next requests, each once."""
        self.is_deaf = False
        """Whether the next message is sent and its answer lost."""
        self.looked = 0
        self.states: dict[str, SentMessage] = {}
        """What became of messages, by the provider's id."""
        self.asked: list[str] = []
        """Whose state was asked for."""
        self.while_sending: Callable[[], Awaitable[None]] | None = None

    def get(self, name: ProviderName) -> "Carrier":
        return self

    def open(self, outbound: Outbound, account: MessageCredentials) -> "Carrier":
        return self

    @property
    def bodies(self) -> list[str | None]:
        return [each.body for each in self.sent]

    async def check(self, *, channel: Channel, number: str) -> AccountCheck:
        return AccountCheck(account_name=None, number=NumberState.READY)

    async def send(self, message: OutboundMessage) -> SentMessage:
        if self.while_sending is not None:
            await self.while_sending()
        if self.faults:
            fault = self.faults.pop(0)
            if self.is_deaf:
                self.lost.append(message)
                self.sent.append(message)
            raise fault
        self.sent.append(message)
        return SentMessage(id=f"SM{len(self.sent)}", status=DeliveryStatus.QUEUED)

    async def find_sent(
        self, message: OutboundMessage, *, since: datetime, known: Collection[str] = ()
    ) -> SentMessage | None:
        self.looked += 1
        if self.faults:
            raise self.faults.pop(0)
        if message.id in {each.id for each in self.lost}:
            return SentMessage(id="SMlost", status=DeliveryStatus.SENT)
        return None

    async def get_status(self, message_id: str) -> SentMessage:
        self.asked.append(message_id)
        if self.faults:
            raise self.faults.pop(0)
        return self.states.get(message_id) or SentMessage(id=message_id, status=DeliveryStatus.SENT)

    async def fetch_media(self, ref: str, *, limits: MediaLimits) -> Media:
        raise NotImplementedError

    async def delete_message(self, message_id: str) -> None:
        raise NotImplementedError

    async def delete_media(self, ref: str) -> None:
        raise NotImplementedError

    async def close(self) -> None: ...
