"""The feed: ordered, without gaps, whoever commits late."""

import asyncio
import random
from contextlib import AsyncExitStack
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.people import operations as people
from openslot.domains.webhooks import operations as webhooks
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime, Work
from tests.domains.webhooks.conftest import Happen

WRITERS, EACH = 20, 8
# What the feed would be without numbers that are given at the commit.
BY_NUMBER_ALONE = "select no from events where public is not null and no > $1 order by no"


async def add_contact(work: Work, user: User, number: int) -> UUID:
    wanted = ContactWanted(name=Name(f"Writer {number}"), email=EmailAddress(f"writer{number}@feed.example"))
    return (await contacts.add_contact(work, user, wanted)).id


async def read_on(runtime: Runtime, user: User, seen: list[UUID]) -> None:
    """Read behind the last event that was seen, to the end."""
    more = True
    while more:
        found, more = await webhooks.list_feed(
            runtime.work(OPERATOR), user, after=seen[-1] if seen else None, types=(), limit=7
        )
        seen.extend(event.id for event in found)


async def test_an_event_that_is_committed_late_is_not_passed_over(runtime: Runtime, user: User) -> None:
    seen: list[UUID] = []
    last = 0
    by_number: list[int] = []
    async with AsyncExitStack() as slow:
        work = await slow.enter_async_context(runtime.transaction(OPERATOR))
        await add_contact(work, user, 1)
        async with runtime.transaction(OPERATOR) as quick:
            await add_contact(quick, user, 2)
        await read_on(runtime, user, seen)
        by_number += [row["no"] for row in await runtime.pool.fetch(BY_NUMBER_ALONE, last)]
        assert len(seen) == len(by_number) == 1
    await read_on(runtime, user, seen)
    by_number += [row["no"] for row in await runtime.pool.fetch(BY_NUMBER_ALONE, by_number[-1])]

    assert len(seen) == 2
    assert len(by_number) == 1, "the numbers that events get when they are written would do; the trigger can go"


@pytest.mark.rest("lets many write at once")
async def test_nothing_is_missed_or_told_twice_while_twenty_write_and_commit_late(runtime: Runtime, user: User) -> None:
    chance = random.Random(5)
    seen: list[UUID] = []

    async def write(writer: int) -> None:
        for number in range(EACH):
            async with runtime.transaction(OPERATOR) as work:
                await add_contact(work, user, writer * EACH + number)
                await asyncio.sleep(chance.random() * 0.05)

    async def read() -> None:
        while True:
            await read_on(runtime, user, seen)
            await asyncio.sleep(0.001)

    reading = asyncio.create_task(read())
    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    during = len(seen)
    await read_on(runtime, user, seen)

    written = {row["id"] for row in await runtime.pool.fetch("select id from events where public is not null")}
    assert during > 0
    assert len(seen) == len(set(seen)) == WRITERS * EACH
    assert set(seen) == written
    numbers = [row["no"] for row in await runtime.pool.fetch("select no from event_feed order by no")]
    assert numbers == list(range(1, WRITERS * EACH + 1))


async def test_several_events_of_one_change_keep_their_order(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        added = [await add_contact(work, user, number) for number in range(5)]
    seen: list[UUID] = []
    await read_on(runtime, user, seen)

    rows = await runtime.pool.fetch("select id, subject_id from events")
    subjects = {row["id"]: row["subject_id"] for row in rows}
    assert [subjects[event_id] for event_id in seen] == added


async def test_what_is_rolled_back_leaves_no_gap(runtime: Runtime, user: User) -> None:
    async def change_my_mind() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await add_contact(work, user, 1)
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        await change_my_mind()
    async with runtime.transaction(OPERATOR) as work:
        await add_contact(work, user, 2)

    assert await runtime.pool.fetchval("select array_agg(no) from event_feed") == [1]


async def test_the_feed_over_http(
    runtime: Runtime, client: httpx2.AsyncClient, bearer: dict[str, str], happen: Happen
) -> None:
    nothing = (await client.get("/api/v1/events", headers=bearer)).json()
    assert nothing == {"data": [], "next": None, "hasMore": False}
    made = [str((await happen()).id) for _ in range(5)]

    first = (await client.get("/api/v1/events?limit=3", headers=bearer)).json()
    assert [event["data"]["id"] for event in first["data"]] == made[:3]
    assert list(first["data"][0]) == ["id", "type", "createdAt", "data"]
    assert first["data"][0]["createdAt"] == "2026-03-16T07:00:00Z"
    assert (first["hasMore"], first["next"]) == (True, first["data"][-1]["id"])
    rest = (await client.get(f"/api/v1/events?limit=3&after={first['next']}", headers=bearer)).json()
    assert [event["data"]["id"] for event in rest["data"]] == made[3:]
    assert rest["hasMore"] is False
    end = (await client.get(f"/api/v1/events?after={rest['next']}", headers=bearer)).json()
    assert end == {"data": [], "next": rest["next"], "hasMore": False}

    stored = await runtime.pool.fetchval("select public from events where id = $1", UUID(first["data"][0]["id"]))
    raw = (await client.get("/api/v1/events?limit=1", headers=bearer)).text
    assert stored in raw


async def test_the_feed_is_narrowed_by_type(client: httpx2.AsyncClient, bearer: dict[str, str], happen: Happen) -> None:
    await happen()

    async def count(kinds: str) -> int:
        return len((await client.get(f"/api/v1/events?type={kinds}", headers=bearer)).json()["data"])

    assert await count("contact.created") == 1
    assert await count("booking.created") == 0
    assert await count("booking.created,contact.created") == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=nonsense", "after"),
        ("after=01997c2e-6a52-7c1e-9d0a-3f4b5c6d7eb1", "after"),
        ("type=booking.exploded", "type"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
    ],
)
async def test_what_the_feed_can_not_read_is_named(
    client: httpx2.AsyncClient, bearer: dict[str, str], query: str, field: str
) -> None:
    answer = await client.get(f"/api/v1/events?{query}", headers=bearer)

    assert answer.status_code == 400
    assert field in answer.json()["details"]


async def test_anothers_events_are_neither_shown_nor_a_place_to_go_on_from(
    runtime: Runtime, client: httpx2.AsyncClient, bearer: dict[str, str], happen: Happen
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        stranger = await people.welcome_user(work, UserWanted(email="bo@other.example", name="Bo", username="bo"))
    await happen(stranger)
    theirs = await runtime.pool.fetchval("select id from events where type = 'contact.created'")

    assert (await client.get("/api/v1/events", headers=bearer)).json()["data"] == []
    assert (await client.get(f"/api/v1/events?after={theirs}", headers=bearer)).status_code == 400
