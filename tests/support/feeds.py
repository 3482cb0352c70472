"""A server that publishes an ICS feed, and remembers how it was asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.live import serving


class PublishedFeed:
    """What is published, and which requests came."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.status = 200
        self.etag = '"1"'
        self.repeat = 1
        self.requests: list[dict[bytes, bytes]] = []
        self.answers: list[int] = []
        self.url = ""
        self.is_open = asyncio.Event()
        self.is_open.set()

    def publish(self, text: str) -> None:
        """Publish something else."""
        self.text = text
        self.etag = f'"{len(self.requests) + 2}"'

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer as feeds do, with a condition where one is given."""
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        headers = dict(scope["headers"])
        self.requests.append(headers)
        await self.is_open.wait()
        is_same = headers.get(b"if-none-match", b"").decode() == self.etag
        status = 304 if is_same and self.status == 200 else self.status
        self.answers.append(status)
        given = [(b"etag", self.etag.encode()), (b"content-type", b"text/calendar")]
        await send({"type": "http.response.start", "status": status, "headers": given})
        body = b"" if status == 304 else self.text.encode()
        for left in range(self.repeat - 1, -1, -1):
            await send({"type": "http.response.body", "body": body, "more_body": left > 0})


@asynccontextmanager
async def publishing(text: str) -> AsyncIterator[PublishedFeed]:
    """Publish a feed at a secret URL."""
    feed = PublishedFeed(text)
    async with serving(feed) as url:
        feed.url = f"{url}/secret-9f3a/basic.ics"
        yield feed
