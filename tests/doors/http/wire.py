"""Requests written byte by byte, for what no polite client would send."""

import asyncio
from urllib.parse import urlsplit

import httpx2
from msgspec import Struct


class Raw(Struct, frozen=True, kw_only=True):
    """An answer as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes


async def send_raw(client: httpx2.AsyncClient, request: bytes, *, key: bool = True) -> Raw:
    """Send these bytes to the client's server and read one answer until it is complete or the server hangs up."""
    place = urlsplit(str(client.base_url))
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    if key:
        line, _, rest = request.partition(b"\r\n")
        request = line + b"\r\nAuthorization: " + client.headers["Authorization"].encode() + b"\r\n" + rest
    writer.write(request)
    try:
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
            status_line, *lines = head.decode("latin-1").strip().split("\r\n")
            pairs = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            length = 0 if request.startswith(b"HEAD") else int(headers.get("content-length", "0"))
            body = await reader.readexactly(length)
    finally:
        writer.close()
        await writer.wait_closed()
    return Raw(status=int(status_line.split()[1]), headers=headers, body=body)
