"""Nobody reaches what is not theirs: other organizations, other doors, strangers' accounts."""

import asyncio
import re
from typing import Any

import httpx2
import msgspec
import pytest

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.access.models import CredentialKind
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.doors.scim.attributes import GROUP
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.http.routes import OPERATIONS
from tests.doors.scim.groups import PATCH_OP
from tests.doors.scim.groups import create as create_group
from tests.doors.scim.groups import find as find_groups
from tests.doors.scim.groups import send as send_group
from tests.doors.scim.support import LI, assert_refused
from tests.support.leavers import book_one, statuses
from tests.support.live import connect, serving
from tests.support.provisioning import BASE, DOMAIN, SUSPEND, Provider, found_organization

OUTSIDE = "mara@lindqvist.example"


async def rival_of(runtime: Runtime, client: httpx2.AsyncClient, plan: Plan = Plan.BUSINESS) -> Provider:
    _, token = await found_organization(runtime, "rival", "rival.example", plan)
    return Provider(client, token)


# Every operation that names a user or a group by its id, those that remove it last, and what a provider sends to it.
BODIES: dict[str, Any] = {
    "GET /Users/{user_id}": None,
    "GET /Groups/{group_id}": None,
    "PUT /Users/{user_id}": LI,
    "PUT /Groups/{group_id}": {"schemas": [GROUP], "displayName": "Sales"},
    "PATCH /Users/{user_id}": {"schemas": [PATCH_OP], "Operations": [SUSPEND]},
    "PATCH /Groups/{group_id}": {
        "schemas": [PATCH_OP],
        "Operations": [{"op": "replace", "path": "displayName", "value": "Support"}],
    },
    "DELETE /Users/{user_id}": None,
    "DELETE /Groups/{group_id}": None,
}
# What every organization is told alike.
SAME_FOR_ALL = {"GET /Schemas/{urn}", "GET /ResourceTypes/{name}"}
NOBODY = "01a1e06c-f814-7ee3-997b-36d9b452c416"


def test_every_operation_that_names_something_by_its_id_is_tried() -> None:
    named = {f"{one.method} {one.path.removeprefix(BASE)}" for one in OPERATIONS if one.path.startswith(f"{BASE}/")}

    assert {each for each in named if "{" in each} == BODIES.keys() | SAME_FOR_ALL


async def ask(provider: Provider, line: str, object_id: str) -> httpx2.Response:
    """Send what an operation takes."""
    method, _, template = line.partition(" ")
    return await provider.send(method, re.sub(r"\{\w+\}", object_id, template), BODIES[line])


async def test_another_organizations_users_and_groups_are_like_none(provider: Provider, runtime: Runtime) -> None:
    made = (await provider.send("POST", "/Users", LI)).json()
    sales = await create_group(provider, "Sales", made["id"])
    li = await provider.read(made["id"])
    rival = await rival_of(runtime, provider.client)
    own = await rival.create("other@rival.example")
    own_group = await create_group(rival, "Sales", own["id"])
    for line in BODIES:
        object_id = (li if "user_id" in line else sales)["id"]
        theirs, nobody = [await ask(rival, line, each) for each in (object_id, NOBODY)]

        assert_refused(theirs, 404)
        assert theirs.content == nobody.content, line
    for filter_ in (f'id eq "{li["id"]}"', 'userName co ""', 'externalId eq "00u7"', 'emails.value co "@"'):
        assert {each["id"] for each in (await rival.find(filter_))["Resources"]} <= {own["id"]}
    for filter_ in (f'id eq "{sales["id"]}"', 'displayName co ""', f'members.value eq "{li["id"]}"'):
        assert {each["id"] for each in (await find_groups(rival, filter_))["Resources"]} <= {own_group["id"]}
    for object_id in (li["id"], sales["id"]):
        searched = await rival.send("POST", "/.search", {"filter": f'id eq "{object_id}"'})
        assert searched.json()["totalResults"] == 0
    for member in (li["id"], NOBODY):
        body = {"schemas": [GROUP], "displayName": "Sales", "members": [{"value": member}]}
        refused = await rival.send("PUT", f"/Groups/{own_group['id']}", body)
        assert_refused(refused, 400, "invalidValue")
        assert refused.json()["detail"].replace(member, "ID") == "members: ID is not a user of this organization"

    assert await provider.read(li["id"]) == li
    assert await send_group(provider, "GET", f"/Groups/{sales['id']}") == sales
    # So it is the id alone for which the rival was refused: who has it is not.
    for line in BODIES:
        answer = await ask(provider, line, (li if "user_id" in line else sales)["id"])
        assert answer.status_code == (204 if line.startswith("DELETE") else 200), (line, answer.text)


async def test_each_credential_opens_its_own_door_alone(
    provider: Provider, runtime: Runtime, token: str, api_key: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        agent_key, _ = await access.create_agent_key(work, "support", name="test")

    for key in (api_key, agent_key, token[:-1], token + "x", "x"):
        answer = await provider.client.get(f"{BASE}/Users", headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code in {401, 429}
        await runtime.pool.execute("delete from rate_log")
    for path in ("/api/v1/me", "/api/v1/bookings"):
        answer = await provider.client.get(path, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401
        await runtime.pool.execute("delete from rate_log")


async def test_a_token_that_is_revoked_expired_or_unknown_is_refused(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    assert (await provider.send("GET", "/Users")).status_code == 200
    await runtime.pool.execute("update scim_tokens set expires_at = now()")
    assert_refused(await provider.send("GET", "/Users"), 401)
    await runtime.pool.execute("update scim_tokens set expires_at = null")
    assert (await provider.send("GET", "/Users")).status_code == 200
    async with runtime.transaction(OPERATOR) as work:
        found = await access.list_credentials(work, CredentialKind.SCIM_TOKEN, organization.id)
        await access.revoke_credential(work, CredentialKind.SCIM_TOKEN, organization.id, found[0].id)
    answer = await provider.send("GET", "/Users")
    assert_refused(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_without_the_business_plan_nothing_is_open(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await organizations.change_organization_plan(work, organization, Plan.PRO)
    assert_refused(await provider.send("GET", "/Users"), 403)
    async with runtime.transaction(OPERATOR) as work:
        await organizations.change_organization_plan(work, organization, Plan.BUSINESS, until=work.now)
    assert_refused(await provider.send("GET", "/ServiceProviderConfig"), 403)


async def test_a_token_has_a_limit_and_failures_have_a_gate(settings: Settings, token: str) -> None:
    chosen = msgspec.structs.replace(settings, limit_scim=3)
    async with serving(create_app(chosen)) as url, connect(url) as client:
        provider = Provider(client, token)
        answers = await asyncio.gather(*(provider.send("GET", "/Users") for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 429, 429]
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert_refused(refused, 429)
        assert int(refused.headers["retry-after"]) >= 1
        stranger = Provider(client, "svc_scim_nobody")
        answers = [await stranger.send("GET", "/Users") for _ in range(6)]
        assert [answer.status_code for answer in answers] == [401] * 5 + [429]
        assert_refused(answers[0], 401)
        assert_refused(answers[-1], 429)


async def link_mara(provider: Provider) -> dict[str, Any]:
    return await provider.create(OUTSIDE, name={"givenName": "Not", "familyName": "Mara"})


async def is_open(runtime: Runtime, user: User) -> bool:
    return (await accounts.get_user(runtime.work(OPERATOR), user.id)).disabled_at is None


@pytest.mark.parametrize("way", ["suspend", "delete", "created suspended"])
async def test_no_organization_can_close_a_strangers_calendar(
    provider: Provider, runtime: Runtime, user: User, way: str
) -> None:
    await book_one(runtime)
    if way == "created suspended":
        made = await provider.create(OUTSIDE, active=False)
    else:
        made = await link_mara(provider)
    if way == "suspend":
        answer = await provider.patch(made["id"], {"op": "replace", "path": "active", "value": False})
        assert answer.json()["active"] is False
    elif way == "delete":
        assert (await provider.send("DELETE", f"/Users/{made['id']}")).status_code == 204

    assert await statuses(runtime, user) == ["CONFIRMED"]
    assert await is_open(runtime, user)


async def test_a_strangers_account_keeps_its_name_address_and_plan(
    provider: Provider, runtime: Runtime, user: User
) -> None:
    made = await link_mara(provider)
    await provider.patch(
        made["id"],
        {"op": "replace", "path": "name.givenName", "value": "Evil"},
        {"op": "replace", "path": "userName", "value": f"taken@{DOMAIN}"},
    )
    after = await accounts.get_user(runtime.work(OPERATOR), user.id)

    assert (after.name, after.email, after.effective_plan) == (user.name, user.email, user.effective_plan)
    assert (await provider.read(made["id"]))["name"]["givenName"] == "Evil"


async def test_an_account_in_another_organizations_domain_is_out_of_reach(provider: Provider, runtime: Runtime) -> None:
    rival = await rival_of(runtime, provider.client)
    await rival.create("boss@rival.example")
    made = await provider.create("boss@rival.example")
    await runtime.pool.execute("update member_profiles set pending = false")
    await provider.patch(made["id"], {"op": "replace", "path": "active", "value": False})

    assert await runtime.pool.fetchval("select disabled_at from users where email = 'boss@rival.example'") is None


async def test_whoever_comes_first_adds_nobody_of_another_organizations_domain_without_their_consent(
    provider: Provider, runtime: Runtime
) -> None:
    rival = await rival_of(runtime, provider.client)
    made = await provider.create("boss@rival.example")
    own = await rival.create("boss@rival.example")

    assert (made["active"], own["active"]) == (True, True)
    joined = await runtime.pool.fetch("select active from memberships where id = any($1)", [made["id"], own["id"]])
    assert sorted(row["active"] for row in joined) == [False, True]
    assert await runtime.pool.fetchval("select active from memberships where id = $1", own["id"]) is True
    assert await runtime.pool.fetchval("select disabled_at from users where email = 'boss@rival.example'") is None


async def test_an_address_that_nobody_has_gets_an_account_outside_the_domain_too(
    provider: Provider, runtime: Runtime
) -> None:
    made = await provider.create("new@elsewhere.example")
    await provider.patch(made["id"], {"op": "replace", "path": "active", "value": False})

    assert await runtime.pool.fetchval("select disabled_at is not null from users") is True
