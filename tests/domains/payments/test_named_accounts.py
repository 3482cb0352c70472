"""Which account an event type is paid to: the one that it names, whatever its owner joins, leaves or connects."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import count
from uuid import UUID

import httpx2
import msgspec
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.events import PaymentAccountChanged
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.event_types.rules import edition_of, is_offered
from openslot.domains.payments.connections import operations as connecting
from openslot.domains.payments.connections import store as connection_store
from openslot.domains.payments.connections.operations import AccountOwner, CheckedAccount
from openslot.domains.payments.models import ConnectionWanted, KeyCheck, Mode, PaymentConnection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.domains.payments.support import book, find
from tests.doors.web.event_types.conftest import offer, read_fields, save
from tests.support.clocks import MovingClock
from tests.support.command_line import Run
from tests.support.effects import work_off
from tests.support.fake_stripe import FakeStripe

PRICE = Money(4900, "EUR")
keys = count(10**7)


async def connect(runtime: Runtime, owner: AccountOwner, key: str | None = None) -> PaymentConnection:
    """Connect another account in the place of the one that is there, without a look at it."""
    async with runtime.transaction(OPERATOR) as work:
        known = await connecting.find_payment_connection(work, owner)
        wanted = ConnectionWanted(key=key or f"rk_test_{next(keys)}")
        found = KeyCheck(mode=Mode.TEST, account_id=f"acct_{next(keys)}", account_name=owner.name, missing=())
        replacement = await connecting.preview_replacement(work, owner, known) if known else None
        account = CheckedAccount(wanted=wanted, found=found, known=known, is_same=False, replacement=replacement)
        return await connecting.connect_payment_account(work, owner, account)


async def disconnect(runtime: Runtime, owner: AccountOwner) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await connecting.disconnect_payment_account(work, owner, leaves_open=True)


async def join(runtime: Runtime, organization: Organization, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await members.add_organization_member(work, organization, user)


async def leave(runtime: Runtime, organization: Organization, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await members.end_membership(work, organization, user)


async def paid_to(runtime: Runtime, event_type: EventType) -> UUID | None:
    """Tell the account that a booking is paid to now, and check that all who ask are told the same."""
    found = await connection_store.find_connection_of_event_type(runtime.pool, event_type.id)
    async with runtime.transaction(OPERATOR) as work:
        current = await event_types.get_any_event_type(work, event_type.id)
    assert is_offered(current) == (found is not None)
    return found.id if found else None


async def told(runtime: Runtime) -> list[tuple[tuple[str, ...], str | None]]:
    """List what owners were told, and forget it."""
    rows = await runtime.pool.fetch(
        "update events set type = 'told' where type = $1 returning fact", PaymentAccountChanged.type
    )
    facts = [msgspec.json.decode(row["fact"], type=PaymentAccountChanged) for row in rows]
    return [(each.event_types, each.account) for each in facts]


@pytest.fixture
async def harbor(runtime: Runtime) -> Organization:
    async with runtime.transaction(OPERATOR) as work:
        return await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)


@pytest.fixture
async def bay(runtime: Runtime) -> Organization:
    async with runtime.transaction(OPERATOR) as work:
        return await add_organization(work, name="Bay", slug="bay", plan=Plan.BUSINESS)


async def test_joining_an_organization_that_connected_earlier_does_not_move_the_money(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    harbor: Organization,
    bay: Organization,
    fake_stripe: FakeStripe,
) -> None:
    await connect(runtime, bay, fake_stripe.add_account("Bay").key)
    theirs = await connect(runtime, harbor, fake_stripe.add_account("Harbor").key)
    await join(runtime, harbor, user)
    paid = await offer(runtime, user, "paid", price=PRICE)
    assert await paid_to(runtime, paid) == theirs.id

    await join(runtime, bay, user)
    assert await paid_to(runtime, paid) == theirs.id
    assert (await find(runtime, await book(client, paid))).connection_id == theirs.id
    assert await told(runtime) == []


async def test_leaving_says_that_the_account_is_gone_and_uses_no_other(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, harbor: Organization, bay: Organization
) -> None:
    theirs = await connect(runtime, harbor)
    await connect(runtime, bay)
    for each in (harbor, bay):
        await join(runtime, each, user)
    paid = await offer(runtime, user, "paid", price=PRICE)

    await leave(runtime, harbor, user)
    assert await paid_to(runtime, paid) is None
    assert (await book(client, paid)).status_code == 503
    assert await told(runtime) == [(("Paid",), None)]

    await join(runtime, harbor, user)
    assert await paid_to(runtime, paid) == theirs.id


async def test_an_organization_that_disconnects_tells_the_owners_who_choose_its_next_account(
    runtime: Runtime, user: User, stranger: User, harbor: Organization
) -> None:
    await connect(runtime, harbor)
    for each in (user, stranger):
        await join(runtime, harbor, each)
    paid = [await offer(runtime, user, slug, price=PRICE) for slug in ("paid", "long")]
    other = await offer(runtime, stranger, "other", price=PRICE)
    free = await offer(runtime, user, "free")
    await leave(runtime, harbor, stranger)
    await told(runtime)

    await disconnect(runtime, harbor)
    assert [await paid_to(runtime, each) for each in (*paid, other)] == [None] * 3
    assert sorted(await told(runtime)) == [(("Other",), None), (("Paid", "Long"), None)]
    again = await connect(runtime, harbor)
    assert [await paid_to(runtime, each) for each in (*paid, other)] == [None] * 3
    assert await told(runtime) == []
    async with runtime.transaction(OPERATOR) as work:
        current = await event_types.get_event_type(work, user, paid[0].id)
        await event_types.change_event_type(work, replace(current, payment_connection_id=again.id))
    assert [await paid_to(runtime, each) for each in (*paid, other)] == [again.id, None, None]
    async with runtime.transaction(OPERATOR) as work:
        assert (await event_types.get_any_event_type(work, free.id)).payment_connection_id is None


async def test_an_account_that_takes_the_place_of_another_at_once_is_named_in_its_place(
    runtime: Runtime, user: User, stranger: User, harbor: Organization
) -> None:
    await connect(runtime, harbor)
    for each in (user, stranger):
        await join(runtime, harbor, each)
    paid = [await offer(runtime, user, slug, price=PRICE) for slug in ("paid", "long")]
    other = await offer(runtime, stranger, "other", price=PRICE)
    await leave(runtime, harbor, stranger)
    await told(runtime)

    again = await connect(runtime, harbor)
    assert [await paid_to(runtime, each) for each in (*paid, other)] == [again.id, again.id, None]
    ((names, account),) = await told(runtime)
    assert (sorted(names), account) == (["Long", "Paid"], "Harbor")


async def test_ones_own_next_account_takes_the_place_of_the_one_before_and_of_none(
    runtime: Runtime, user: User, harbor: Organization
) -> None:
    early = await offer(runtime, user, "early", price=PRICE)
    assert await paid_to(runtime, early) is None
    await connect(runtime, harbor)
    await join(runtime, harbor, user)
    assert await paid_to(runtime, early) is None, "joining does not name an account"
    at_harbor = await offer(runtime, user, "harbor", price=PRICE)

    first = await connect(runtime, user)
    assert await paid_to(runtime, early) == first.id
    assert await paid_to(runtime, at_harbor) not in (None, first.id)
    second = await connect(runtime, user)
    assert await paid_to(runtime, early) == second.id
    assert await told(runtime) == []


async def test_another_account_is_chosen_by_the_owner_who_is_told(
    runtime: Runtime, user: User, stranger: User, harbor: Organization
) -> None:
    own, theirs, foreign = [await connect(runtime, each) for each in (user, harbor, stranger)]
    await join(runtime, harbor, user)
    paid = await offer(runtime, user, "paid", price=PRICE)
    assert await paid_to(runtime, paid) == own.id

    async def choose(account: UUID) -> None:
        async with runtime.transaction(OPERATOR) as work:
            current = await event_types.get_event_type(work, user, paid.id)
            edition = edition_of(current)
            chosen = replace(current, payment_connection_id=account)
            await event_types.edit_event_type(work, user, chosen, edition=edition)

    with pytest.raises(Invalid):
        await choose(foreign.id)
    assert await told(runtime) == []
    await choose(theirs.id)
    assert await paid_to(runtime, paid) == theirs.id
    assert await told(runtime) == [(("Paid",), "Harbor")]


class Model:
    """What the rules say, in a few lines: which account is named, and who may use which."""

    def __init__(self) -> None:
        self.named: UUID | None = None
        self.owner_of: dict[UUID, str] = {}
        self.live: dict[str, UUID] = {}
        self.usable = {"own"}

    def connect(self, owner: str, account: UUID, *, names: bool) -> None:
        named_by = self.owner_of.get(self.named) if self.named else None
        replaced = self.live.get(owner)
        self.owner_of[account], self.live[owner] = owner, account
        follows = named_by in ("own", None) if owner == "own" else replaced is not None and self.named == replaced
        if names and owner in self.usable and follows:
            self.named = account

    def paid_to(self) -> UUID | None:
        owner = self.owner_of.get(self.named) if self.named else None
        return self.named if owner in self.usable and self.live.get(owner or "") == self.named else None


@pytest.mark.parametrize("seed", range(12))
async def test_in_every_order_of_joining_leaving_connecting_and_disconnecting_the_named_account_is_paid_or_none(
    runtime: Runtime, user: User, harbor: Organization, bay: Organization, seed: int
) -> None:
    drawn, model = random.Random(seed), Model()
    owners: dict[str, AccountOwner] = {"own": user, "harbor": harbor, "bay": bay}
    paid: EventType | None = None

    async def join_or_leave(name: str) -> None:
        organization = owners[name]
        assert isinstance(organization, Organization)
        act: Callable[[Runtime, Organization, User], Awaitable[None]] = leave if name in model.usable else join
        await act(runtime, organization, user)
        model.usable ^= {name}

    async def connect_or_disconnect(name: str) -> None:
        if name in model.live and drawn.random() < 0.5:
            await disconnect(runtime, owners[name])
            del model.live[name]
        else:
            made = await connect(runtime, owners[name])
            model.connect(name, made.id, names=paid is not None)

    for step in range(30):
        if step == 6:
            paid = await offer(runtime, user, "paid", price=PRICE)
            model.named = paid.payment_connection_id
            usable = {each for name, each in model.live.items() if name in model.usable}
            assert model.named in usable if usable else model.named is None
        elif drawn.random() < 0.5:
            await join_or_leave(drawn.choice(["harbor", "bay"]))
        else:
            await connect_or_disconnect(drawn.choice(["own", "harbor", "bay"]))
        if paid is not None:
            assert await paid_to(runtime, paid) == model.paid_to(), f"after step {step}"


async def test_the_owner_gets_a_mail_that_names_the_event_types(
    runtime: Runtime, clock: MovingClock, user: User, harbor: Organization
) -> None:
    await connect(runtime, harbor)
    await join(runtime, harbor, user)
    await offer(runtime, user, "paid", price=PRICE)
    await connect(runtime, harbor)
    await leave(runtime, harbor, user)
    await work_off(runtime, clock)

    changed, gone = await messages(runtime, user.email)
    assert changed["subject"] == "Invitees pay to another account now"
    assert gone["subject"] == "Invitees can't pay for some of your event types any more"
    for each in (changed, gone):
        text = each.get_body(("plain",)).get_content()  # type: ignore[union-attr]
        assert "Paid" in text
        assert "/event-types" in text


async def test_the_editor_shows_the_account_at_the_price_and_takes_another(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, harbor: Organization, bay: Organization
) -> None:
    own, theirs = await connect(runtime, user), await connect(runtime, harbor)
    foreign = await connect(runtime, bay)
    await join(runtime, harbor, user)
    paid = await offer(runtime, user, "paid", price=PRICE)
    path = f"/event-types/{paid.id}"
    assert read_fields((await member.get(path)).text)["account"] == str(own.id)
    assert str(foreign.id) not in (await member.get(path)).text

    assert (await save(member, paid, account=str(theirs.id))).status_code == 303
    assert await paid_to(runtime, paid) == theirs.id
    assert "connected and that you may use" in (await save(member, paid, account=str(foreign.id))).text
    assert await paid_to(runtime, paid) == theirs.id

    await leave(runtime, harbor, user)
    shown = await member.get(path)
    assert "The account is gone" in shown.text
    assert "the account that they paid to is gone" in shown.text
    assert read_fields(shown.text)["account"] == str(theirs.id)
    assert (await save(member, paid, name="Renamed")).status_code == 303
    assert await paid_to(runtime, paid) is None
    assert (await save(member, paid, account=str(own.id))).status_code == 303
    assert await paid_to(runtime, paid) == own.id


async def test_the_command_names_the_account(
    command_line: Run, runtime: Runtime, user: User, harbor: Organization
) -> None:
    own, theirs = await connect(runtime, user), await connect(runtime, harbor)
    await join(runtime, harbor, user)
    paid = await offer(runtime, user, "paid", price=PRICE)
    price = ("event-type", "price", "paid", "--user", user.email, "--account")
    for account, named in (("harbor", theirs.id), ("own", own.id)):
        assert (await asyncio.to_thread(command_line, *price, account)).exit_code == 0
        assert await paid_to(runtime, paid) == named
    with pytest.raises(Invalid, match="Accounts: own, harbor"):
        await asyncio.to_thread(command_line, *price, "bay")
