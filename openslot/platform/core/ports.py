"""Outside services, requested by what they can do: each port is a Protocol with one adapter per process."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import TypeVar, cast

from openslot.platform.core.config import Settings

P = TypeVar("P")

OpenAdapter = Callable[[Settings], AbstractAsyncContextManager[object]]
NO_FAKES: Mapping[type, object] = MappingProxyType({})


class Ports:
    """The adapters of one process, by the Protocol that each implements."""

    def __init__(self, adapters: Mapping[type, object]) -> None:
        self._adapters = dict(adapters)

    def get(self, port: type[P]) -> P:
        found = self.find(port)
        if found is None:
            raise LookupError(f"no adapter is wired for the port {port.__name__}")
        return found

    def find(self, port: type[P]) -> P | None:
        """Return the adapter of a port, or None if this installation has none."""
        return cast("P | None", self._adapters.get(port))


@asynccontextmanager
async def open_ports(
    adapters: Mapping[type, OpenAdapter], settings: Settings, *, fakes: Mapping[type, object] = NO_FAKES
) -> AsyncIterator[Ports]:
    """Open the adapter of each port that has no fake, and close them at the end."""
    async with AsyncExitStack() as stack:
        opened = {
            port: await stack.enter_async_context(open_adapter(settings))
            for port, open_adapter in adapters.items()
            if port not in fakes
        }
        yield Ports({**opened, **fakes})
