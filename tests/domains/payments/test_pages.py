"""The pages and commands that connect an account: faults at their fields, no secret shown, a question at the end."""

import asyncio
import json
from functools import partial

import httpx2
import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import Money
from openslot.domains.payments.errors import PaymentsNotConnected
from openslot.domains.payments.models import PaymentConnection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import book
from tests.doors.web.event_types.conftest import offer
from tests.support.command_line import Cli, Run
from tests.support.fake_stripe import Books, FakeStripe
from tests.support.page import read_page
from tests.support.payments import insert_connection

HERE = "/settings/payments"


async def test_a_host_connects_replaces_and_disconnects(
    member: httpx2.AsyncClient, runtime: Runtime, fake_stripe: FakeStripe, books: Books
) -> None:
    empty = read_page(await member.get(HERE))
    assert "Checkout Sessions: write" in empty.text
    assert "Webhook Endpoints: write" not in empty.text

    wrong = await member.post(HERE, data={"key": fake_stripe.add_key(books, "event_read")})
    assert wrong.status_code == 400
    assert "Lacks these permissions: Checkout Sessions: write, PaymentIntents: read" in read_page(wrong).faults["key"]
    bad = await member.post(HERE, data={"key": books.key, "secret": "mine"})
    assert read_page(bad).faults == {"secret": "Must begin with whsec_"}
    assert books.key not in bad.text

    made = await member.post(HERE, data={"key": f" {books.key}\n"[:-1]})
    assert (made.status_code, made.headers["location"]) == (303, f"{HERE}?done=connected")
    shown = await member.get(f"{HERE}?done=connected")
    connection_id = await runtime.pool.fetchval("select id from payment_connections")
    assert "Payments are connected." in read_page(shown).text
    for text in ("Test mode", f"…{books.key[-4:]}", f"/api/notices/stripe/{connection_id}", "read every minute"):
        assert text in read_page(shown).text
    assert books.key not in shown.text
    assert 'value="sk_' not in shown.text

    again = await member.post(HERE, data={"key": books.key})
    assert again.headers["location"] == f"{HERE}?done=replaced"
    assert "Nobody can pay any more." in read_page(await member.get(f"{HERE}/disconnect")).text
    ended = await member.post(f"{HERE}/disconnect")
    assert ended.headers["location"] == f"{HERE}?done=disconnected"
    assert await runtime.pool.fetchval("select count(*) from payment_connections where key is not null") == 0
    assert (await member.get(f"{HERE}/disconnect")).headers["location"] == HERE


async def test_the_question_says_what_stays_open(
    client: httpx2.AsyncClient,
    member: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    fake_stripe: FakeStripe,
    connection: PaymentConnection,
) -> None:
    await book(client, await offer(runtime, user, "paid", price=Money(4900, "EUR")))
    assert "1 invitee is paying right now." in read_page(await member.get(f"{HERE}/disconnect")).text
    fake_stripe.is_down = True
    refused = await member.post(f"{HERE}/disconnect")
    assert refused.status_code == 400
    assert "Somebody is paying through the connected account right now." in read_page(refused).text
    assert await runtime.pool.fetchval("select key is not null from payment_connections")


async def test_an_organizations_account_is_logged_and_named_to_its_members(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, books: Books
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user, role=Role.ADMIN)
    data = {"organization": str(organization.id), "key": books.key}
    made = await member.post("/organization/payments", data=data)
    assert made.headers["location"] == "/organization/payments?done=connected"
    logged = await runtime.pool.fetchrow("select action, organization_id, subject, after::text from change_log")
    assert logged is not None
    assert (logged["action"], logged["organization_id"]) == ("payments.connected", organization.id)
    assert json.loads(logged["after"]) == {"mode": "test"}

    assert "Accounts of your organizations" in read_page(await member.get(HERE)).text
    assert "Mara Lindqvist" in read_page(await member.get("/organization/payments")).text


async def test_nobody_sees_or_ends_the_account_of_somebody_else(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, books: Books
) -> None:
    theirs = await insert_connection(runtime, books.key, user_id=stranger.id)
    assert str(theirs.id) not in (await member.get(HERE)).text
    assert (await member.post(f"{HERE}/disconnect")).status_code == 404
    assert await runtime.pool.fetchval("select key is not null from payment_connections")


async def test_an_account_is_connected_and_disconnected_by_command(
    cli: Cli,
    command_line: Run,
    monkeypatch: pytest.MonkeyPatch,
    runtime: Runtime,
    user: User,
    fake_stripe: FakeStripe,
    books: Books,
) -> None:
    monkeypatch.setenv("OPENSLOT_STRIPE_URL", fake_stripe.url)
    connect = ("payment", "connect", "--user", user.email, "--key-stdin", "--notice-secret", "whsec_mine", "--json")
    made = await asyncio.to_thread(partial(cli, *connect, typed=f"{books.key}\n"))

    row = await runtime.pool.fetchrow("select id, notice_secret from payment_connections where user_id = $1", user.id)
    assert row is not None
    assert made == {
        "id": str(row["id"]),
        "mode": "test",
        "accountId": books.account_id,
        "accountName": "Mara Lindqvist",
        "noticeUrl": f"{runtime.settings.public_url}/api/notices/stripe/{row['id']}",
    }
    assert runtime.secrets.open(row["notice_secret"]) == "whsec_mine"
    no = await asyncio.to_thread(partial(command_line, "payment", "disconnect", "--user", user.email, typed="n\n"))
    assert no.exit_code == 1
    assert "refunded only in Stripe" in no.output
    assert await runtime.pool.fetchval("select count(*) from payment_connections where key is not null") == 1
    await asyncio.to_thread(cli, "payment", "disconnect", "--user", user.email, "--yes")
    assert await runtime.pool.fetchval("select count(*) from payment_connections where key is not null") == 0
    for wrong in (("connect", "--user", user.email), ("connect", "--key-stdin"), ("disconnect", "--yes")):
        with pytest.raises((Invalid, PaymentsNotConnected)):
            await asyncio.to_thread(command_line, "payment", *wrong)


async def test_a_price_is_set_by_command(cli: Cli, command_line: Run, runtime: Runtime, user: User) -> None:
    made = await offer(runtime, user, "paid")
    price = ("event-type", "price", "paid", "--user", user.email)

    async def read() -> tuple[Money | None, str]:
        found = await event_types.get_event_type(runtime.work(OPERATOR), user, made.id)
        return found.price, found.refund_policy

    await asyncio.to_thread(cli, *price, "--amount", "4900", "--currency", "eur", "--refund", "until:24")
    assert await read() == (Money(4900, "EUR"), "until:24")
    shown = await asyncio.to_thread(cli, *price, "--refund", "none", "--json")
    assert shown["price"] == {"amount": 4900, "currency": "EUR"}
    assert await read() == (Money(4900, "EUR"), "none")
    for wrong in (("--amount", "4900"), ("--refund", "half"), ("--amount", "-5", "--currency", "EUR")):
        with pytest.raises(Invalid):
            await asyncio.to_thread(command_line, *price, *wrong)
    for free in (("--free",), ("--amount", "0")):
        await asyncio.to_thread(cli, *price, "--amount", "100", "--currency", "JPY")
        await asyncio.to_thread(cli, *price, *free)
        assert (await read())[0] is None
