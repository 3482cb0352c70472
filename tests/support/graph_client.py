"""A client of our Microsoft for tests of it, which sends what it is told to send."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import FakeMicrosoft, Mailbox, serving

EMAIL = "mara@lindqvist.example"
IMMUTABLE = 'IdType="ImmutableId"'
IN_UTC = f'{IMMUTABLE}, outlook.timezone="UTC"'
WINDOW = "startDateTime=2026-03-15T00:00:00Z&endDateTime=2026-03-20T00:00:00Z"
OWN = "String {66f5a359-4659-4830-9070-00047ec6ac6e} Name openslot"


class GraphClient:
    """Sends requests to Graph with a token."""

    def __init__(self, fake: FakeMicrosoft, token: str) -> None:
        self.fake = fake
        self.token = token
        self._client = httpx2.AsyncClient(trust_env=False)

    async def send(self, method: str, path: str, body: Any = None, *, prefer: str = IN_UTC, **headers: str) -> Any:
        """Send a request below the version, or to a whole address."""
        url = path if path.startswith("http") else f"{self.fake.url}/v1.0/{path}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        told = {"Authorization": f"Bearer {self.token}", **({"Prefer": prefer} if prefer else {}), **named}
        return await self._client.request(method, url, json=body, headers=told)

    async def get(self, path: str, **options: Any) -> Any:
        found = await self.send("GET", path, **options)
        assert found.status_code == 200, found.text
        return found.json()

    async def read_round(self, path: str, **options: Any) -> tuple[list[dict[str, Any]], str]:
        """Read all pages of a round; return what they have, and where the next round begins."""
        found: list[dict[str, Any]] = []
        while True:
            page = await self.get(path, **options)
            found += page["value"]
            if "@odata.deltaLink" in page:
                return found, page["@odata.deltaLink"]
            path = page["@odata.nextLink"]

    async def close(self) -> None:
        await self._client.aclose()


@pytest.fixture
async def fake(clock: MovingClock) -> AsyncIterator[FakeMicrosoft]:
    """Run a Microsoft with one mailbox."""
    async with serving(clock) as running:
        running.add_mailbox(EMAIL)
        yield running


@pytest.fixture
def mailbox(fake: FakeMicrosoft) -> Mailbox:
    return fake.mailboxes[EMAIL]


@pytest.fixture
async def graph(fake: FakeMicrosoft) -> AsyncIterator[GraphClient]:
    client = GraphClient(fake, fake.login.allow(EMAIL, "offline_access", "User.Read", "Calendars.ReadWrite"))
    yield client
    await client.close()


def events_of(mailbox: Mailbox) -> str:
    return f"me/calendars/{quote(mailbox.default, safe='')}/events"


def delta_of(mailbox: Mailbox, calendar: str | None = None) -> str:
    return f"me/calendars/{quote(calendar or mailbox.default, safe='')}/calendarView/delta?{WINDOW}"


def at(hour: int, zone: str = "UTC", *, day: int = 16) -> dict[str, str]:
    return {"dateTime": f"2026-03-{day:02}T{hour:02}:00:00", "timeZone": zone}


def booking(**fields: Any) -> dict[str, Any]:
    """Describe an event of one hour."""
    return {"subject": "Intro", "start": at(9), "end": at(10), **fields}


def daily(count: int) -> dict[str, Any]:
    return {
        "pattern": {"type": "daily", "interval": 1},
        "range": {"type": "numbered", "startDate": "2026-03-16", "numberOfOccurrences": count},
    }
