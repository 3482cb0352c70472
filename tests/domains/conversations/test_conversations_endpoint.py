"""GET /api/v1/conversations, over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.conversations.models import Channel, MessageDirection
from openslot.domains.conversations.operations import record_message
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.openapi import DESCRIPTION

PATH = "/api/v1/conversations"
NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
PHONES = ["+493012345670", "+493012345671", "+493012345672"]


@pytest.fixture
async def threads(runtime: Runtime, user: User) -> None:
    """Begin three threads of the host, the last message of each a day after the one before."""
    async with runtime.transaction(OPERATOR) as work:
        for number, phone in enumerate(PHONES):
            await record_message(
                work,
                owner_id=user.id,
                phone=phone,
                channel=Channel.SMS,
                direction=MessageDirection.INBOUND,
                content=f"Hello {number}",
                at=NOON + number * DAY,
            )


async def list_phones(client: httpx2.AsyncClient, bearer: dict[str, str], query: str) -> list[str]:
    answer = await client.get(f"{PATH}?{query}", headers=bearer)
    assert answer.status_code == 200, answer.text
    return [each["contactPhone"] for each in answer.json()["data"]]


async def test_a_thread_is_shown_whole(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str]
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        typed: dict[str, Any] = {"name": "Jonas Weber", "email": "jonas@weber.example", "phone": PHONES[0]}
        contact = await contacts.add_contact(work, user, ContactWanted(**typed))
        for direction, content, seconds in (
            (MessageDirection.OUTBOUND, "Gladly.", 30.25),
            (MessageDirection.INBOUND, "An hour later?", 0),
        ):
            await record_message(
                work,
                owner_id=user.id,
                phone=PHONES[0],
                channel=Channel.WHATSAPP,
                direction=direction,
                content=content,
                at=NOON + timedelta(seconds=seconds),
            )

    body = (await client.get(PATH, headers=bearer)).json()

    assert body["pagination"] == {"page": 1, "limit": 20, "total": 1, "totalPages": 1}
    (thread,) = body["data"]
    assert thread.pop("createdAt").endswith("Z")
    assert thread.pop("updatedAt").endswith("Z")
    assert len(thread.pop("id")) == 36
    assert thread == {
        "contactPhone": PHONES[0],
        "channel": "whatsapp",
        "messages": [
            {"content": "An hour later?", "direction": "inbound", "timestamp": "2026-03-16T12:00:00Z"},
            {"content": "Gladly.", "direction": "outbound", "timestamp": "2026-03-16T12:00:30.250Z"},
        ],
        "messageCount": 2,
        "contact": {"id": str(contact.id), "name": "Jonas Weber"},
    }


@pytest.mark.usefixtures("threads")
async def test_threads_are_filtered_by_phone_and_by_their_last_message(
    client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    first, second, third = PHONES
    for query, expected in {
        "": [third, second, first],
        "phone=%2B493012345671": [second],
        "phone=+493012345671": [second],
        "phone=%2B493012345679": [],
        "from=2026-03-17": [third, second],
        "to=2026-03-17": [second, first],
        "from=2026-03-17&to=2026-03-17": [second],
        "from=2026-03-17T12:00:00Z&to=2026-03-17T12:00:00Z": [second],
        "to=2026-03-17T11:59:59Z": [first],
        "from=2026-03-17T14:00:01+02:00": [third],
        "from=2026-03-17T14:00:00%2B02:00": [third, second],
        "phone=+493012345671&from=2026-03-18": [],
        "unknown=1&phone=+493012345671": [second],
    }.items():
        assert await list_phones(client, bearer, query) == expected, query


@pytest.mark.usefixtures("threads")
async def test_pages_tell_the_exact_total_and_end_in_an_empty_one(
    client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    shown = []
    for page in (1, 2, 3, 1_000_000):
        body = (await client.get(PATH, params={"page": page, "limit": 2}, headers=bearer)).json()
        assert body["pagination"] == {"page": page, "limit": 2, "total": 3, "totalPages": 2}
        shown.append([each["contactPhone"] for each in body["data"]])
    assert shown == [[PHONES[2], PHONES[1]], [PHONES[0]], [], []]

    empty = (await client.get(PATH, params={"phone": "+12025550123"}, headers=bearer)).json()
    assert empty == {"data": [], "pagination": {"page": 1, "limit": 20, "total": 0, "totalPages": 0}}


async def test_every_wrong_parameter_is_named_at_once(client: httpx2.AsyncClient, bearer: dict[str, str]) -> None:
    for query, wrong in {
        "phone=030&from=x&to=2026-02-30&limit=51&page=0": {"phone", "from", "to", "limit", "page"},
        "phone=493012345678&from=1969-12-31": {"phone", "from"},
        "phone=%2B49%2030%2012345678": {"phone"},
        "phone=": {"phone"},
        "phone=%00&from=%00&to=%F0%28": {"phone", "from", "to"},
        "limit=0&to=": {"limit", "to"},
        "from=2026-03-17&to=2026-03-16": {"to"},
        "page=1000001&limit=ten&from=2026-03-16": {"page", "limit"},
        "from=2026-03-16'--": {"from"},
    }.items():
        answer = await client.get(f"{PATH}?{query}", headers=bearer)
        assert answer.status_code == 400, query
        assert set(answer.json()["details"]) == wrong, query


@pytest.mark.usefixtures("threads")
async def test_nobody_sees_anothers_threads(client: httpx2.AsyncClient, runtime: Runtime, admin: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, admin, name="another's")

    body = (await client.get(PATH, params={"phone": PHONES[0]}, headers={"Authorization": f"Bearer {key}"})).json()

    assert body["data"] == []
    assert body["pagination"]["total"] == 0
    assert (await client.get(PATH)).status_code == 401


def test_the_description_names_every_parameter_and_shows_an_example_of_every_field() -> None:
    description = DESCRIPTION
    operation = description["paths"]["/api/v1/conversations"]["get"]

    assert operation["operationId"] == "listConversations"
    assert {each["name"] for each in operation["parameters"]} == {"phone", "from", "to", "page", "limit"}
    assert all(each["description"] for each in operation["parameters"])
    schemas = description["components"]["schemas"]
    plain = [
        field
        for name in ("ShownMessage", "ThreadContact", "ShownConversation")
        for key, field in schemas[name]["properties"].items()
        if key not in {"messages", "contact"}
    ]
    assert all("examples" in field for field in plain)
