"""Whose a message is, and what is deleted at the provider when it is deleted here."""

from datetime import timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.conversations import operations as conversations
from openslot.domains.messaging import inbound
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.models import InboundMessage, MediaRef
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.messaging import NUMBER, PHONE, TOKEN, insert_number, sid

MEDIA = MediaRef(ref=f"Messages/{sid(1, 'MM')}/Media/{sid(1, 'ME')}", content_type="image/png")


def message(
    number: int = 1, body: str = "Hello", *, sender: str = PHONE, media: tuple[MediaRef, ...] = ()
) -> InboundMessage:
    channel = ConnectionChannel.SMS.messages
    assert channel is not None
    return InboundMessage(id=sid(number), channel=channel, sender=sender, recipient=NUMBER, body=body, media=media)


async def receive(runtime: Runtime, number: MessagingConnection, told: InboundMessage) -> UUID | None:
    """Receive a message, and return whose it became."""
    async with runtime.transaction(SYSTEM) as work:
        kept = await inbound.receive(work, number, told)
    if kept is None:
        return None
    owner: UUID = await runtime.pool.fetchval("select owner_id from conversations where id = $1", kept.conversation_id)
    return owner


@pytest.fixture
async def organization(runtime: Runtime, user: User, stranger: User) -> Organization:
    async with runtime.transaction(OPERATOR) as work:
        made = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, made, user, role=Role.OWNER)
        await add_organization_member(work, made, stranger, role=Role.MEMBER)
    return made


@pytest.fixture
async def shared(runtime: Runtime, organization: Organization) -> MessagingConnection:
    return await insert_number(runtime, organization_id=organization.id)


async def test_a_strangers_message_goes_to_the_default_host_or_else_to_an_owner(
    runtime: Runtime, user: User, stranger: User, shared: MessagingConnection
) -> None:
    assert await receive(runtime, shared, message(1, sender="+493044444444")) == user.id
    chosen = await change_default(runtime, shared, stranger)
    assert await receive(runtime, chosen, message(2, sender="+493055555555")) == stranger.id
    await runtime.pool.execute("update memberships set active = false where user_id = $1", stranger.id)
    assert await receive(runtime, chosen, message(3, sender="+493066666666")) == user.id


async def change_default(runtime: Runtime, shared: MessagingConnection, host: User) -> MessagingConnection:
    await runtime.pool.execute("update messaging_connections set default_host_id = $1", host.id)
    return replace(shared, default_host_id=host.id)


async def test_a_message_goes_to_the_host_of_the_newest_thread_on_this_number(
    runtime: Runtime, clock: MovingClock, user: User, stranger: User, shared: MessagingConnection
) -> None:
    chosen = await change_default(runtime, shared, stranger)
    assert await receive(runtime, chosen, message(1)) == stranger.id
    chosen = await change_default(runtime, shared, user)
    clock.now += timedelta(minutes=1)

    assert await receive(runtime, chosen, message(2)) == stranger.id

    # A newer thread with the same person by another number does not count.
    own = await insert_number(runtime, user_id=user.id, number="+493077777777")
    clock.now += timedelta(minutes=1)
    assert await receive(runtime, own, message(3)) == user.id
    clock.now += timedelta(minutes=1)
    assert await receive(runtime, chosen, message(4)) == stranger.id


async def test_a_known_message_is_kept_once_even_if_another_host_would_get_it_now(
    runtime: Runtime, user: User, stranger: User, shared: MessagingConnection
) -> None:
    assert await receive(runtime, shared, message(1)) == user.id
    await runtime.pool.execute("update memberships set active = false where user_id = $1", user.id)

    assert await receive(runtime, shared, message(1)) is None

    assert await runtime.pool.fetchval("select count(*) from messages") == 1
    assert await runtime.pool.fetchval("select count(*) from conversations") == 1


async def test_what_comes_from_no_phone_number_is_left_out(runtime: Runtime, number: MessagingConnection) -> None:
    for sender in ("12345", "ACME", "", "+0123", "+4930333333330000000"):
        assert await receive(runtime, number, message(1, sender=sender)) is None

    assert await runtime.pool.fetchval("select count(*) from conversations") == 0


async def test_a_provider_can_not_date_a_message_into_the_future(
    runtime: Runtime, number: MessagingConnection, clock: MovingClock
) -> None:
    await receive(runtime, number, replace(message(1), at=clock.now + timedelta(days=400)))
    await receive(runtime, number, replace(message(2), at=clock.now - timedelta(days=2)))

    rows = await runtime.pool.fetch("select at from messages order by vendor_id")
    assert [row["at"] for row in rows] == [clock.now, clock.now - timedelta(days=2)]


async def test_files_are_listed_and_their_references_sealed(
    runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    await receive(runtime, number, message(1, "", media=(MEDIA, MEDIA)))
    work = runtime.work(OPERATOR)
    (thread,), _ = await conversations.list_conversations(work, user)
    found = await conversations.get_thread(work, user, thread.id)

    assert [(each.position, each.content_type) for each in found.messages[0].files] == [
        (0, "image/png"),
        (1, "image/png"),
    ]
    refs = await runtime.pool.fetch("select ref from message_media")
    assert all(runtime.secrets.open(row["ref"]) == MEDIA.ref for row in refs)


async def test_a_thread_is_read_as_far_as_it_was_seen(
    runtime: Runtime, user: User, number: MessagingConnection, clock: MovingClock
) -> None:
    await receive(runtime, number, message(1))
    work = runtime.work(OPERATOR)
    (thread,), _ = await conversations.list_conversations(work, user)
    clock.now += timedelta(minutes=1)
    await receive(runtime, number, message(2))

    async with runtime.transaction(OPERATOR) as writing:
        await conversations.mark_thread_read(writing, user, thread)

    row = await runtime.pool.fetchrow("select read_at < last_inbound_at as is_unread from conversations")
    assert row is not None
    assert row["is_unread"]


async def list_erasures(runtime: Runtime) -> list[tuple[str, str, str]]:
    rows = await runtime.pool.fetch("select account, token, vendor_id from message_erasures order by vendor_id")
    return [(row["account"], runtime.secrets.open(row["token"]), row["vendor_id"]) for row in rows]


async def test_a_deleted_thread_is_deleted_at_the_provider_too(
    runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    await receive(runtime, number, message(1))
    await receive(runtime, number, message(2, sender="+493044444444"))
    (thread,), _ = await conversations.list_conversations(runtime.work(OPERATOR), user, phone=PHONE)

    async with runtime.transaction(OPERATOR) as work:
        await conversations.delete_thread(work, user, thread.id)

    assert await list_erasures(runtime) == [(number.account, TOKEN, sid(1))]


async def test_with_an_account_its_messages_are_deleted_at_the_provider_once_each(
    runtime: Runtime, user: User, stranger: User, organization: Organization, number: MessagingConnection
) -> None:
    shared = await insert_number(runtime, organization_id=organization.id)
    for told in range(3):
        await receive(runtime, number, message(told))
    await receive(runtime, shared, message(7))
    await receive(runtime, await change_default(runtime, shared, stranger), message(8, sender="+493044444444"))

    await runtime.pool.execute("delete from users where id = $1", user.id)

    # What an organization's number has brought to others stays.
    assert [each[2] for each in await list_erasures(runtime)] == [sid(0), sid(1), sid(2), sid(7)]
    assert await runtime.pool.fetchval("select count(*) from messages") == 1
