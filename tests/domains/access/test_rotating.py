"""A key is rotated once, and two rotations at once make one new key or secret, not two."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.errors import CredentialAlreadyRotated
from openslot.domains.access.models import Credential, CredentialKind
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.errors import SecretRecentlyRotated
from openslot.domains.webhooks.models import EndpointRef, EndpointWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime

# An assistant's token is replaced when it is refreshed.
KINDS = [kind for kind in CredentialKind if kind is not CredentialKind.ASSISTANT_TOKEN]


async def make(runtime: Runtime, user: User, kind: CredentialKind) -> tuple[UUID | str, Credential]:
    async with runtime.transaction(OPERATOR) as work:
        if kind is CredentialKind.API_KEY:
            return user.id, (await access.create_api_key(work, user, name="deploy"))[1]
        if kind is CredentialKind.AGENT_KEY:
            return "support", (await access.create_agent_key(work, "support", name="deploy"))[1]
        organization = await organizations.add_organization(work, name="Harbor", slug="harbor")
        return organization.id, (await access.create_scim_token(work, organization, name="deploy"))[1]


async def rotate(runtime: Runtime, kind: CredentialKind, owner: UUID | str, key: Credential) -> Credential:
    async with runtime.transaction(OPERATOR) as work:
        return (await access.rotate_credential(work, kind, owner, key.id, kept_for=timedelta(hours=24)))[1]


@pytest.mark.parametrize("kind", KINDS)
async def test_two_rotations_of_one_key_at_once_make_one_new_key(
    runtime: Runtime, user: User, kind: CredentialKind
) -> None:
    owner, key = await make(runtime, user, kind)

    results = await asyncio.gather(*(rotate(runtime, kind, owner, key) for _ in range(2)), return_exceptions=True)

    assert {type(each) for each in results} == {Credential, CredentialAlreadyRotated}
    kept = await access.list_credentials(runtime.work(OPERATOR), kind, owner)
    assert len([each for each in kept if each.name == "deploy"]) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_the_new_key_is_rotated_next_and_not_the_old_one(
    runtime: Runtime, user: User, kind: CredentialKind
) -> None:
    owner, first = await make(runtime, user, kind)
    second = await rotate(runtime, kind, owner, first)

    with pytest.raises(CredentialAlreadyRotated, match="already rotated"):
        await rotate(runtime, kind, owner, first)
    third = await rotate(runtime, kind, owner, second)

    kept = await access.list_credentials(runtime.work(OPERATOR), kind, owner)
    assert [each.id for each in kept if each.name == "deploy"] == [third.id, second.id, first.id]


async def test_two_rotations_of_a_webhooks_secret_at_once_leave_the_one_that_receivers_have(
    runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        endpoint, first = await webhooks.add_endpoint(work, user, EndpointWanted(url="https://hooks.example.org/a"))

    async def rotate_once() -> str:
        async with runtime.transaction(OPERATOR) as work:
            return (await webhooks.rotate_endpoint_secret(work, EndpointRef(endpoint.id, user.id)))[1]

    results = await asyncio.gather(rotate_once(), rotate_once(), return_exceptions=True)

    assert [type(each) for each in results if isinstance(each, Refusal)] == [SecretRecentlyRotated]
    row = await runtime.pool.fetchrow("select secret, previous_secret from webhook_endpoints")
    assert row is not None
    (shown,) = [each for each in results if isinstance(each, str)]
    assert [runtime.secrets.open(row[name]) for name in ("secret", "previous_secret")] == [shown, first]
