"""Connects to a numeric address, without a look-up."""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import ip_address

import httpcore2
from anyio.abc import SocketStream

# Not exported, but better than a copy of it here.
from httpcore2._backends.anyio import AnyIOStream

from openslot.core.outbound.addresses import Address


class AddressBackend(httpcore2.AnyIOBackend):
    """Connects to one address only; the parent class would race all addresses of a name, at five times the cost."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the parent's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the address; raise an error for a name."""
        address = ip_address(host)
        try:
            async with asyncio.timeout(timeout):
                return AnyIOStream(await _connect(address, port))
        except TimeoutError as fault:
            raise httpcore2.ConnectTimeout(str(fault)) from fault
        except OSError as fault:
            raise httpcore2.ConnectError(str(fault)) from fault


async def _connect(address: Address, port: int) -> SocketStream:
    connection = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
        return await SocketStream.from_socket(connection)
    except BaseException:
        connection.close()
        raise
