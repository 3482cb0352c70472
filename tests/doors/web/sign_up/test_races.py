"""What happens at the same moment: one link, one address, one username, and two who want it."""

import asyncio

import httpx2
import pytest

from openslot.domains.access.errors import InvalidResetLink
from openslot.domains.access.resets import operations as resets
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.errors import EmailAlreadyExists
from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.people import operations
from openslot.domains.people import operations as people
from openslot.doors.scim import operations as scim
from openslot.doors.scim.errors import NotUnique
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.doors.web.conftest import sign_in
from tests.doors.web.sign_up.conftest import NEW, ReadMail, path_in, visiting
from tests.doors.web.sign_up.support import EMAIL, LINK, count, send
from tests.support.clocks import MovingClock
from tests.support.locks import wait_for_locks
from tests.support.page import read_page

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
OTHER = "another good password"


@pytest.fixture
async def link(client: httpx2.AsyncClient, read_mail: ReadMail) -> str:
    """Sign up and find the link in the mail."""
    await send(client)
    return path_in((await read_mail(EMAIL))[-1], LINK)


async def test_of_many_uses_of_one_link_at_once_one_opens_the_account(
    client: httpx2.AsyncClient, runtime: Runtime, link: str
) -> None:
    answers = await asyncio.gather(*(client.post(link) for _ in range(5)))

    assert sorted(answer.status_code for answer in answers) == [303, 403, 403, 403, 403]
    assert all("already used" in read_page(answer).text for answer in answers if answer.status_code == 403)
    assert [await count(runtime, table) for table in ("users", "sessions", "event_types")] == [1, 1, 1]


async def test_of_two_sign_ups_with_one_address_one_is_opened(
    settings: Settings, clock: MovingClock, runtime: Runtime, read_mail: ReadMail
) -> None:
    async with visiting(settings, clock) as one, visiting(settings, clock) as two:
        await asyncio.gather(send(one), send(two, email=EMAIL.upper(), password=OTHER))
        links = [path_in(message, LINK) for message in await read_mail(EMAIL)]
        by_browser = [(client, link) for client in (one, two) for link in links]
        answers = await asyncio.gather(*(client.post(link) for client, link in by_browser))
        codes = [answer.status_code for answer in answers]
        rights = [(await sign_in(each, EMAIL, word)).status_code for each, word in ((one, NEW), (two, OTHER))]

    assert len(links) == 2
    assert codes.count(303) == 1
    assert await count(runtime, "users") == 1
    assert await count(runtime, "sign_ups") == 0
    assert rights.count(303) >= 1


async def test_two_links_of_one_address_that_have_both_begun_do_not_wait_for_each_other(
    runtime: Runtime, password_hash: str
) -> None:
    tokens = []
    for browser in ("one", "two"):
        async with runtime.transaction(PUBLIC) as work:
            wanted = UserWanted(email=EMAIL if browser == "one" else EMAIL.upper(), name="Noor", locale="en")
            made = await sign_ups.request_sign_up(work, wanted, password_hash=password_hash, browser=browser)
        tokens.append((browser, sign_ups.sign_up_token(runtime, made.id)))
    async with runtime.transaction(OPERATOR) as holder:
        # Each has found its link valid by the time at which it could open the account.
        await holder.db.execute("lock table users in share mode")
        uses = [
            asyncio.create_task(
                operations.verify_sign_up(
                    runtime.work(PUBLIC), token, browser=browser, password="", address="192.0.2.1", user_agent=""
                )
            )
            for browser, token in tokens
        ]
        await wait_for_locks(runtime, 2)
    results = await asyncio.gather(*uses, return_exceptions=True)

    assert sorted(type(each).__name__ for each in results) == ["InvalidSignUpLink", "SignedIn"]
    assert await count(runtime, "sign_ups") == 0


async def send_reset_link(runtime: Runtime, user: User) -> str:
    """Make a link to a new password, and return its token."""
    reset_id = new_id()
    async with runtime.transaction(OPERATOR) as work:
        sealed = runtime.cipher.seal(resets.PURPOSE, user.email.encode(), owner=b"")
        made = await resets.begin_reset(work, reset_id, resets.ResetRequested(email=sealed))
    assert isinstance(made, resets.Reset)
    return resets.reset_token(runtime, reset_id)


async def test_of_two_uses_of_a_reset_link_that_have_both_begun_one_counts(runtime: Runtime, user: User) -> None:
    token = await send_reset_link(runtime, user)
    async with runtime.transaction(OPERATOR) as holder:
        await holder.db.execute("select 1 from users where id = $1 for update", user.id)
        uses = [
            asyncio.create_task(resets.reset_password(runtime.work(PUBLIC), token, new=f"password number {n}"))
            for n in range(2)
        ]
        await wait_for_locks(runtime, 2)
    results = await asyncio.gather(*uses, return_exceptions=True)

    assert sorted(type(each).__name__ for each in results) == ["InvalidResetLink", "User"]
    assert await runtime.pool.fetchval("select count(*) from events where type = 'user.password_changed'") == 1


async def test_a_reset_that_has_begun_before_the_password_was_changed_is_refused(
    runtime: Runtime, user: User, password_hash: str
) -> None:
    token = await send_reset_link(runtime, user)
    changed = password_hash[:-4] + "AAAA"
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_password_hash(work, user, changed)
        use = asyncio.create_task(resets.reset_password(runtime.work(PUBLIC), token, new=NEW))
        await wait_for_locks(runtime, 1)
    with pytest.raises(InvalidResetLink):
        await use

    assert await runtime.pool.fetchval("select password_hash from users where id = $1", user.id) == changed


async def test_a_sign_up_against_an_account_made_by_a_provider(
    client: httpx2.AsyncClient, runtime: Runtime, link: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor")

    async def provision() -> bool:
        actor = Actor(kind=ActorKind.SCIM, organization_id=organization.id)
        async with runtime.transaction(actor) as work:
            await scim.create_user(work, {"schemas": [USER], "userName": EMAIL, "name": {"formatted": "Noor"}})
        return True

    opened, provisioned = await asyncio.gather(client.post(link), provision(), return_exceptions=True)

    assert isinstance(opened, httpx2.Response)
    assert provisioned is True or isinstance(provisioned, NotUnique)
    # Whoever comes second finds the account: the provider may add it, and nobody has used it when the link is.
    assert opened.status_code == 303
    assert await count(runtime, "users") == 1
    assert (await client.post(link)).status_code == 403


async def test_a_sign_up_after_an_invitation_of_the_same_address_leads_to_the_sign_in(
    client: httpx2.AsyncClient, runtime: Runtime, link: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor")
        user = await people.welcome_user(work, UserWanted(email=EMAIL, name="Noor"))
        await members.add_organization_member(work, organization, user)
        invitation_id = await invitations.make_invitation(work, organization, user)
    answer = await client.post(link)
    invited = f"/invite/{invitations.invitation_token(runtime, invitation_id)}"

    assert (answer.status_code, "already have an account" in read_page(answer).text) == (403, True)
    assert "set-cookie" not in answer.headers
    assert (await client.post(invited, data={"password": OTHER})).status_code == 303
    client.cookies.clear()
    assert (await sign_in(client, EMAIL, NEW)).status_code == 401
    assert (await sign_in(client, EMAIL, OTHER)).status_code == 303


async def test_a_sign_up_against_an_account_made_at_the_same_moment(
    client: httpx2.AsyncClient, runtime: Runtime, link: str
) -> None:
    async def make() -> bool:
        async with runtime.transaction(OPERATOR) as work:
            await people.welcome_user(work, UserWanted(email=EMAIL.upper(), name="Noor"))
        return True

    opened, made = await asyncio.gather(client.post(link), make(), return_exceptions=True)

    assert isinstance(opened, httpx2.Response)
    assert (opened.status_code == 303) is isinstance(made, EmailAlreadyExists)
    assert (made is True) is (opened.status_code == 403)
    assert await count(runtime, "users") == 1


async def test_a_username_that_was_taken_meanwhile_is_numbered(
    client: httpx2.AsyncClient, runtime: Runtime, link: str
) -> None:
    async def take() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await people.welcome_user(
                work, UserWanted(email="other@haddad.example", name="Noor", username="noor-haddad")
            )

    opened, taken = await asyncio.gather(client.post(link), take(), return_exceptions=True)
    rows = await runtime.pool.fetch("select username from users")

    assert isinstance(opened, httpx2.Response)
    assert opened.status_code == 303
    # Whoever asks for a certain name and comes second is refused; whoever has none chosen gets the next one.
    expected = {"noor-haddad", "noor-haddad-2"} if taken is None else {"noor-haddad"}
    assert {row["username"] for row in rows} == expected


async def test_a_username_taken_before_the_link_is_used_is_numbered(
    client: httpx2.AsyncClient, runtime: Runtime, link: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.welcome_user(work, UserWanted(email="other@haddad.example", name="Noor", username="noor-haddad"))

    assert (await client.post(link)).status_code == 303
    assert await runtime.pool.fetchval("select username from users where lower(email) = $1", EMAIL) == "noor-haddad-2"


async def test_somebody_elses_sign_up_with_my_address_never_gets_their_password_in(
    settings: Settings, clock: MovingClock, runtime: Runtime, read_mail: ReadMail
) -> None:
    async with visiting(settings, clock) as attacker, visiting(settings, clock) as owner:
        await send(attacker, password=OTHER)
        await send(owner)
        first, second = [path_in(message, LINK) for message in await read_mail(EMAIL)]
        by_mistake = await owner.post(first, data={"password": NEW})
        right = await owner.post(second)
        stolen = await sign_in(attacker, EMAIL, OTHER)

    assert [by_mistake.status_code, right.status_code, stolen.status_code] == [400, 303, 401]
