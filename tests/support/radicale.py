"""Radicale, a real CalDAV server, in a thread that tests start, stop and start again."""

import asyncio
import shutil
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.support.live import connect, serving
from tests.support.ports import hold_port

USER, PASSWORD = "mara", "correct horse"
MAKE_CALENDAR = """<?xml version="1.0"?>
<C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">
  <D:set><D:prop><D:displayname>{name}</D:displayname></D:prop></D:set>
</C:mkcalendar>"""


class Radicale:
    """One server with one account, and what another client of that account does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "users").write_text(f"{USER}:{PASSWORD}\n")
        # Its own also while it is stopped.
        self._held = hold_port()
        self.port: int = self._held.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start it, or start it again where it was."""
        # Importing it takes longer than most tests: only the processes that need it should.
        from radicale.log import logger
        from radicale.server import serve

        logger.setLevel("CRITICAL")
        self._until, told = socket.socketpair()
        self._thread = Thread(target=serve, args=(self._configure(), told), daemon=True)
        self._thread.start()
        started = time.monotonic()
        while self._thread.is_alive() and time.monotonic() - started < 60:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.005)
            else:
                return
        pytest.fail("Radicale did not start")

    def _configure(self) -> Any:
        from radicale import config

        configuration = config.load()
        # What was deleted is looked through with each change, for hours if it is kept as long as by default.
        kept = {"max_sync_token_age": "600"}
        storage = {"filesystem_folder": str(self._folder / "data"), "_filesystem_fsync": "False", **kept}
        users = {"htpasswd_filename": str(self._folder / "users"), "htpasswd_encryption": "plain"}
        chosen = {
            "server": {"hosts": f"127.0.0.1:{self.port}"},
            "storage": storage,
            "auth": {"type": "htpasswd", "delay": "0", **users},
        }
        configuration.update(chosen, "tests", privileged=True)
        return configuration

    def stop(self) -> None:
        """Stop it, after it has answered what it was asked."""
        if self._thread is not None:
            self._until.close()
            self._thread.join(60)
            assert not self._thread.is_alive(), "Radicale did not stop"
            self._thread = None

    def close(self) -> None:
        """Stop it for good."""
        self.stop()
        self._held.close()

    def empty(self) -> None:
        """Remove the calendars that earlier tests have left: whoever connects to the account reads all of them."""
        shutil.rmtree(self._folder / "data" / "collection-root" / USER, ignore_errors=True)

    async def add_calendar(self, name: str = "Work") -> str:
        """Make a calendar as another client."""
        url = f"{self.url}/{USER}/{uuid4()}/"
        made = await self.send("MKCALENDAR", url, content=MAKE_CALENDAR.format(name=name).encode())
        assert made.status_code == 201, made.text
        return url

    async def send(self, method: str, url: str, **options: Any) -> httpx2.Response:
        """Do something as another client."""
        async with connect(self.url, auth=(USER, PASSWORD), timeout=30) as client:
            return await client.request(method, url, **options)

    async def put(self, url: str, text: str) -> None:
        """Write an event as another client, over whatever is there."""
        written = await self.send("PUT", url, content=text.encode(), headers={"Content-Type": "text/calendar"})
        assert written.is_success, written.text

    async def names(self, calendar: str) -> list[str]:
        """List the files of a calendar."""
        found = await self.send("PROPFIND", calendar, headers={"Depth": "1"})
        parts = found.text.replace("</href>", "<href>").split("<href>")
        return sorted(part.rpartition("/")[2] for part in parts if part.endswith(".ics"))


@contextmanager
def radicale_in(folder: Path) -> Iterator[Radicale]:
    """Run a server for some tests."""
    server = Radicale(folder)
    server.start()
    try:
        yield server
    finally:
        server.close()


@asynccontextmanager
async def without_sync(server: Radicale) -> AsyncIterator[str]:
    """Stand before a server and know no sync report, as older servers don't."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if b"sync-collection" in body:
            status, headers, answer = 501, [], b""
        else:
            kept = {name: value for name, value in scope["headers"] if name not in {b"content-length", b"connection"}}
            path = scope["raw_path"].decode()
            async with connect(server.url, timeout=30) as client:
                given = await client.request(scope["method"], path, content=body, headers=list(kept.items()))
            dropped = {b"content-length", b"transfer-encoding", b"connection", b"content-encoding"}
            headers = [(name.lower(), value) for name, value in given.headers.raw if name.lower() not in dropped]
            status, answer = given.status_code, given.content
        headers.append((b"content-length", str(len(answer)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async with serving(app) as url:
        yield url
        await asyncio.sleep(0)
