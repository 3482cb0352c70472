"""Web and worker are killed while messages arrive: none is lost, none is doubled, and each thread is in order."""

import asyncio
import os
import random
from urllib.parse import urlencode

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.forked import Forked, openslot
from tests.support.loopback import settings
from tests.support.messaging import insert_number, message_form, sign
from tests.support.parts import LONG
from tests.support.ports import held_port

__all__ = ["settings"]

THREADS, MESSAGES, KILLS = 20, 15, 4
if LONG:
    THREADS, MESSAGES, KILLS = 200, 25, 20

PUBLIC = "https://openslot.example"
AT_ONCE = 20
KEPT = """
select c.contact_phone, c.message_count, array_agg(m.content order by m.at, m.id) as contents
from conversations c join messages m on m.conversation_id = c.id group by c.id"""


def start(settings: Settings, port: int, command: str) -> Forked:
    environment = {
        **os.environ,
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
        "OPENSLOT_BASE_URL": PUBLIC,
        "OPENSLOT_LOG_LEVEL": "error",
        "OPENSLOT_PORT": str(port),
    }
    return Forked(openslot, command, environment=environment, cwd=settings.data_dir)


async def kill_now_and_then(settings: Settings, port: int, running: dict[str, Forked]) -> None:
    for number in range(KILLS):
        await asyncio.sleep(random.uniform(0.3, 1.5))
        kind = "worker" if number % 4 == 3 else "web"
        running[kind].kill()
        running[kind].wait()
        running[kind] = start(settings, port, kind)


async def write(port: int, number: MessagingConnection, thread: int, places: asyncio.Semaphore) -> int:
    """Send the messages of one person in order, each again until it is answered, and count the tries."""
    path, tries = f"/api/notices/twilio/{number.id}/messages", 0
    async with places, httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
        for place in range(MESSAGES):
            form = message_form(thread * 1000 + place, str(place), sender=f"+4930{thread:06}")
            headers = {
                "content-type": "application/x-www-form-urlencoded",
                "x-twilio-signature": sign(f"{PUBLIC}{path}", form),
            }
            while True:
                tries += 1
                try:
                    answer = await client.post(path, content=urlencode(form).encode(), headers=headers)
                except httpx2.HTTPError:
                    await asyncio.sleep(0.2)
                    continue
                if answer.status_code == 200:
                    break
                assert answer.status_code in {429, 503}, answer.text
                await asyncio.sleep(0.5)
    return tries


@pytest.mark.own_database
async def test_no_message_is_lost_or_doubled(runtime: Runtime, settings: Settings, user: User) -> None:
    number = await insert_number(runtime, user_id=user.id)
    places = asyncio.Semaphore(AT_ONCE)
    with held_port() as port:
        running = {kind: start(settings, port, kind) for kind in ("web", "worker")}
        try:
            async with asyncio.TaskGroup() as group:
                killing = group.create_task(kill_now_and_then(settings, port, running))
                writing = [group.create_task(write(port, number, thread, places)) for thread in range(THREADS)]
            await killing
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                process.wait(60)

    rows = await runtime.pool.fetch(KEPT)
    expected = [str(place) for place in range(MESSAGES)]
    assert len(rows) == THREADS
    assert all(row["contents"] == expected for row in rows)
    assert all(row["message_count"] == MESSAGES for row in rows)
    # The kills have hit something: some messages were sent more than once.
    assert sum(task.result() for task in writing) > THREADS * MESSAGES
