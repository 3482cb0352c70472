"""A provider changes the addresses of members and tells the former one; an owner's account keeps its address."""

import asyncio

import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.errors import InvalidInvitation
from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User, UserWanted
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.store import lock_host
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages, part
from tests.support.locks import wait_for_locks
from tests.support.passwords import PASSWORD
from tests.support.provisioning import DOMAIN, Provider, work_ahead

NEW = f"mara.berg@{DOMAIN}"
RENAME = {"op": "replace", "value": {"userName": NEW, "emails": [{"value": NEW, "primary": True}]}}


@pytest.fixture
async def mara(runtime: Runtime) -> User:
    """A host inside the organization's domain."""
    async with runtime.transaction(OPERATOR) as work:
        return await people.welcome_user(work, UserWanted(email=f"mara@{DOMAIN}", name="Mara", username="mara"))


async def find_address(runtime: Runtime, user: User) -> str:
    return (await accounts.get_user(runtime.work(OPERATOR), user.id)).email


async def find_member(provider: Provider, email: str) -> str:
    return str((await provider.find(f'userName eq "{email}"'))["Resources"][0]["id"])


async def test_a_members_address_follows_the_provider_and_the_former_one_is_told(
    provider: Provider, runtime: Runtime, mara: User
) -> None:
    made = await provider.create(mara.email)
    await work_ahead(runtime)
    await provider.patch(made["id"], {"op": "replace", "path": "name.formatted", "value": "Mara Berg"})
    await provider.patch(made["id"], RENAME)
    await work_ahead(runtime)

    assert await find_address(runtime, mara) == NEW
    told = [message for message in await messages(runtime, mara.email) if "was changed" in message["subject"]]
    assert len(told) == 1
    assert NEW in part(told[0], "text/plain")


@pytest.mark.parametrize("is_own", [True, False], ids=["of this organization", "of another one"])
async def test_an_owner_keeps_the_address_and_is_told(
    provider: Provider, runtime: Runtime, organization: Organization, mara: User, is_own: bool
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        if is_own:
            await add_organization_member(work, organization, mara, role=Role.OWNER)
        else:
            other = await add_organization(work, name="Choir", slug="choir", plan=Plan.FREE)
            await add_organization_member(work, other, mara, role=Role.OWNER)
            await add_organization_member(work, organization, mara)
    member_id = await find_member(provider, mara.email)
    answer = await provider.patch(member_id, RENAME)
    await work_ahead(runtime)

    assert (answer.status_code, answer.json()["userName"]) == (200, NEW)
    assert await find_address(runtime, mara) == mara.email
    assert await messages(runtime, NEW) == []
    told = [message for message in await messages(runtime, mara.email) if "keeps its" in message["subject"]]
    assert len(told) == 1
    assert NEW in part(told[0], "text/plain")


async def test_who_is_made_an_owner_at_the_same_moment_keeps_the_address(
    provider: Provider, runtime: Runtime, organization: Organization, mara: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await add_organization_member(work, organization, mara)
    member_id = await find_member(provider, mara.email)
    async with runtime.transaction(OPERATOR) as promoting:
        await lock_host(promoting.db, mara.id)
        await promoting.db.execute("update memberships set role = 'owner' where user_id = $1", mara.id)
        change = asyncio.create_task(provider.patch(member_id, RENAME))
        await wait_for_locks(runtime, 1)
    answer = await change

    assert answer.status_code == 200
    assert await find_address(runtime, mara) == mara.email


async def test_a_link_that_was_sent_to_the_former_address_is_no_longer_valid(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    made = await provider.create(f"john.smith@{DOMAIN}")
    async with runtime.transaction(OPERATOR) as work:
        other = await add_organization(work, name="Choir", slug="choir", plan=Plan.FREE)
        user = await accounts.get_user_by_email(work, f"john.smith@{DOMAIN}")
        await add_organization_member(work, other, user)
        await invitations.make_invitation(work, other, user)
    former = [
        invitations.invitation_token(runtime, row["id"])
        for row in await runtime.pool.fetch("select id from invitations")
    ]
    await provider.patch(made["id"], RENAME)
    await work_ahead(runtime)

    assert len(former) == 2
    for token in former:
        assert (await provider.client.post(f"/invite/{token}", data={"password": PASSWORD})).status_code == 403
    (message,) = await messages(runtime, NEW)
    link = invitations.invitation_url(runtime, await runtime.pool.fetchval("select id from invitations"))
    assert link in part(message, "text/plain")


async def test_an_invitation_does_not_replace_a_password_that_was_chosen_meanwhile(
    provider: Provider, runtime: Runtime, organization: Organization, password_hash: str
) -> None:
    await provider.create(f"li@{DOMAIN}")
    async with runtime.transaction(OPERATOR) as work:
        token = invitations.invitation_token(runtime, await work.db.fetchval("select id from invitations"))
        seen = await invitations.get_invitation(work, token)
        await accounts.set_password_hash(work, seen.user, password_hash)
    with pytest.raises(InvalidInvitation):
        async with runtime.transaction(PUBLIC) as work:
            await people.use_accepted_invitation(work, seen, password_hash="another")

    assert await runtime.pool.fetchval("select password_hash from users where id = $1", seen.user.id) == password_hash
    assert await runtime.pool.fetchval("select used_at from invitations") is None
