"""Payments at the terminal: listed, shown, refunded, and compared with Stripe."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import httpx2
import pytest

from openslot.domains.event_types.models import EventType
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import PRICE, book, book_and_pay, intent_of, money, reload, tick
from tests.support.clocks import MovingClock
from tests.support.command_line import Cli, Run
from tests.support.fake_stripe import Books

pytestmark = pytest.mark.rest("runs commands, each with a connection of its own; their verbs are in make test")

NOON = "2026-03-20T12:00:00Z"


@pytest.fixture
def command_line(command_line: Run, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command that asks the fake Stripe."""
    monkeypatch.setenv("OPENSLOT_STRIPE_URL", settings.stripe_url)
    return command_line


async def test_payments_are_listed_and_shown_with_their_refunds(
    cli: Cli, client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    await book(client, paid, NOON)

    listed = await asyncio.to_thread(cli, "payment", "list", "--user", "mara@lindqvist.example", "--json")
    pending = await asyncio.to_thread(cli, "payment", "list", "--status", "pending", "--json")
    shown = await asyncio.to_thread(cli, "payment", "show", str(payment.id), "--json")
    text = await asyncio.to_thread(cli, "payment", "show", str(payment.id))

    assert [each["id"] for each in listed["payments"]] == [str(payment.id)]
    assert (pending["total"], pending["payments"][0]["status"]) == (1, "pending")
    assert (shown["status"], shown["amount"], shown["currency"], shown["refunds"]) == ("paid", PRICE, "EUR", [])
    assert "paid: 4900 EUR (test mode)" in text


async def test_a_refund_is_asked_for_and_made(
    cli: Cli, client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)

    made = await asyncio.to_thread(cli, "payment", "refund", str(payment.id), "--amount", "900", "--yes", "--json")
    # Commands go by the clock of the machine.
    clock.pass_time(days=(datetime.now(UTC) - clock()).days + 1)
    await tick(runtime, clock)

    assert (made["amount"], made["state"], UUID(made["paymentId"])) == (900, "wanted", payment.id)
    assert money(books) == PRICE - 900
    assert (await reload(runtime, payment)).refunded_amount == 900


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("payment", "list", "--status", "stolen"), "--status must be one of"),
        (("payment", "show", "nothing"), "Not found"),
        (("payment", "refund", "{id}", "--amount", "4901", "--yes"), "must be between 1 and 4900"),
        (("payment", "refund", "{id}", "--amount", "-1", "--yes"), "must be between 1 and 4900"),
    ],
)
async def test_what_can_not_be_done_is_said(
    command_line: Run,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    *,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    given = [each.format(id=payment.id) for each in arguments]

    with pytest.raises(Refusal) as refused:
        await asyncio.to_thread(command_line, *given)

    assert said in f"{refused.value} {refused.value.details}"
    assert money(books) == PRICE


async def test_reconciling_names_what_differs_and_fails_then(
    cli: Cli, command_line: Run, client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    days = ("--days", "3650")
    assert "No differences. Payments compared: 1." in await asyncio.to_thread(cli, "payment", "reconcile", *days)
    books.refund(intent_of(payment), 900)

    result = await asyncio.to_thread(command_line, "payment", "reconcile", *days)

    assert result.exit_code == 1
    assert "refundedAmount" in result.stdout
    assert str(payment.id) in result.stdout
