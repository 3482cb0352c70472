"""Which number a host writes from: the one that they use, whatever they join or leave."""

import asyncio
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.messaging import host_numbers
from openslot.domains.messaging.connections import operations as connecting
from openslot.domains.messaging.connections.accounts import find_host_number
from openslot.domains.messaging.connections.events import HostNumberChanged
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.connections.operations import CheckedNumber, NumberOwner, NumberWanted
from openslot.domains.messaging.errors import MessagingNotConnected
from openslot.domains.messaging.models import AccountCheck, NumberState
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.support.clocks import MovingClock
from tests.support.command_line import Run
from tests.support.effects import work_off
from tests.support.messaging import ACCOUNT, TOKEN
from tests.support.page import read_page

SMS = ConnectionChannel.SMS


async def connect(runtime: Runtime, owner: NumberOwner, number: str) -> MessagingConnection:
    """Connect a number in the place of the one that is there, without a look at it."""
    wanted = NumberWanted(channel=SMS, number=number, account=ACCOUNT, token=TOKEN)
    found = AccountCheck(account_name=owner.name, number=NumberState.READY)
    async with runtime.transaction(OPERATOR) as work:
        known = {each.channel: each for each in await connecting.list_number_connections(work, owner)}.get(SMS)
        return await connecting.connect_messaging_number(
            work, owner, CheckedNumber(wanted=wanted, found=found, known=known)
        )


async def join(runtime: Runtime, organization: Organization, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await members.add_organization_member(work, organization, user)


async def leave(runtime: Runtime, organization: Organization, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await members.end_membership(work, organization, user)


async def used(runtime: Runtime, host: User) -> UUID | None:
    found = await find_host_number(runtime.work(OPERATOR), host, SMS)
    return found.id if found else None


async def told(runtime: Runtime) -> list[tuple[str, bool]]:
    """List the numbers that hosts were told of, and whether they are gone, and forget it."""
    rows = await runtime.pool.fetch(
        """update events set type = 'told' where type = $1
        returning fact ->> 'number' as number, (fact ->> 'is_gone')::bool as is_gone""",
        HostNumberChanged.type,
    )
    return [(row["number"], row["is_gone"]) for row in rows]


@pytest.fixture
async def harbor(runtime: Runtime) -> Organization:
    async with runtime.transaction(OPERATOR) as work:
        return await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)


@pytest.fixture
async def bay(runtime: Runtime) -> Organization:
    async with runtime.transaction(OPERATOR) as work:
        return await add_organization(work, name="Bay", slug="bay", plan=Plan.BUSINESS)


async def test_joining_an_organization_that_connected_earlier_changes_no_number(
    runtime: Runtime, user: User, harbor: Organization, bay: Organization
) -> None:
    await connect(runtime, bay, "+493011111111")
    theirs = await connect(runtime, harbor, "+493022222222")
    await join(runtime, harbor, user)
    assert await used(runtime, user) == theirs.id

    assert await told(runtime) == [(theirs.number, False)], "who had no number is told that there is one"

    await join(runtime, bay, user)
    assert await used(runtime, user) == theirs.id
    assert await told(runtime) == []


async def test_members_who_have_chosen_none_are_told_that_their_organization_has_connected_one(
    runtime: Runtime, user: User, stranger: User, harbor: Organization
) -> None:
    for each in (user, stranger):
        await join(runtime, harbor, each)
    await connect(runtime, stranger, "+493033333333")
    theirs = await connect(runtime, harbor, "+493022222222")

    assert await used(runtime, user) == theirs.id
    assert await told(runtime) == [(theirs.number, False)]


async def test_who_has_left_is_not_told_again_that_the_number_is_gone(
    runtime: Runtime, user: User, stranger: User, harbor: Organization
) -> None:
    theirs = await connect(runtime, harbor, "+493022222222")
    for each in (user, stranger):
        await join(runtime, harbor, each)
    await leave(runtime, harbor, stranger)
    await told(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await connecting.disconnect_messaging_number(work, harbor, theirs.id)

    assert await told(runtime) == [(theirs.number, True)]


async def test_leaving_tells_that_the_number_is_gone_and_uses_no_other_until_one_is_chosen(
    runtime: Runtime, clock: MovingClock, user: User, harbor: Organization, bay: Organization
) -> None:
    theirs, other = await connect(runtime, harbor, "+493022222222"), await connect(runtime, bay, "+493011111111")
    for each in (harbor, bay):
        await join(runtime, each, user)
    assert await told(runtime) == [(theirs.number, False)]
    await leave(runtime, harbor, user)
    assert await used(runtime, user) is None
    with pytest.raises(MessagingNotConnected):
        async with runtime.transaction(OPERATOR) as work:
            await host_numbers.use_number(work, user, theirs.id)
    async with runtime.transaction(OPERATOR) as work:
        await host_numbers.use_number(work, user, other.id)
    assert await used(runtime, user) == other.id

    await work_off(runtime, clock)
    gone, changed = await messages(runtime, user.email)
    assert gone["subject"] == "The number that you write from is gone"
    assert changed["subject"] == "Your messages are sent from another number now"
    assert "+493022222222" in gone.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert await told(runtime) == [(theirs.number, True), (other.number, False)]


async def test_an_organizations_next_number_takes_the_place_of_the_one_before_and_members_are_told(
    runtime: Runtime, user: User, stranger: User, harbor: Organization
) -> None:
    await connect(runtime, harbor, "+493022222222")
    for each in (user, stranger):
        await join(runtime, harbor, each)
    own = await connect(runtime, stranger, "+493033333333")
    await told(runtime)
    again = await connect(runtime, harbor, "+493044444444")
    assert [await used(runtime, each) for each in (user, stranger)] == [again.id, own.id]
    assert await told(runtime) == [(again.number, False)]

    async with runtime.transaction(OPERATOR) as work:
        await connecting.disconnect_messaging_number(work, harbor, again.id)
    assert [await used(runtime, each) for each in (user, stranger)] == [None, own.id]
    assert await told(runtime) == [(again.number, True)]


async def test_the_page_and_the_command_show_and_change_the_number(
    member: httpx2.AsyncClient, command_line: Run, runtime: Runtime, user: User, harbor: Organization, bay: Organization
) -> None:
    theirs, foreign = await connect(runtime, harbor, "+493022222222"), await connect(runtime, bay, "+493011111111")
    await join(runtime, harbor, user)
    own = await connect(runtime, user, "+493033333333")
    assert await used(runtime, user) == own.id, "whoever connects a number uses it"
    shown = read_page(await member.get("/settings/messages")).text
    assert "Harbor" in shown
    assert foreign.number not in shown

    assert (await member.post(f"/settings/messages/{theirs.id}/use")).headers["location"].endswith("?done=used")
    assert await used(runtime, user) == theirs.id
    assert (await member.post(f"/settings/messages/{foreign.id}/use")).status_code == 404
    done = await asyncio.to_thread(command_line, "messaging", "use", str(own.id), "--user", user.email)
    assert done.exit_code == 0
    assert await used(runtime, user) == own.id

    await member.post(f"/settings/messages/{theirs.id}/use")
    await leave(runtime, harbor, user)
    assert "the number that you used is gone" in read_page(await member.get("/settings/messages")).text
    assert await used(runtime, user) is None
