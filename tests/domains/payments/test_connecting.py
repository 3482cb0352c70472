"""Connecting an account: the key is checked and sealed, replaced for the same account, and deleted in the end."""

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types.models import Money
from openslot.domains.payments.connections import operations as connecting
from openslot.domains.payments.connections import store as connection_store
from openslot.domains.payments.connections.accounts import can_be_notified, notice_url
from openslot.domains.payments.connections.operations import AccountOwner
from openslot.domains.payments.errors import PaymentConnectionChanged, PaymentsNotConnected, PaymentsUnderWay
from openslot.domains.payments.jobs import PAYMENT_JOBS
from openslot.domains.payments.models import ConnectionWanted, Mode, PaymentConnection
from openslot.domains.payments.polling import PAYMENT_CONNECTION_JOBS
from openslot.domains.people import organization_deletions
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.domains.payments.support import book, find, session_of
from tests.doors.web.event_types.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_stripe import Books, FakeStripe, Fault, FaultKind

EVERYTHING = (
    "checkout_session_write",
    "payment_intent_read",
    "charge_write",
    "dispute_read",
    "event_read",
    "webhook_write",
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The settings of an installation that Stripe can reach."""
    return replace(settings, base_url="https://book.example")


async def connect(runtime: Runtime, owner: AccountOwner, key: str, *, secret: str | None = None) -> PaymentConnection:
    work = runtime.work(OPERATOR)
    account = await connecting.check_payment_account(work, owner, ConnectionWanted(key=key, notice_secret=secret))
    async with work.transaction():
        return await connecting.connect_payment_account(work, owner, account)


async def disconnect(runtime: Runtime, owner: AccountOwner) -> None:
    work = runtime.work(OPERATOR)
    leaves_open = await connecting.end_open_checkouts(work, await connecting.get_payment_connection(work, owner))
    async with work.transaction():
        await connecting.disconnect_payment_account(work, owner, leaves_open=leaves_open)


async def tick(runtime: Runtime, clock: MovingClock) -> None:
    for job in PAYMENT_CONNECTION_JOBS:
        await run_job(runtime, job)
    await work_off(runtime, clock)


async def find_fault(runtime: Runtime, owner: AccountOwner, key: str, *, secret: str | None = None) -> dict[str, str]:
    with pytest.raises(Invalid) as refused:
        await connect(runtime, owner, key, secret=secret)
    assert await runtime.pool.fetchval("select count(*) from payment_connections where key_ending = $1", key[-4:]) == 0
    return refused.value.details or {}


def endpoints(books: Books) -> list[str]:
    return [each["url"] for each in books.list("webhook_endpoint")]


async def test_a_restricted_key_is_kept_sealed_and_an_endpoint_is_registered(
    runtime: Runtime, clock: MovingClock, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    key = fake_stripe.add_key(books, *EVERYTHING)
    made = await connect(runtime, user, key)
    await work_off(runtime, clock)

    row = await runtime.pool.fetchrow("select * from payment_connections")
    assert row is not None
    assert key.encode() not in b"".join(value for value in row.values() if isinstance(value, bytes))
    assert (row["id"], row["user_id"], row["mode"], row["key_ending"]) == (made.id, user.id, "test", key[-4:])
    assert endpoints(books) == [f"https://book.example/api/notices/stripe/{made.id}"]
    assert books.list("webhook_endpoint")[0]["api_version"] == "2026-10-28.endive"
    kept = await connection_store.get_stored_connection(runtime.pool, made.id)
    assert kept.notice_secret is not None
    assert runtime.secrets.open(kept.notice_secret).startswith("whsec_")
    types = await runtime.pool.fetch("select type from events where subject_id = $1", made.id)
    assert [each["type"] for each in types] == ["payment_connection.connected"]


@pytest.mark.parametrize("left_out", EVERYTHING)
async def test_a_missing_right_is_named_in_stripes_words(
    runtime: Runtime, user: User, fake_stripe: FakeStripe, books: Books, left_out: str
) -> None:
    key = fake_stripe.add_key(books, *(each for each in EVERYTHING if each != left_out))
    fault = (await find_fault(runtime, user, key))["key"]

    named = {
        "checkout_session_write": "Checkout Sessions: write",
        "payment_intent_read": "PaymentIntents: read",
        "charge_write": "Charges and Refunds: write",
        "dispute_read": "Disputes: read",
        "event_read": "Events: read",
        "webhook_write": "Webhook Endpoints: write",
    }
    assert fault == f"lacks these permissions: {named[left_out]}. Edit the key in Stripe, then try again"


async def test_a_key_that_is_none_or_unknown_is_refused_at_its_field(
    runtime: Runtime, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    assert "rk_ or sk_" in (await find_fault(runtime, user, "pk_test_0123456789"))["key"]
    assert "was refused by Stripe" in (await find_fault(runtime, user, "rk_test_0123456789abcdef"))["key"]
    assert await find_fault(runtime, user, books.key, secret="mine") == {"noticeSecret": "must begin with whsec_"}
    fake_stripe.is_down = True
    assert "Stripe can't be reached" in (await find_fault(runtime, user, books.key))["key"]
    fake_stripe.is_down = False


async def test_a_new_key_of_the_same_account_keeps_the_connection_and_its_endpoint(
    runtime: Runtime, clock: MovingClock, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    first = await connect(runtime, user, books.key)
    await work_off(runtime, clock)
    await runtime.pool.execute(
        "update payment_connections set last_error = 'x', failing_since = now(), told_at = now()"
    )
    second = await connect(runtime, user, fake_stripe.add_key(books, *EVERYTHING, "accounts_kyc_basic_read"))
    await work_off(runtime, clock)

    kept = await connection_store.get_stored_connection(runtime.pool, first.id)
    assert (second.id, kept.key) == (first.id, second.key)
    assert kept.key != first.key
    assert (kept.last_error, kept.failing_since, kept.told_at) == (None, None, None)
    assert len(endpoints(books)) == 1


async def test_another_account_takes_the_place_and_the_old_endpoint_is_removed(
    runtime: Runtime, clock: MovingClock, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    first = await connect(runtime, user, books.key)
    await work_off(runtime, clock)
    live = fake_stripe.add_account("Mara", livemode=True)
    second = await connect(runtime, user, live.key)
    await tick(runtime, clock)

    old, new = [await connection_store.get_stored_connection(runtime.pool, each.id) for each in (first, second)]
    assert (old.key, old.notice_secret, old.disconnected_at) == (None, None, clock.now)
    assert (new.mode, new.disconnected_at) == (Mode.LIVE, None)
    assert (endpoints(books), len(endpoints(live))) == ([], 1)
    assert await runtime.pool.fetchval("select count(*) from payment_endings") == 0


async def test_an_account_that_somebody_pays_to_is_neither_replaced_nor_forgotten(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    await connect(runtime, user, books.key)
    answer = await book(client, await offer(runtime, user, "paid", price=Money(4900, "EUR")))
    other = fake_stripe.add_account("Other")

    with pytest.raises(PaymentsUnderWay):
        await connect(runtime, user, other.key)
    # A key that may not say whose it is, is known by what it can read.
    restricted = await connect(runtime, user, fake_stripe.add_key(books, *EVERYTHING))
    assert restricted.account_id == books.account_id
    with pytest.raises(PaymentsUnderWay):
        await connect(runtime, user, fake_stripe.add_key(other, *EVERYTHING))

    await disconnect(runtime, user)
    payment = await find(runtime, answer)
    assert books.objects[session_of(payment)]["status"] == "expired"
    assert payment.state == "released"
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0


@pytest.mark.rest("waits for seconds")
async def test_what_is_being_paid_while_stripe_is_down_is_not_left_behind(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    await connect(runtime, user, books.key)
    await book(client, await offer(runtime, user, "paid", price=Money(4900, "EUR")))
    fake_stripe.is_down = True
    with pytest.raises(PaymentsUnderWay):
        await disconnect(runtime, user)
    assert await connection_store.find_of_owner(runtime.pool, user.id) is not None


async def test_an_account_whose_key_was_deleted_in_stripe_can_be_disconnected_while_somebody_pays(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    fake_stripe: FakeStripe,
    books: Books,
) -> None:
    await connect(runtime, user, books.key)
    answer = await book(client, await offer(runtime, user, "paid", price=Money(4900, "EUR")))
    del fake_stripe.api.keys[books.key]

    await disconnect(runtime, user)
    assert await connection_store.find_of_owner(runtime.pool, user.id) is None
    # Somebody may still pay: the time is kept as long as the checkout.
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 1

    clock.pass_time(minutes=37)
    for job in PAYMENT_JOBS:
        await run_job(runtime, job)
    await work_off(runtime, clock)
    payment = await find(runtime, answer)
    assert (payment.state, payment.problem) == ("released", "provider_lost")
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0


async def test_an_endpoint_of_ones_own_is_used_and_none_is_registered(
    runtime: Runtime, clock: MovingClock, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    # A right that is not needed need not be given.
    key = fake_stripe.add_key(books, *(each for each in EVERYTHING if each != "webhook_write"))
    made = await connect(runtime, user, key, secret="whsec_of_my_own")
    await work_off(runtime, clock)

    assert made.notice_secret is not None
    assert runtime.secrets.open(made.notice_secret) == "whsec_of_my_own"
    assert endpoints(books) == []


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://book.example", True),
        ("https://book.example/sub", True),
        ("http://book.example", False),
        ("https://localhost:8443", False),
        ("https://book.internal", False),
        ("https://10.0.0.5", False),
        (None, False),
    ],
)
def test_only_a_public_address_with_https_is_told_to_stripe(
    settings: Settings, base_url: str | None, expected: bool
) -> None:
    assert can_be_notified(replace(settings, base_url=base_url)) is expected


async def test_the_endpoint_is_registered_once_however_often_its_answer_is_lost(
    runtime: Runtime, clock: MovingClock, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    made = await connect(runtime, user, books.key)
    fake_stripe.faults = [Fault(FaultKind.LOSE_ANSWER, "webhook_endpoints")] * 3
    await work_off(runtime, clock)
    assert (await connection_store.get_stored_connection(runtime.pool, made.id)).endpoint_id is None
    clock.pass_time(minutes=5)
    await work_off(runtime, clock)

    kept = await connection_store.get_stored_connection(runtime.pool, made.id)
    assert endpoints(books) == [notice_url(runtime.settings, made.id)]
    assert kept.endpoint_id == books.list("webhook_endpoint")[0]["id"]


async def test_a_disconnected_account_loses_its_endpoint_even_if_stripe_is_down_first(
    runtime: Runtime, clock: MovingClock, user: User, fake_stripe: FakeStripe, books: Books
) -> None:
    made = await connect(runtime, user, books.key)
    await work_off(runtime, clock)
    await disconnect(runtime, user)
    with pytest.raises(PaymentsNotConnected):
        await disconnect(runtime, user)
    assert (await connection_store.get_stored_connection(runtime.pool, made.id)).key is None

    fake_stripe.is_down = True
    await tick(runtime, clock)
    assert len(endpoints(books)) == 1
    fake_stripe.is_down = False
    await tick(runtime, clock)
    assert endpoints(books) == []
    assert await runtime.pool.fetchval("select count(*) from payment_endings") == 0


async def test_a_deleted_organization_leaves_no_endpoint_and_no_open_checkout(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User, books: Books
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await work.db.execute(
            """insert into memberships (id, organization_id, user_id, created_at, updated_at)
            values (gen_random_uuid(), $1, $2, now(), now())""",
            organization.id,
            user.id,
        )
    await connect(runtime, organization, books.key)
    await work_off(runtime, clock)
    payment = await find(runtime, await book(client, await offer(runtime, user, "paid", price=Money(4900, "EUR"))))
    books.pay(session_of(payment))
    async with runtime.transaction(OPERATOR) as work:
        await organization_deletions.delete_as_operator(work, organization)
    await tick(runtime, clock)

    assert endpoints(books) == []
    assert await runtime.pool.fetchval("select count(*) from payment_endings") == 0
    assert [each["amount"] for each in books.list("refund")] == [4900]


async def test_two_who_connect_at_once_do_not_lose_one(runtime: Runtime, user: User, books: Books) -> None:
    work = runtime.work(OPERATOR)
    first, second = [
        await connecting.check_payment_account(work, user, ConnectionWanted(key=books.key)) for _ in range(2)
    ]
    async with work.transaction():
        await connecting.connect_payment_account(work, user, first)
    with pytest.raises(PaymentConnectionChanged):
        async with work.transaction():
            await connecting.connect_payment_account(work, user, second)
