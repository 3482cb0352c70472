"""An account at Microsoft that tells the service of its changes."""

from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import CalendarConnection
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import get, work_off
from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import FakeMicrosoft, Mailbox, Reply
from tests.support.graph_client import at
from tests.support.microsoft_host import allow

PUBLIC = "https://book.lindqvist.example"


@pytest.fixture
def settings(microsoft_settings: Settings) -> Settings:
    """A service that Microsoft can reach."""
    return replace(microsoft_settings, base_url=PUBLIC)


@pytest.fixture(autouse=True)
def reachable(microsoft: FakeMicrosoft, client: httpx2.AsyncClient) -> None:
    """Let Microsoft's requests come to the service."""

    async def reach(url: str, headers: dict[str, str], body: bytes) -> Reply:
        parts = urlsplit(url)
        found = await client.post(f"{parts.path}?{parts.query}", headers=headers, content=body)
        return Reply(found.status_code, found.headers.get("content-type", ""), found.text)

    microsoft.subscriptions.reach = reach


@pytest.fixture
async def connection(
    runtime: Runtime, user: User, clock: MovingClock, microsoft: FakeMicrosoft, mailbox: Mailbox, reachable: None
) -> CalendarConnection:
    """Connect the host's account, and read it."""
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))
    assert await sync_connection(runtime, made.id) is None
    await work_off(runtime, clock)
    microsoft.take_notices()
    return made


async def due_at(runtime: Runtime, connection: CalendarConnection) -> datetime:
    return (await get(runtime, connection)).next_sync_at


async def count_channels(runtime: Runtime) -> int:
    found: int = await runtime.pool.fetchval("select count(*) from calendar_channels")
    return found


def edit(mailbox: Mailbox, hour: int = 10) -> None:
    mailbox.edit(mailbox.default, "Dentist", start=at(hour), end=at(hour + 1))


def list_subscriptions(microsoft: FakeMicrosoft) -> list[Any]:
    return list(microsoft.subscriptions.live.values())
