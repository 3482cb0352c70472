"""Every way that leads to a cancelled booking: its door, and who cancels there."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.access import operations as access
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.bookings.links import manage_token
from openslot.domains.bookings.models import BookingRef
from openslot.domains.messaging.connections import store as connection_store
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent, make_key
from tests.support.effects import run_attempt
from tests.support.host import open_session
from tests.support.messaging import insert_number, message_form, notify, write_reminder

REASON = {"reason": "Ill"}


class Installation(Struct, frozen=True, kw_only=True):
    """What is behind the doors: a host, an administrator of the platform, and the way to both."""

    client: httpx2.AsyncClient
    runtime: Runtime
    bearer: dict[str, str]
    user: User
    admin: User

    async def submit(self, path: str, user: User, **fields: str) -> None:
        """Send a form of a page as someone who is signed in."""
        answer = await self.client.post(path, data=fields, headers=await open_session(self.runtime, user))
        assert answer.status_code == 303, answer.text

    async def agent(self, slug: str) -> TestAgent:
        """Connect an agent with a key of its own."""
        return TestAgent(self.client, await make_key(self.runtime, slug))

    async def join(self) -> tuple[Organization, UUID]:
        """Take the host into an organization whose owner is the administrator; return the host's membership too."""
        async with self.runtime.transaction(OPERATOR) as work:
            organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
            await add_organization_member(work, organization, self.admin, role=Role.OWNER)
            return organization, (await add_organization_member(work, organization, self.user)).id

    async def enable(self) -> None:
        """Enable the host's account, so that the booking can be read as before."""
        await self.submit(f"/admin/users/{self.user.id}/enable", self.admin)


Cancel = Callable[[Installation, str], Awaitable[None]]


async def by_key(here: Installation, booking_id: str) -> None:
    answer = await here.client.post(f"/api/v1/bookings/{booking_id}/cancel", json=REASON, headers=here.bearer)
    assert answer.json() == {"success": True}


async def by_public_api(here: Installation, booking_id: str) -> None:
    token = manage_token(here.runtime, UUID(booking_id))
    answer = await here.client.post(f"/api/public/manage/{token}/cancel", json=REASON)
    assert answer.json() == {"success": True}


async def by_manage_page(here: Installation, booking_id: str) -> None:
    token = manage_token(here.runtime, UUID(booking_id))
    assert (await here.client.post(f"/manage/{token}/cancel", data=REASON)).status_code == 303


async def by_dashboard(here: Installation, booking_id: str) -> None:
    await here.submit(f"/bookings/{booking_id}/cancel", here.user, **REASON)


async def by_message(here: Installation, booking_id: str) -> None:
    number = replace(await insert_number(here.runtime, user_id=here.user.id), can_cancel=True)
    await connection_store.update(here.runtime.pool, number)
    await write_reminder(here.runtime, number, BookingRef(UUID(booking_id), here.user.id))
    assert (await notify(here.client, here.runtime, number, message_form(body="C"))).status_code == 200
    row = await here.runtime.pool.fetchrow("select id, round from effects where reaction = 'messaging.answer'")
    assert row is not None
    await run_attempt(here.runtime, EffectAttempt(row["id"], row["round"]))


async def by_page_that_removes_a_member(here: Installation, _: str) -> None:
    member_id = (await here.join())[1]
    await here.submit(f"/organization/members/{member_id}/remove", here.admin)


async def by_page_that_suspends_a_member(here: Installation, _: str) -> None:
    member_id = (await here.join())[1]
    for path in ("suspend", "reinstate"):
        await here.submit(f"/organization/members/{member_id}/{path}", here.admin)


async def by_page_that_disables_a_user(here: Installation, _: str) -> None:
    await here.submit(f"/admin/users/{here.user.id}/disable", here.admin, **REASON)
    await here.enable()


async def by_provider_that_removes_a_member(here: Installation, _: str) -> None:
    path, headers = await _provision(here)
    assert (await here.client.delete(path, headers=headers)).status_code == 204


async def by_provider_that_suspends_a_member(here: Installation, _: str) -> None:
    path, headers = await _provision(here)
    for active in (False, True):
        body = {"Operations": [{"op": "replace", "value": {"active": active}}]}
        assert (await here.client.patch(path, json=body, headers=headers)).status_code == 200


async def by_agent(here: Installation, booking_id: str) -> None:
    wanted = {"bookingId": booking_id, **REASON, "confirm": True}
    answer = await (await here.agent("orchestrator")).result("cancel_booking", **wanted)
    assert answer["outcome"] == "done"


async def by_agent_and_agents_approval(here: Installation, booking_id: str) -> None:
    wanted = {"bookingId": booking_id, **REASON, "confirm": True}
    approval_id = await _ask(here, "cancel_booking", **wanted)
    decision = {"approvalId": approval_id, "decision": "approve"}
    answer = await (await here.agent("orchestrator")).result("cancel_booking", **wanted, **decision)
    assert answer["outcome"] == "done"


async def by_agent_and_administrators_approval(here: Installation, booking_id: str) -> None:
    approval_id = await _ask(here, "cancel_booking", bookingId=booking_id, **REASON, confirm=True)
    await here.submit(f"/admin/approvals/{approval_id}/approve", here.admin)


async def by_agent_that_disables_a_user(here: Installation, _: str) -> None:
    approval_id = await _ask(here, "disable_user", userId=str(here.user.id), **REASON, confirm=True)
    await here.submit(f"/admin/approvals/{approval_id}/approve", here.admin)
    await here.enable()


async def _provision(here: Installation) -> tuple[str, dict[str, str]]:
    """Return where the organization's provider finds the host, and with which token."""
    organization, member_id = await here.join()
    async with here.runtime.transaction(OPERATOR) as work:
        token, _ = await access.create_scim_token(work, organization, name="Okta")
    return f"/api/scim/v2/Users/{member_id}", {"Authorization": f"Bearer {token}"}


async def _ask(here: Installation, tool: str, **wanted: object) -> str:
    """Let an agent ask for what needs an approval."""
    waiting = (await (await here.agent("support")).call(tool, **wanted))["error"]
    assert waiting["code"] == -32013
    approval_id: str = waiting["data"]["approvalId"]
    return approval_id


WAYS: dict[Cancel, str] = {
    by_key: "host",
    by_public_api: "invitee",
    by_manage_page: "invitee",
    by_dashboard: "host",
    by_message: "invitee",
    by_page_that_removes_a_member: "organization",
    by_page_that_suspends_a_member: "organization",
    by_page_that_disables_a_user: "operator",
    by_provider_that_removes_a_member: "organization",
    by_provider_that_suspends_a_member: "organization",
    by_agent: "agent",
    by_agent_and_agents_approval: "agent",
    by_agent_and_administrators_approval: "agent",
    by_agent_that_disables_a_user: "agent",
}
