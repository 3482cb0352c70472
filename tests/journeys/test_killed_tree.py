"""The whole tree is killed while an effect is at work; after the next start it happens."""

import asyncio
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import asyncpg
import httpx2

from openslot.platform.core.embedded import find_server
from tests.cli.conftest import LEFT, furnished, home, home_dir, seeded  # noqa: F401 - fixtures
from tests.support.installation import Installation, ended, interrupt


class Receiver(BaseHTTPRequestHandler):
    """Hangs at the first delivery, and takes every later one."""

    began = Event()
    killed = Event()
    arrived: list[tuple[str, str]] = []  # noqa: RUF012 - shared by all requests on purpose

    def do_POST(self) -> None:
        """Take a delivery."""
        body = self.rfile.read(int(self.headers["content-length"]))
        if not self.killed.is_set():
            self.began.set()
            self.killed.wait(60)
            return
        self.arrived.append((self.headers["webhook-id"], json.loads(body)["type"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


async def test_what_was_at_work_when_everything_died_happens_after_the_next_start(
    home: Installation,  # noqa: F811
    seeded: dict[str, Any],  # noqa: F811
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    home.environment["OPENSLOT_OUTBOUND_ALLOW"] = "127.0.0.0/8"
    home.start("serve")
    await asyncio.to_thread(home.wait_until_ready)
    await until_nothing_is_left_to_do(home.data_dir)
    url = f"http://127.0.0.1:{server.server_port}/hook"
    await asyncio.to_thread(home.told, "webhook", "add", "--user", seeded["user"]["email"], "--url", url)
    key = {"Authorization": f"Bearer {seeded['apiKey']}"}
    body = {"name": "Li", "email": "li@journey.example"}
    assert httpx2.post(f"{home.base_url}/api/v1/contacts", json=body, headers=key, timeout=60).status_code == 201
    assert await asyncio.to_thread(Receiver.began.wait, 60)
    home.kill_all()
    Receiver.killed.set()

    again = home.start("serve")
    async with asyncio.timeout(120):
        while not Receiver.arrived:
            await asyncio.sleep(0.1)
    interrupt(again)
    assert (await asyncio.to_thread(ended, again))[0] == 0
    await asyncio.to_thread(home.wait_until_gone)
    server.shutdown()
    server.server_close()
    assert {kind for _, kind in Receiver.arrived} == {"contact.created"}
    assert len({webhook_id for webhook_id, _ in Receiver.arrived}) == 1


async def until_nothing_is_left_to_do(data_dir: Path) -> None:
    """Wait until the worker has seen to everything that the demo has caused."""
    connection = await asyncpg.connect(find_server(data_dir))
    async with asyncio.timeout(60):
        while await connection.fetchval(LEFT):
            await asyncio.sleep(0.1)
    await connection.close()
