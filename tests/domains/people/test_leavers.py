"""Joiners get a page; leavers' meetings are cancelled in the same transaction."""

import asyncio

import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings.models import Status
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Runtime
from tests.support.leavers import PAGE, book_one, statuses


async def join(runtime: Runtime, user: User) -> Organization:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user)
        return organization


async def test_a_new_host_can_be_booked_at_once(runtime: Runtime, user: User) -> None:
    del user
    _, slots, _ = await list_open_slots(runtime.work(PUBLIC), PAGE, timezone="Asia/Tokyo")

    assert slots.starts


async def test_a_disabled_users_meetings_are_cancelled_and_the_page_is_shut(runtime: Runtime, user: User) -> None:
    await book_one(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await access.begin_session(work, user, user_agent="test")
        await people.disable_user(work, user, reason="left")

    assert await statuses(runtime, user) == [Status.CANCELLED]
    assert await runtime.pool.fetchval("select count(*) from sessions") == 0
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0
    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.cancelled'") == 1
    with pytest.raises(EventTypeNotFound):
        await list_open_slots(runtime.work(PUBLIC), PAGE, timezone="UTC")


async def test_who_leaves_an_organization_keeps_the_account(runtime: Runtime, user: User) -> None:
    organization = await join(runtime, user)
    await book_one(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, organization, user)

    assert await statuses(runtime, user) == [Status.CANCELLED]
    assert (await accounts.get_user(runtime.work(OPERATOR), user.id)).disabled_at is None
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(NotFound):
            await people.remove_member(work, organization, user)


async def test_when_something_fails_nobody_has_left(runtime: Runtime, user: User) -> None:
    organization = await join(runtime, user)
    await book_one(runtime)
    with pytest.raises(RuntimeError):
        async with runtime.transaction(OPERATOR) as work:
            await people.remove_member(work, organization, user)
            raise RuntimeError("the power went")

    assert await statuses(runtime, user) == [Status.CONFIRMED]


async def test_leaving_and_a_new_password_never_wait_for_each_other(runtime: Runtime, user: User) -> None:
    organization = await join(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        await access.begin_session(work, user, user_agent="")

    async def leave() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await people.remove_member(work, organization, user)

    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_password_hash(work, user, "another")
        leaving = asyncio.create_task(leave())
        while not await runtime.pool.fetchval("select count(*) from pg_locks where not granted"):
            await asyncio.sleep(0.01)
        await access.end_sessions(work, user)
    await leaving

    assert await runtime.pool.fetchval("select count(*) from sessions") == 0
