"""Who can be paid: a host with a connection of their own, or of their organization, and nobody else."""

import httpx2
import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.event_types.rules import is_offered
from openslot.domains.payments.connections import store as connection_store
from openslot.domains.payments.connections.accounts import opened_payment_account
from openslot.domains.payments.errors import PaymentsNotConnected
from openslot.domains.payments.models import Mode
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import offer
from tests.support.fake_stripe import Books
from tests.support.payments import insert_connection

DAYS = {"timezone": "UTC", "startDate": "2026-03-16", "endDate": "2026-03-20"}


@pytest.fixture
async def paid(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "paid", price=Money(8000, "EUR"))


async def read(runtime: Runtime, event_type: EventType, user: User) -> EventType:
    return await event_types.get_event_type(runtime.work(OPERATOR), user, event_type.id)


async def test_a_price_can_be_paid_while_a_connection_is_there(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, books: Books
) -> None:
    assert not is_offered(await read(runtime, paid, user))
    connection = await insert_connection(runtime, books.key, user_id=user.id)

    assert is_offered(await read(runtime, paid, user))
    assert (await client.get("/api/public/mara/paid/slots", params=DAYS)).json()["data"]
    assert "payments are not set up yet" not in (await client.get("/mara/paid")).text
    assert "Can't be booked online yet" not in (await client.get("/mara")).text

    await runtime.pool.execute("update payment_connections set key = null, disconnected_at = now()")
    assert not is_offered(await read(runtime, paid, user))
    assert await connection_store.find_connection_of_event_type(runtime.pool, paid.id) is None
    disconnected = await connection_store.get_stored_connection(runtime.pool, connection.id)
    with pytest.raises(PaymentsNotConnected):
        async with opened_payment_account(runtime, disconnected):
            pass


async def test_an_organization_connects_for_its_members_and_their_own_connection_is_named_first(
    runtime: Runtime, user: User, books: Books
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user)
    theirs = await insert_connection(runtime, books.key, organization_id=organization.id)
    first = await offer(runtime, user, "first", price=Money(8000, "EUR"))
    own = await insert_connection(runtime, books.key, user_id=user.id)
    second = await offer(runtime, user, "second", price=Money(8000, "EUR"))

    assert await connection_store.find_connection_of_event_type(runtime.pool, first.id) == theirs
    assert await connection_store.find_connection_of_event_type(runtime.pool, second.id) == own
    await runtime.pool.execute("update memberships set active = false")
    assert not (await read(runtime, first, user)).accepts_payments
    assert (await read(runtime, second, user)).accepts_payments


async def test_a_connection_of_somebody_else_is_not_used(
    runtime: Runtime, user: User, stranger: User, paid: EventType, books: Books
) -> None:
    await insert_connection(runtime, books.key, user_id=stranger.id)

    assert await connection_store.find_connection_of_event_type(runtime.pool, paid.id) is None
    assert not (await read(runtime, paid, user)).accepts_payments


async def test_a_connection_opens_the_checkout_of_its_account(runtime: Runtime, user: User, books: Books) -> None:
    connection = await insert_connection(runtime, books.key, user_id=user.id)

    async with opened_payment_account(runtime, connection) as checkout:
        checked = await checkout.check_key()
    assert (checked.mode, checked.missing) == (Mode.TEST, ())
