"""Changes of an address that meet each other, a new password or a provider at the same moment: one of them counts."""

import asyncio

import httpx2
import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.store import lock_host
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.sign_up.conftest import ReadMail, path_in
from tests.doors.web.sign_up.support import CHANGE_LINK, CHANGE_PAGE, WANTED, add_other, address_of, ask_for_change
from tests.support.host import open_session
from tests.support.locks import wait_for_locks
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")


@pytest.fixture
async def link(member: httpx2.AsyncClient, read_mail: ReadMail) -> str:
    """Ask for a new address and find the link in the mail."""
    await ask_for_change(member)
    return path_in((await read_mail(WANTED))[-1], CHANGE_LINK)


async def test_of_two_uses_at_once_one_counts(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, link: str
) -> None:
    answers = await asyncio.gather(*(member.post(link) for _ in range(4)))

    assert sum(each.headers.get("location") == "/account?done=email" for each in answers) == 1
    assert await runtime.pool.fetchval("select count(*) from events where type = 'user.changed'") == 1
    assert await runtime.pool.fetchval("select count(*) from sessions") == 1


async def test_a_provider_that_describes_the_user_at_the_same_moment_is_seen(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, link: str
) -> None:
    async with runtime.transaction(OPERATOR) as describing:
        await lock_host(describing.db, user.id)
        harbor = await organizations.add_organization(describing, name="Harbor", slug="harbor")
        profile = {"userName": user.email}
        await members.add_described_member(describing, harbor, user, profile=profile, said_active=True)
        use = asyncio.create_task(member.post(link))
        await wait_for_locks(runtime, 1)
    answer = await use

    assert (answer.status_code, "Harbor manages" in read_page(answer).text) == (409, True)
    assert await address_of(runtime, user) == user.email


async def test_a_password_that_is_changed_at_the_same_moment_ends_the_link(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, password_hash: str, link: str
) -> None:
    async with runtime.transaction(OPERATOR) as changing:
        await accounts.set_password_hash(changing, user, password_hash[:-4] + "AAAA")
        use = asyncio.create_task(member.post(link))
        await wait_for_locks(runtime, 1)

    assert (await use).status_code == 403
    assert await address_of(runtime, user) == user.email


async def test_of_two_changes_asked_for_at_once_one_can_be_confirmed(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail
) -> None:
    wanted = [f"mara@number{n}.example" for n in range(3)]
    answers = await asyncio.gather(*(ask_for_change(member, each) for each in wanted))
    sent = [message for each in wanted for message in await read_mail(each)]

    assert [each.status_code for each in answers] == [303, 303, 303]
    assert len(sent) == 1
    assert (await member.post(path_in(sent[0], CHANGE_LINK))).status_code == 303
    assert await address_of(runtime, user) == sent[0]["To"].addresses[0].addr_spec


async def test_of_two_users_who_want_one_address_one_gets_it(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, password_hash: str, read_mail: ReadMail, link: str
) -> None:
    li = await add_other(runtime, password_hash=password_hash)
    others = await open_session(runtime, li)
    await member.post(CHANGE_PAGE, data={"email": WANTED, "current": PASSWORD}, headers=others)
    (_, second) = [path_in(message, CHANGE_LINK) for message in await read_mail(WANTED)]
    answers = await asyncio.gather(member.post(link), member.post(second, headers=others))

    assert sorted(each.status_code for each in answers) == [303, 409]
    assert sorted([await address_of(runtime, user) == WANTED, await address_of(runtime, li) == WANTED]) == [False, True]
