"""A chat that keeps messages in memory, and fails when told to."""

from collections import deque

from openslot.platform.core.outbound import Outbound
from openslot.vendors.chat import ChatDeferred, ChatRefused


class FakeChat:
    """Implements the port without a server."""

    is_open = True

    def __init__(self) -> None:
        self.posted: list[str] = []
        self.faults: deque[ChatDeferred | ChatRefused | None] = deque()

    async def post(self, outbound: Outbound, text: str) -> None:
        """Keep a message, or fail with the next given fault."""
        fault = self.faults.popleft() if self.faults else None
        if fault is not None:
            raise fault
        self.posted.append(text)
