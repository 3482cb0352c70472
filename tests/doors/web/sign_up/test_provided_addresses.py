"""Whoever signs up with an address for which a provider has opened an account gets it, if nobody has used it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Organization, User
from openslot.domains.people import departures, store
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import part
from tests.doors.web.conftest import sign_in
from tests.doors.web.sign_up.conftest import NEW, ReadMail, path_in
from tests.doors.web.sign_up.support import EMAIL, LINK, send
from tests.support.host import ELEVEN, Book, book
from tests.support.provisioning import SUSPEND, Provider, found_organization, harbor, organization, token
from tests.support.teams import book_team, open_team

__all__ = ["book", "harbor", "organization", "token"]

INVITED = "/invite/"
Squatting = Callable[[Provider], Awaitable[str]]


@pytest.fixture
def provider(client: httpx2.AsyncClient, token: str) -> Provider:
    return Provider(client, token)


async def open_account(provider: Provider) -> str:
    return str((await provider.create(EMAIL, displayName="Somebody"))["id"])


async def close_at_once(provider: Provider) -> str:
    return str((await provider.create(EMAIL, active=False))["id"])


async def close_later(provider: Provider) -> str:
    made = await open_account(provider)
    assert (await provider.patch(made, SUSPEND)).status_code == 200
    return made


async def close_and_forget(provider: Provider) -> str:
    made = await close_at_once(provider)
    assert (await provider.send("DELETE", f"/Users/{made}")).status_code == 204
    return made


async def find_link(read_mail: ReadMail) -> str:
    (letter,) = (each for each in await read_mail(EMAIL) if LINK in part(each, "text/plain"))
    return path_in(letter, LINK)


async def get_user(runtime: Runtime, email: str = EMAIL) -> User:
    return await accounts.get_user_by_email(runtime.work(OPERATOR), email)


async def list_states(runtime: Runtime) -> list[tuple[bool, bool]]:
    """List which memberships are active, and which are yet to be accepted."""
    statement = "select m.active, p.pending from memberships m join member_profiles p on p.member_id = m.id"
    return [(row["active"], row["pending"]) for row in await runtime.pool.fetch(statement)]


@pytest.mark.parametrize("squat", [close_at_once, close_later, close_and_forget])
async def test_who_reads_the_mail_gets_the_account_and_the_provider_manages_it_no_longer(
    client: httpx2.AsyncClient, runtime: Runtime, provider: Provider, read_mail: ReadMail, squat: Squatting
) -> None:
    member_id = await squat(provider)
    before = await get_user(runtime)
    await send(client)
    opened = await client.post(await find_link(read_mail))
    after = await get_user(runtime)
    client.cookies.clear()

    assert opened.status_code == 303
    assert (after.id, after.name, after.disabled_at) == (before.id, "Noor Haddad", None)
    assert (await sign_in(client, EMAIL, NEW)).status_code == 303
    client.cookies.clear()
    assert (await provider.send("GET", f"/Users/{member_id}")).status_code == 404

    # The provider goes on working: added again, they belong only once they accept, and nothing else reaches them.
    again = await provider.create(EMAIL)
    await provider.patch(again["id"], SUSPEND)
    await provider.send("DELETE", f"/Users/{again['id']}")
    assert (await sign_in(client, EMAIL, NEW)).status_code == 303
    assert (await get_user(runtime)).disabled_at is None


async def test_no_departure_waits_for_a_decision_afterwards(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    provider: Provider,
    organization: Organization,
    read_mail: ReadMail,
) -> None:
    member_id = await close_later(provider)
    async with runtime.transaction(OPERATOR) as work:
        member = await members.get_member(work, organization.id, UUID(member_id))
        await store.insert_held(work.db, member, removed=True, now=work.now)
    await send(client)
    await client.post(await find_link(read_mail))

    assert await departures.list_held(runtime.work(OPERATOR), organization) == []
    assert await runtime.pool.fetchval("select count(*) from memberships") == 0


async def test_who_reads_the_mail_gets_an_open_account_and_is_asked_to_join(
    client: httpx2.AsyncClient, runtime: Runtime, provider: Provider, read_mail: ReadMail
) -> None:
    member_id = await open_account(provider)
    before = await get_user(runtime)
    first = path_in((await read_mail(EMAIL))[-1], INVITED)
    await send(client)
    opened = await client.post(await find_link(read_mail))
    after = await get_user(runtime)
    client.cookies.clear()

    assert opened.status_code == 303
    assert (after.id, after.name, after.disabled_at) == (before.id, "Noor Haddad", None)
    assert await list_states(runtime) == [(False, True)]
    # The provider goes on working, and nothing reaches the account.
    assert (await provider.read(member_id))["userName"] == EMAIL
    rename = {"op": "replace", "path": "name.formatted", "value": "Somebody"}
    for change in (SUSPEND, {**SUSPEND, "value": True}, rename):
        assert (await provider.patch(member_id, change)).status_code == 200
    assert await list_states(runtime) == [(False, True)]
    assert (await get_user(runtime)).name == "Noor Haddad"
    assert (await sign_in(client, EMAIL, NEW)).status_code == 303
    client.cookies.clear()

    # The link from before asks nobody any more; a new one does, and is accepted.
    assert (await client.post(first)).status_code == 403
    link = path_in((await read_mail(EMAIL))[-1], INVITED)
    assert (await client.post(link)).status_code == 303
    assert await list_states(runtime) == [(True, False)]
    await provider.patch(member_id, SUSPEND)
    assert (await get_user(runtime)).disabled_at is not None


async def test_an_account_in_two_organizations_is_let_go_by_both(
    client: httpx2.AsyncClient, runtime: Runtime, provider: Provider, read_mail: ReadMail
) -> None:
    _, other = await found_organization(runtime, "choir", "choir.example")
    await open_account(provider)
    await runtime.pool.execute("update member_profiles set pending = false")
    await Provider(client, other).create(EMAIL, active=False)
    await runtime.pool.execute("update member_profiles set pending = false")
    await send(client)
    assert (await client.post(await find_link(read_mail))).status_code == 303

    assert await list_states(runtime) == [(False, True)]


async def test_others_take_what_an_account_hosted_for_a_team_and_its_own_bookings_stay(
    client: httpx2.AsyncClient, runtime: Runtime, read_mail: ReadMail, book: Book
) -> None:
    team = await open_team(runtime, 2)
    booked = await book_team(runtime, team.event_type, ELEVEN)
    hosted = "select user_id from booking_hosts where booking_id = $1"
    host_id = await runtime.pool.fetchval(hosted, booked.id)
    await runtime.pool.execute("update users set password_hash = null, email = $2 where id = $1", host_id, EMAIL)
    await runtime.pool.execute(
        """update member_profiles p set profile = '{}' from memberships m
        where m.id = p.member_id and m.user_id = $1""",
        host_id,
    )
    own = await book(ELEVEN + timedelta(days=1), host=await get_user(runtime))
    await send(client)
    assert (await client.post(await find_link(read_mail))).status_code == 303

    assert await runtime.pool.fetchval(hosted, booked.id) != host_id
    rows = await runtime.pool.fetch("select id, status from bookings order by starts_at")
    assert [tuple(row.values()) for row in rows] == [(booked.id, "CONFIRMED"), (own.id, "CONFIRMED")]
    members_of = "select count(*) from team_members where user_id = $1"
    assert await runtime.pool.fetchval(members_of, host_id) == 1, "who accepts is back in the team"


async def be_invited(runtime: Runtime, provider: Provider, organization: Organization) -> str:
    """Who has to accept can choose a password by the link for a forgotten one."""
    await open_account(provider)
    await runtime.pool.execute("update member_profiles set pending = true")
    return EMAIL


async def set_password(runtime: Runtime, provider: Provider, organization: Organization) -> str:
    await close_at_once(provider)
    await runtime.pool.execute("update users set password_hash = 'known' where email = $1", EMAIL)
    return EMAIL


async def use_own_domain(runtime: Runtime, provider: Provider, organization: Organization) -> str:
    await provider.create("li@harbor.example", active=False)
    return "li@harbor.example"


async def disable(runtime: Runtime, provider: Provider, organization: Organization) -> str:
    await open_account(provider)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, await accounts.get_user_by_email(work, EMAIL))
    return EMAIL


async def be_added_by_the_operator(runtime: Runtime, provider: Provider, organization: Organization) -> str:
    await close_at_once(provider)
    await runtime.pool.execute("update member_profiles set profile = null")
    return EMAIL


async def sign_in_through_a_provider(runtime: Runtime, provider: Provider, organization: Organization) -> str:
    await close_at_once(provider)
    await runtime.pool.execute(
        """insert into identities (issuer, subject, user_id, created_at)
        select 'https://id.example', '1', id, now() from users where email = $1""",
        EMAIL,
    )
    return EMAIL


@pytest.mark.parametrize(
    "prepare", [be_invited, set_password, use_own_domain, disable, be_added_by_the_operator, sign_in_through_a_provider]
)
async def test_an_account_that_is_somebodys_stays_as_it_is(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    provider: Provider,
    organization: Organization,
    read_mail: ReadMail,
    prepare: Callable[[Runtime, Provider, Organization], Awaitable[str]],
) -> None:
    email = await prepare(runtime, provider, organization)
    before = await get_user(runtime, email)
    await send(client, email=email)
    letters = [part(each, "text/plain") for each in await read_mail(email)]

    assert "You already have an account" in letters[-1]
    assert not [letter for letter in letters if LINK in letter]
    assert await get_user(runtime, email) == before
    assert await runtime.pool.fetchval("select count(*) from memberships") == 1


async def test_an_account_that_was_used_after_the_mail_is_not_given_away(
    client: httpx2.AsyncClient, runtime: Runtime, provider: Provider, read_mail: ReadMail
) -> None:
    await close_at_once(provider)
    await send(client)
    link = await find_link(read_mail)
    await runtime.pool.execute("update users set password_hash = 'known' where email = $1", EMAIL)
    refused = await client.post(link)

    assert refused.status_code == 403
    assert await runtime.pool.fetchval("select password_hash from users where email = $1", EMAIL) == "known"
    assert await runtime.pool.fetchval("select count(*) from memberships") == 1
