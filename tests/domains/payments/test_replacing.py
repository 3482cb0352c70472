"""An account in the place of another one: asked first, with what follows, and refused if that is not true any more."""

import asyncio
import base64
from functools import partial

import httpx2
import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types.models import Money
from openslot.domains.payments.connections import operations as connecting
from openslot.domains.payments.connections.operations import AccountOwner
from openslot.domains.payments.errors import FollowingChanged
from openslot.domains.payments.models import ConnectionWanted, PaymentConnection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.domains.payments.support import book, book_and_pay
from tests.doors.web.event_types.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.command_line import Cli, Run
from tests.support.effects import work_off
from tests.support.fake_stripe import Books, FakeStripe
from tests.support.page import Page, read_page

OWN = "/settings/payments"
OURS = "/organization/payments"
PRICE = Money(4900, "EUR")
EVENT_TYPES = "Event types that will name the new account"
MEMBERS = "Members whose event types these are"
ASKED = "Replace the payment account?"


@pytest.fixture
def other(fake_stripe: FakeStripe) -> Books:
    """Another account of Stripe, with real money."""
    return fake_stripe.add_account("Harbor Studio", livemode=True)


@pytest.fixture
async def harbor(runtime: Runtime, user: User, stranger: User) -> Organization:
    """An organization of the host, who administers it, and of another member."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user, role=Role.ADMIN)
        await add_organization_member(work, organization, stranger)
    return organization


async def connect(runtime: Runtime, owner: AccountOwner, key: str) -> PaymentConnection:
    """Connect an account to which all have agreed."""
    work = runtime.work(OPERATOR)
    account = await connecting.check_payment_account(work, owner, ConnectionWanted(key=key))
    async with work.transaction():
        return await connecting.connect_payment_account(work, owner, account)


async def send(member: httpx2.AsyncClient, path: str, **fields: str) -> httpx2.Response:
    page = read_page(await member.get(path))
    organization = {"organization": page.fields["organization"].value} if "organization" in page.fields else {}
    return await member.post(path, data={**organization, **fields})


async def answer(member: httpx2.AsyncClient, path: str, question: httpx2.Response) -> httpx2.Response:
    """Say yes by sending what the question has in its form, and nothing else."""
    fields = read_page(question).fields
    return await member.post(
        path, data={name: fields[name].value for name in ("asked", "organization") if name in fields}
    )


def is_question(response: httpx2.Response) -> bool:
    return response.status_code == 200 and ASKED in read_page(response).headings


def count_after(page: Page, label: str) -> str:
    return page.text.partition(f"{label} ")[2].partition(" ")[0]


async def count_named(runtime: Runtime, connection: PaymentConnection) -> int:
    named = "select count(*) from event_types where payment_connection_id = $1"
    return int(await runtime.pool.fetchval(named, connection.id))


async def live_key_ending(runtime: Runtime) -> str | None:
    ending: str | None = await runtime.pool.fetchval(
        "select key_ending from payment_connections where disconnected_at is null"
    )
    return ending


async def test_a_host_is_asked_with_both_accounts_and_what_follows(
    client: httpx2.AsyncClient, member: httpx2.AsyncClient, runtime: Runtime, user: User, books: Books, other: Books
) -> None:
    first = await connect(runtime, user, books.key)
    paid = await offer(runtime, user, "paid", price=PRICE)
    await offer(runtime, user, "free")
    await book_and_pay(client, runtime, paid, books)

    question = await send(member, OWN, key=other.key)
    assert is_question(question)
    page = read_page(question)
    for text in (
        "Mara Lindqvist Test mode",
        "Harbor Studio Live",
        "Invitees pay with real money.",
        "1 upcoming booking",
    ):
        assert text in page.text
    assert count_after(page, EVENT_TYPES) == "1"
    assert MEMBERS not in page.text
    assert "Leave it as it is" in page.links
    assert other.key not in question.text
    assert (await live_key_ending(runtime), await count_named(runtime, first)) == (books.key[-4:], 1)

    done = await answer(member, OWN, question)
    assert done.headers["location"] == f"{OWN}?done=connected"
    assert (await live_key_ending(runtime), await count_named(runtime, first)) == (other.key[-4:], 0)


async def test_an_administrator_is_told_how_many_event_types_and_members_follow_and_these_get_a_mail(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    stranger: User,
    harbor: Organization,
    books: Books,
    other: Books,
) -> None:
    await connect(runtime, harbor, books.key)
    for owner, slug in ((user, "paid"), (stranger, "one"), (stranger, "two")):
        await offer(runtime, owner, slug, price=PRICE)

    question = await send(member, OURS, key=other.key, secret="whsec_mine")
    page = read_page(question)
    assert (count_after(page, EVENT_TYPES), count_after(page, MEMBERS)) == ("3", "2")
    assert "These members are told by email." in page.text
    assert "Harbor Replace the payment account?" in page.text
    assert "whsec_mine" not in question.text
    assert await messages(runtime, stranger.email) == []

    done = await answer(member, OURS, question)
    assert done.headers["location"] == f"{OURS}?done=connected"
    made = await connecting.get_payment_connection(runtime.work(OPERATOR), harbor)
    assert await count_named(runtime, made) == 3
    assert made.notice_secret is not None
    assert runtime.secrets.open(made.notice_secret) == "whsec_mine"
    await work_off(runtime, clock)
    assert [str(each["subject"]) for each in await messages(runtime, stranger.email)] == [
        "Invitees pay to another account now"
    ]


async def test_it_is_asked_also_if_no_event_type_follows(
    member: httpx2.AsyncClient, runtime: Runtime, harbor: Organization, books: Books, other: Books
) -> None:
    await connect(runtime, harbor, books.key)
    page = read_page(await send(member, OURS, key=other.key))
    assert (count_after(page, EVENT_TYPES), count_after(page, MEMBERS)) == ("0", "0")
    assert "none of them changes" in page.text
    assert "told by email" not in page.text


async def test_nothing_is_asked_for_a_first_account_or_another_key_of_the_same_one(
    member: httpx2.AsyncClient, fake_stripe: FakeStripe, books: Books
) -> None:
    assert (await send(member, OWN, key=books.key)).headers["location"] == f"{OWN}?done=connected"
    assert (await send(member, OWN, key=books.key)).headers["location"] == f"{OWN}?done=replaced"


async def test_it_is_asked_again_if_other_event_types_follow_meanwhile(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, books: Books, other: Books
) -> None:
    await connect(runtime, user, books.key)
    question = await send(member, OWN, key=other.key)
    await offer(runtime, user, "paid", price=PRICE)

    again = await answer(member, OWN, question)
    assert is_question(again)
    assert "Something has changed meanwhile" in read_page(again).text
    assert count_after(read_page(again), EVENT_TYPES) == "1"
    assert await live_key_ending(runtime) == books.key[-4:]
    assert (await answer(member, OWN, again)).headers["location"] == f"{OWN}?done=connected"


async def test_it_is_asked_again_if_a_third_account_is_connected_meanwhile(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, fake_stripe: FakeStripe, books: Books, other: Books
) -> None:
    await connect(runtime, user, books.key)
    question = await send(member, OWN, key=other.key)
    third = fake_stripe.add_account("Third")
    await connect(runtime, user, third.key)

    again = await answer(member, OWN, question)
    assert is_question(again)
    assert "Third Test mode" in read_page(again).text
    assert await live_key_ending(runtime) == third.key[-4:]


async def test_an_answer_is_refused_if_nothing_is_connected_any_more_or_it_was_given_before(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, books: Books, other: Books
) -> None:
    await connect(runtime, user, books.key)
    question = await send(member, OWN, key=other.key)
    assert (await answer(member, OWN, question)).status_code == 303
    twice = await answer(member, OWN, question)
    assert (twice.status_code, "Another account was connected" in read_page(twice).faults["key"]) == (400, True)

    await member.post(f"{OWN}/disconnect")
    refused = await answer(member, OWN, question)
    assert (refused.status_code, "Another account was connected" in read_page(refused).faults["key"]) == (400, True)
    assert await live_key_ending(runtime) is None


async def test_an_event_type_that_follows_between_the_look_and_the_change_undoes_it(
    runtime: Runtime, clock: MovingClock, user: User, stranger: User, harbor: Organization, books: Books, other: Books
) -> None:
    first = await connect(runtime, harbor, books.key)
    work = runtime.work(OPERATOR)
    account = await connecting.check_payment_account(work, harbor, ConnectionWanted(key=other.key))
    await offer(runtime, stranger, "late", price=PRICE)

    with pytest.raises(FollowingChanged):
        async with work.transaction():
            await connecting.connect_payment_account(work, harbor, account)
    assert (await live_key_ending(runtime), await count_named(runtime, first)) == (books.key[-4:], 1)
    await work_off(runtime, clock)
    assert await messages(runtime, stranger.email) == []


async def test_nothing_is_asked_while_somebody_pays(
    client: httpx2.AsyncClient, member: httpx2.AsyncClient, runtime: Runtime, user: User, books: Books, other: Books
) -> None:
    await connect(runtime, user, books.key)
    await book(client, await offer(runtime, user, "paid", price=PRICE))
    refused = await send(member, OWN, key=other.key)
    assert refused.status_code == 400
    assert "Somebody is paying through the connected account right now" in read_page(refused).faults["key"]


@pytest.mark.parametrize("asked", ["", "x", "é", "A" * 80, base64.urlsafe_b64encode(b"0" * 60).decode()])
async def test_an_answer_to_no_question_connects_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, books: Books, asked: str
) -> None:
    await connect(runtime, user, books.key)
    refused = await send(member, OWN, asked=asked)
    assert refused.status_code == 400
    assert read_page(refused).faults["key"].startswith("Must be pasted again" if asked else "Paste the key")


async def test_a_question_can_be_answered_for_a_quarter_of_an_hour_and_by_its_owner_alone(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    harbor: Organization,
    fake_stripe: FakeStripe,
    books: Books,
    other: Books,
) -> None:
    await connect(runtime, user, books.key)
    await connect(runtime, harbor, fake_stripe.add_account("Ours").key)
    question = await send(member, OWN, key=other.key)
    sealed = read_page(question).fields["asked"].value
    elsewhere = await send(member, OURS, asked=sealed)
    assert read_page(elsewhere).faults["key"].startswith("Must be pasted again")

    clock.pass_time(minutes=15)
    late = await answer(member, OWN, question)
    assert (late.status_code, read_page(late).faults["key"].startswith("Must be pasted again")) == (400, True)
    assert sealed not in late.text


async def test_the_command_says_the_same_and_asks(
    cli: Cli,
    command_line: Run,
    monkeypatch: pytest.MonkeyPatch,
    runtime: Runtime,
    user: User,
    stranger: User,
    harbor: Organization,
    fake_stripe: FakeStripe,
    books: Books,
    other: Books,
) -> None:
    monkeypatch.setenv("OPENSLOT_STRIPE_URL", fake_stripe.url)
    await connect(runtime, harbor, books.key)
    for owner, slug in ((user, "paid"), (stranger, "one"), (stranger, "two")):
        await offer(runtime, owner, slug, price=PRICE)
    command = ("payment", "connect", "--organization", "harbor", "--key-stdin")

    for typed in ("n\n", ""):
        no = await asyncio.to_thread(partial(command_line, *command, typed=f"{other.key}\n{typed}"))
        assert no.exit_code == 1
        assert "Harbor Studio (live mode) takes the place of Mara Lindqvist (test mode)" in no.output
        assert "Event types that will name the new account: 3, of 2 members, who are told by email" in no.output
        assert other.key not in no.output
        assert await live_key_ending(runtime) == books.key[-4:]
    await asyncio.to_thread(partial(cli, *command, typed=f"{other.key}\ny\n"))
    assert await live_key_ending(runtime) == other.key[-4:]
    back = await asyncio.to_thread(partial(cli, *command, "--yes", "--json", typed=f"{books.key}\n"))
    assert back["mode"] == "test"
