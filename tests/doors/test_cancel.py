"""The same cancellation through every door: written once, so that it can't differ."""

from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

import httpx2
import pytest

from openslot.access import operations as access
from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.accounts.plans import Plan
from openslot.bookings import operations as bookings
from openslot.bookings.links import manage_token
from openslot.bookings.models import BookingRef
from openslot.core.actor import OPERATOR, SYSTEM
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.event_types.models import EventType
from openslot.people import operations as people
from openslot.webhooks import operations as webhooks
from openslot.webhooks.models import EndpointWanted
from tests.agents.agent import TestAgent, make_key
from tests.bookings.conftest import TEN, Book, slots
from tests.racing import find_disorder

Cancel = Callable[[str], Awaitable[None]]


@pytest.fixture
def cancel(
    request: pytest.FixtureRequest,
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    runtime: Runtime,
    user: User,
) -> Cancel:
    """Cancel through the door that the test names."""

    async def by_key(booking_id: str) -> None:
        answer = await client.post(f"/api/v1/bookings/{booking_id}/cancel", json={"reason": "Ill"}, headers=bearer)
        assert answer.json() == {"success": True}

    async def by_link(booking_id: str) -> None:
        details = await bookings.get_booking(runtime.work(SYSTEM), _ref(booking_id))
        token = manage_token(runtime, details.booking.id)
        answer = await client.post(f"/api/public/manage/{token}/cancel", json={"reason": "Ill"})
        assert answer.json() == {"success": True}

    async def by_operator(booking_id: str) -> None:
        async with runtime.transaction(OPERATOR) as work:
            await bookings.cancel_booking(work, _ref(booking_id), reason="Ill")

    async def by_leaving(_: str) -> None:
        async with runtime.transaction(OPERATOR) as work:
            organization = await accounts.add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
            await accounts.add_member(work, organization, user)
            await people.remove_member(work, organization, user)

    async def by_disabling(_: str) -> None:
        async with runtime.transaction(OPERATOR) as work:
            await people.disable_user(work, user)
            await accounts.enable_user(work, user)

    async def by_deprovisioning(_: str) -> None:
        path, headers = await _join(runtime, user)
        assert (await client.delete(path, headers=headers)).status_code == 204

    async def by_suspending(_: str) -> None:
        path, headers = await _join(runtime, user)
        for active in (False, True):
            body = {"Operations": [{"op": "replace", "value": {"active": active}}]}
            assert (await client.patch(path, json=body, headers=headers)).status_code == 200

    doors: dict[str, Cancel] = {
        "key": by_key,
        "link": by_link,
        "operator": by_operator,
        "leave": by_leaving,
        "disable": by_disabling,
        "deprovision": by_deprovisioning,
        "suspend": by_suspending,
        "agent": partial(_cancel_by_agent, client, runtime),
        "approval": partial(_cancel_by_approval, client, runtime),
    }
    return doors[request.param]


async def _cancel_by_agent(client: httpx2.AsyncClient, runtime: Runtime, booking_id: str) -> None:
    orchestrator = TestAgent(client, await make_key(runtime, "orchestrator"))
    answer = await orchestrator.result("cancel_booking", bookingId=booking_id, reason="Ill", confirm=True)
    assert answer["outcome"] == "done"


async def _cancel_by_approval(client: httpx2.AsyncClient, runtime: Runtime, booking_id: str) -> None:
    support, orchestrator = [TestAgent(client, await make_key(runtime, who)) for who in ("support", "orchestrator")]
    wanted = {"bookingId": booking_id, "reason": "Ill", "confirm": True}
    waiting = (await support.call("cancel_booking", **wanted))["error"]
    assert waiting["code"] == -32013
    decision = {"approvalId": waiting["data"]["approvalId"], "decision": "approve"}
    assert (await orchestrator.result("cancel_booking", **wanted, **decision))["outcome"] == "done"


async def _join(runtime: Runtime, user: User) -> tuple[str, dict[str, str]]:
    """Take the host into an organization, and tell where its provider finds the member."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await accounts.add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        membership = await accounts.add_member(work, organization, user)
        token, _ = await access.create_scim_token(work, organization, name="Okta")
    return f"/api/scim/v2/Users/{membership.id}", {"Authorization": f"Bearer {token}"}


async def _connect_all(runtime: Runtime, user: User) -> None:
    """Give the host an endpoint and a calendar, which want to know of every booking."""
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.add_endpoint(work, user, EndpointWanted(url="https://hooks.example/openslot"))
    await runtime.pool.execute(
        """with connection as (
            insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, created_at)
            values ($1, $2, 'ics', 'calendar.example', 'Work', '', 'infinity', now()) returning id, owner_id)
        insert into calendars (id, connection_id, owner_id, url, name, can_write, is_busy)
        select id, id, owner_id, 'https://calendar.example/work.ics', 'Work', false, false from connection""",
        new_id(),
        user.id,
    )


def _ref(booking_id: str) -> BookingRef:
    return BookingRef(UUID(booking_id), None)


@pytest.mark.parametrize(
    ("cancel", "cancelled_by"),
    [
        ("key", "host"),
        ("link", "invitee"),
        ("operator", "operator"),
        ("leave", "operator"),
        ("disable", "operator"),
        ("deprovision", "organization"),
        ("suspend", "organization"),
        ("agent", "agent"),
        ("approval", "agent"),
    ],
    indirect=["cancel"],
)
async def test_a_cancelled_booking_gives_its_time_back_and_is_told_once(
    cancel: Cancel,
    cancelled_by: str,
    client: httpx2.AsyncClient,
    bearer: dict[str, str],
    book: Book,
    runtime: Runtime,
    user: User,
    meeting: EventType,
) -> None:
    del meeting
    await _connect_all(runtime, user)
    booking_id = (await book()).json()["bookingId"]
    assert TEN not in await slots(client, bearer)

    await cancel(booking_id)

    shown = (await client.get(f"/api/v1/bookings/{booking_id}", headers=bearer)).json()
    assert (shown["status"], shown["cancelledBy"]) == ("CANCELLED", cancelled_by)
    assert shown["cancelReason"]
    assert TEN in await slots(client, bearer)
    told = "select count(*) from events where type = 'booking.cancelled' and subject_id = $1::text::uuid"
    assert await runtime.pool.fetchval(told, booking_id) == 1
    effects = "select f.reaction from effects f join events v on v.id = f.event_id where v.type = 'booking.cancelled'"
    assert sorted(row["reaction"] for row in await runtime.pool.fetch(effects)) == [
        "calendars.plan",
        "mail.fan_out",
        "webhooks.dispatch",
    ]
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, _ref(booking_id))
    assert await runtime.pool.fetchval(told, booking_id) == 1
    assert await find_disorder(runtime.pool) == {}
