"""Who hosts a team's booking, as the REST API, events and webhooks tell it."""

from typing import Any

import httpx2
import msgspec
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.support import AT
from tests.support.team_bookings import add_people, book_with, hand_over, offer_as_team


@pytest.fixture
async def hosts(runtime: Runtime) -> list[User]:
    return await add_people(runtime, "Ana", "Jim", "Kim")


@pytest.fixture
async def booking(runtime: Runtime, user: User, hosts: list[User]) -> Booking:
    """A booking of Mara's event type that Ana and Jim host."""
    return await book_with(runtime, await offer_as_team(runtime, user), hosts[:2], AT)


def described(*hosts: User) -> list[dict[str, str]]:
    return [
        {"id": str(each.id), "name": each.name, "role": "host" if place else "organizer"}
        for place, each in enumerate(hosts)
    ]


async def sent_about(runtime: Runtime, kind: str) -> list[dict[str, Any]]:
    rows = await runtime.pool.fetch("select public from events where type = $1 order by no", kind)
    return [msgspec.json.decode(row["public"]) for row in rows]


async def test_the_owner_reads_who_hosts_a_booking(
    client: httpx2.AsyncClient, bearer: dict[str, str], hosts: list[User], booking: Booking
) -> None:
    ana, jim, _ = hosts
    one = (await client.get(f"/api/v1/bookings/{booking.id}", headers=bearer)).json()
    (listed,) = (await client.get("/api/v1/bookings", headers=bearer)).json()["data"]

    assert one["hosts"] == listed["hosts"] == described(ana, jim)


async def test_the_details_and_the_event_name_the_hosts(runtime: Runtime, hosts: list[User], booking: Booking) -> None:
    ana, jim, _ = hosts
    details = await bookings.get_booking(runtime.work(OPERATOR), BookingRef(booking.id, None))
    (created,) = await sent_about(runtime, "booking.created")

    assert [each.user_id for each in details.hosts] == [ana.id, jim.id]
    assert created["hosts"] == described(ana, jim)


async def test_other_hosts_do_not_find_it_by_the_api(
    runtime: Runtime, client: httpx2.AsyncClient, hosts: list[User], booking: Booking
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, hosts[0], name="test")
    headers = {"Authorization": f"Bearer {key}"}

    read = await client.get(f"/api/v1/bookings/{booking.id}", headers=headers)
    cancelled = await client.post(f"/api/v1/bookings/{booking.id}/cancel", json={}, headers=headers)
    listed = await client.get("/api/v1/bookings", headers=headers)

    assert (read.status_code, cancelled.status_code) == (404, 404)
    assert listed.json()["data"] == []


async def test_a_handover_tells_who_hosts_now_and_who_did_before(
    runtime: Runtime, hosts: list[User], booking: Booking
) -> None:
    ana, jim, kim = hosts
    await hand_over(runtime, booking, [ana, kim])

    (told,) = await sent_about(runtime, "booking.reassigned")
    assert told["hosts"] == described(ana, kim)
    assert told["previousHosts"] == described(ana, jim)
    assert told["id"] == str(booking.id)


async def test_a_handover_is_sent_only_to_those_who_chose_it_by_name(
    runtime: Runtime,
    user: User,
    hosts: list[User],
    booking: Booking,
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.add_endpoint(work, user, EndpointWanted(url="https://all.example/hook"))
    await hand_over(runtime, booking, [hosts[2]])
    assert await count_dispatched(runtime) == 0

    async with runtime.transaction(OPERATOR) as work:
        chosen = EndpointWanted(url="https://one.example/hook", events=("booking.reassigned",))
        await webhooks.add_endpoint(work, user, chosen)
    await hand_over(runtime, booking, [hosts[0]])
    assert await count_dispatched(runtime) == 1

    feed = (await client.get("/api/v1/events?type=booking.reassigned", headers=bearer)).json()["data"]
    assert [each["type"] for each in feed] == ["booking.reassigned"] * 2
    everything = (await client.get("/api/v1/events", headers=bearer)).json()["data"]
    assert "booking.reassigned" not in {each["type"] for each in everything}


async def count_dispatched(runtime: Runtime) -> int:
    statement = """select count(*) from effects e join events v on v.id = e.event_id
        where v.type = 'booking.reassigned' and e.reaction = 'webhooks.dispatch'"""
    return int(await runtime.pool.fetchval(statement))
