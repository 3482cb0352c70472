"""A host's page stays light, with everything that it loads."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.doors.web.dashboard.booking_list import ROWS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.bookings import copy_booking
from tests.support.host import TWELVE, Book
from tests.support.messaging import insert_number
from tests.support.weights import weigh

PAGES = (
    "/",
    "/bookings",
    "/bookings?view=cancelled",
    "/bookings/day?date=2026-03-17",
    "/bookings/week?date=2026-03-17",
    "/bookings/month?date=2026-03-17",
    "/bookings/{booking}",
    "/bookings/new?type=intro-call",
    "/event-types",
    "/event-types/{type}",
    "/event-types/{type}/links",
    "/contacts",
    "/account",
    "/analytics",
    "/availability",
    "/availability/{schedule}",
    "/availability/{schedule}/holidays",
    "/settings/profile",
    "/settings/branding",
    "/settings/payments",
    "/settings/messages",
    "/settings/crm",
    "/payments",
    "/organization/members",
    "/organization/messages",
    "/organization/settings",
)
# With a number, the navigation has two more items, and reminders have channels.
WITH_NUMBER = (
    "/settings/messages/{number}",
    "/event-types/{type}",
    "/event-types/{type}/reminders",
    "/settings/notifications",
    "/settings/reminders/all/before-1440-email",
    "/bookings/{booking}",
    "/analytics",
)


@pytest.mark.rest("opens every page or sends every form")
async def test_a_page_is_at_most_40_kb_on_the_wire_and_69_unpacked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor Studio", slug="harbor", plan=Plan.BUSINESS)
        await members.add_organization_member(work, organization, user, role=Role.OWNER)
    await offer(runtime, user, "intro-call")
    booking = await book()
    for number in range(8):
        await book(TWELVE + timedelta(days=number // 2, hours=number % 2), name="Luis Ferreira")
    cancelled = await book(TWELVE + timedelta(days=7))
    answer = await member.post(f"/bookings/{cancelled.id}/cancel", data={"reason": "Something came up"})
    assert answer.status_code == 303
    await copy_booking(runtime, str(cancelled.id), ROWS, apart="1 day")
    ids = {
        "booking": booking.id,
        "type": await runtime.pool.fetchval("select id from event_types where slug = 'intro-call'"),
        "schedule": await runtime.pool.fetchval("select id from schedules"),
    }
    for path in (*PAGES, *WITH_NUMBER):
        if path == WITH_NUMBER[0]:
            ids["number"] = (await insert_number(runtime, user_id=user.id)).id
            await insert_number(runtime, user_id=user.id, channel=ConnectionChannel.WHATSAPP)
        weight = await weigh(member, path.format(**ids))

        assert weight.on_the_wire <= 40_000, (path, weight)
        assert weight.unpacked <= 69_000, (path, weight)
