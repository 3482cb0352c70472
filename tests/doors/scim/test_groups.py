"""SCIM groups are the teams of an organization: as Okta and Entra send them, and with hostile input."""

import asyncio
from typing import Any
from uuid import UUID

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import Organization
from openslot.domains.teams import operations as teams
from openslot.doors.scim.attributes import GROUP
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.doors.scim.groups import create, find, members_of, patch, send, users
from tests.doors.scim.support import assert_refused
from tests.support.provisioning import BASE, DOMAIN, Provider, found_organization

__all__ = ["users"]


async def test_okta_pushes_a_group(provider: Provider, users: list[str]) -> None:
    first, second, third = users
    asked = "/Groups?filter=displayName%20eq%20%22Sales%22&startIndex=1&count=100"
    assert (await send(provider, "GET", asked))["totalResults"] == 0
    made = await create(provider, "Sales", first, externalId="00g1")
    path = f"/Groups/{made['id']}"
    assert made["displayName"] == "Sales"
    assert made["members"] == [
        {
            "value": first,
            "type": "User",
            "$ref": f"{made['meta']['location'].partition('/Groups')[0]}/Users/{first}",
        }
    ]
    assert made["meta"]["resourceType"] == "Group"
    assert (await send(provider, "GET", asked))["Resources"] == [made]

    # The name is changed with an object that has the id too, and without a path.
    renamed = await patch(
        provider, made["id"], {"op": "replace", "value": {"id": made["id"], "displayName": "Selling"}}
    )
    assert (renamed.status_code, renamed.json()["displayName"]) == (200, "Selling")
    await patch(
        provider,
        made["id"],
        {"op": "add", "path": "members", "value": [{"value": second, "display": "u1"}, {"value": third}]},
    )
    assert await members_of(provider, made["id"]) == set(users)
    await patch(provider, made["id"], {"op": "remove", "path": f'members[value eq "{first}"]'})
    assert await members_of(provider, made["id"]) == {second, third}
    await patch(provider, made["id"], {"op": "replace", "path": "members", "value": [{"value": first}]})
    assert await members_of(provider, made["id"]) == {first}
    whole = await send(provider, "PUT", path, {**made, "displayName": "Sales", "members": [{"value": second}]})
    assert [each["value"] for each in whole["members"]] == [second]

    await send(provider, "DELETE", path, status=204)
    assert_refused(await provider.send("GET", path), 404)


async def test_entra_pushes_a_group(provider: Provider, users: list[str]) -> None:
    first, second, third = users
    nobody = "/Groups?excludedAttributes=members&filter=externalId+eq+%228aa1a0c0-c4c3-4bc0-b4a5-2ef676900159%22"
    assert (await send(provider, "GET", nobody))["totalResults"] == 0
    body = {
        "schemas": [GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
        "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
        "displayName": "Field Sales",
        "meta": {"resourceType": "Group"},
    }
    made = await send(provider, "POST", "/Groups", body, status=201)
    assert "members" not in made
    path = f"/Groups/{made['id']}?excludedAttributes=members"
    added = await patch(provider, made["id"], {"op": "Add", "path": "members", "value": [{"value": first}]})
    assert added.status_code == 200
    many = [{"op": "Add", "path": "members", "value": [{"$ref": None, "value": each}]} for each in (first, second)]
    await patch(provider, made["id"], *many)
    assert await members_of(provider, made["id"]) == {first, second}
    shown = await send(provider, "GET", path)
    assert (shown["displayName"], "members" in shown) == ("Field Sales", False)
    both = f'id eq "{made["id"]}" and members eq "{second}"'
    assert (await find(provider, both, excludedAttributes="members"))["totalResults"] == 1
    assert (await find(provider, f'id eq "{made["id"]}" and members eq "{third}"'))["totalResults"] == 0

    await patch(provider, made["id"], {"op": "Remove", "path": "members", "value": [{"value": first}]})
    assert await members_of(provider, made["id"]) == {second}
    await patch(provider, made["id"], {"op": "Replace", "path": "displayName", "value": "Field"})
    assert (await send(provider, "GET", path))["displayName"] == "Field"
    # Removing somebody who is not in it, and adding somebody who is, changes nothing.
    before = await send(provider, "GET", f"/Groups/{made['id']}")
    await patch(provider, made["id"], {"op": "Remove", "path": "members", "value": [{"value": first}]})
    await patch(provider, made["id"], {"op": "Add", "path": "members", "value": [{"value": second}]})
    assert await send(provider, "GET", f"/Groups/{made['id']}") == before
    await patch(provider, made["id"], {"op": "Remove", "path": "members"})
    assert await members_of(provider, made["id"]) == set()


async def test_what_a_team_says_of_its_members_survives_what_the_provider_sends(
    provider: Provider, users: list[str], runtime: Runtime, organization: Organization
) -> None:
    made = await create(provider, "Sales", users[0])
    async with runtime.transaction(OPERATOR) as work:
        team = await teams.get_team(work, organization.id, UUID(made["id"]))
        (listed,) = await teams.list_team_members(work, team)
        await teams.change_team_member(work, replace(listed.member, weight=7))

    await send(
        provider, "PUT", f"/Groups/{made['id']}", {"displayName": "Sales", "members": [{"value": u} for u in users]}
    )

    found = await teams.list_team_members(runtime.work(OPERATOR), team)
    assert sorted(each.member.weight for each in found) == [7, 100, 100]


async def test_users_show_their_groups(provider: Provider, users: list[str]) -> None:
    made = await create(provider, "Sales", users[0])

    user = await provider.read(users[0])
    assert user["groups"] == [{"value": made["id"], "display": "Sales", "type": "direct"}]
    assert "groups" not in await provider.read(users[1])
    (listed,) = (await provider.find(f'userName eq "u0@{DOMAIN}"'))["Resources"]
    assert listed == user
    answer = await provider.send("GET", f"/Users/{users[0]}?excludedAttributes=groups")
    assert "groups" not in answer.json()
    # A provider sends a user back as it was read; what it says of groups is ignored.
    assert (await provider.send("PUT", f"/Users/{users[0]}", {**user, "groups": []})).json()["groups"] == user["groups"]
    refused = await provider.patch(users[0], {"op": "replace", "path": "groups", "value": []})
    assert_refused(refused, 400, "mutability")


async def test_put_without_members_leaves_them(provider: Provider, users: list[str]) -> None:
    made = await create(provider, "Sales", *users, externalId="g")

    changed = await send(provider, "PUT", f"/Groups/{made['id']}", {"displayName": "Selling"})

    assert ("externalId" in changed, changed["displayName"]) == (False, "Selling")
    assert await members_of(provider, made["id"]) == set(users)
    await send(provider, "PUT", f"/Groups/{made['id']}", {"displayName": "Selling", "members": []})
    assert await members_of(provider, made["id"]) == set()


@pytest.mark.parametrize(
    ("filter_", "names"),
    [
        ('displayName eq "SALES"', ["Sales"]),
        ('displayName sw "s"', ["Sales", "Support"]),
        ('displayName co "up"', ["Support"]),
        ('externalId eq "g1"', ["Sales"]),
        ('externalId eq "G1"', []),
        (f'{GROUP}:displayName eq "Sales"', ["Sales"]),
        ('displayName sw "s" and externalId eq "g2"', ["Support"]),
        ('id eq "nothing"', []),
        ('members.value eq "{first}"', ["Sales"]),
        ('members[value eq "{first}"]', ["Sales"]),
        ('members eq "x\\u0027; drop table teams"', []),
    ],
)
async def test_groups_are_found(provider: Provider, users: list[str], filter_: str, names: list[str]) -> None:
    await create(provider, "Sales", users[0], externalId="g1")
    await create(provider, "Support", externalId="g2")

    found = await find(provider, filter_.replace("{first}", users[0]))

    assert [each["displayName"] for each in found["Resources"]] == names
    assert found["totalResults"] == len(names)


@pytest.mark.parametrize(
    "filter_",
    [
        'displayName ne "a"',
        'userName eq "a"',
        "displayName eq 1",
        'displayName eq "a" or externalId eq "b"',
        "displayName pr",
        'members co "a"',
        'members[display eq "a"]',
        "displayName eq",
        'meta.created gt "2011"',
        'displayName eq "\\u0000"',
    ],
)
async def test_other_filters_are_refused(provider: Provider, filter_: str) -> None:
    answer = await provider.client.get(
        f"{BASE}/Groups", params={"filter": filter_}, headers={"Authorization": provider.headers["Authorization"]}
    )

    assert_refused(answer, 400, "invalidFilter")


async def test_pages_and_searches(provider: Provider) -> None:
    names = [(await create(provider, f"Team {n}"))["displayName"] for n in range(5)]

    page = await send(provider, "GET", "/Groups?startIndex=2&count=2")
    assert ([each["displayName"] for each in page["Resources"]], page["totalResults"], page["startIndex"]) == (
        names[1:3],
        5,
        2,
    )
    assert (await send(provider, "GET", "/Groups?count=0"))["totalResults"] == 5
    assert (await send(provider, "GET", "/Groups?startIndex=-1&count=-1"))["Resources"] == []
    searched = await send(provider, "POST", "/Groups/.search", {"filter": 'displayName eq "Team 3"', "count": 1})
    assert [each["displayName"] for each in searched["Resources"]] == ["Team 3"]
    await provider.create(f"li@{DOMAIN}", displayName="Team 3")
    both = await send(provider, "POST", "/.search", {"filter": 'displayName eq "Team 3"'})
    assert [each["meta"]["resourceType"] for each in both["Resources"]] == ["User", "Group"]
    assert both["totalResults"] == 2
    last = await send(provider, "POST", "/.search", {"startIndex": 5, "count": 9})
    assert ([each["displayName"] for each in last["Resources"]], last["totalResults"]) == (names[3:], 6)
    users = await send(provider, "POST", "/.search", {"filter": f'userName eq "li@{DOMAIN}"'})
    assert users["totalResults"] == 1
    refused = await provider.send("POST", "/.search", {"filter": 'nothing eq "a"'})
    assert_refused(refused, 400, "invalidFilter")
    only = (await send(provider, "GET", "/Groups?attributes=displayName&count=1"))["Resources"][0]
    assert set(only) == {"schemas", "id", "displayName"}


async def test_versions(provider: Provider, users: list[str]) -> None:
    made = await create(provider, "Sales")
    path = f"/Groups/{made['id']}"
    answer = await provider.send("GET", path)
    assert answer.headers["etag"] == made["meta"]["version"]
    assert (await provider.send("GET", path, If_None_Match=answer.headers["etag"])).status_code == 304
    operation = {"Operations": [{"op": "add", "path": "members", "value": [{"value": users[0]}]}]}
    changed = await provider.send("PATCH", path, operation, If_Match=answer.headers["etag"])
    assert changed.status_code == 200
    assert changed.headers["etag"] != answer.headers["etag"]
    for method, body in (("PATCH", operation), ("PUT", {"displayName": "A"}), ("DELETE", None)):
        assert_refused(await provider.send(method, path, body, If_Match=answer.headers["etag"]), 412)
    assert (await provider.send("DELETE", path, If_Match=changed.headers["etag"])).status_code == 204


BODIES: list[tuple[Any, int, str | None]] = [
    ({}, 400, "invalidValue"),
    ({"displayName": ""}, 400, "invalidValue"),
    ({"displayName": None}, 400, "invalidValue"),
    ({"displayName": 7}, 400, "invalidValue"),
    ({"displayName": ["a"]}, 400, "invalidValue"),
    ({"displayName": "a" * 201}, 400, "invalidValue"),
    ({"displayName": "a\x00b"}, 400, "invalidValue"),
    ({"displayName": "a\nb"}, 400, "invalidValue"),
    ({"displayName": "A", "externalId": {"a": 1}}, 400, "invalidValue"),
    ({"displayName": "A", "members": [{"value": "nobody"}]}, 400, "invalidValue"),
    ({"displayName": "A", "members": [{"value": str(new_id())}]}, 400, "invalidValue"),
    ({"displayName": "A", "members": [{}]}, 400, "invalidValue"),
    ({"displayName": "A", "members": [7]}, 400, "invalidValue"),
    ({"displayName": "A", "members": [{"value": "x\x00"}]}, 400, "invalidValue"),
    ({"displayName": "A", "members": [{"value": "x", "type": "Group"}]}, 400, "invalidValue"),
    ({"displayName": "A", "members": [{"value": "x"}] * 2001}, 400, "invalidValue"),
    ({"displayName": "TAKEN"}, 409, "uniqueness"),
]


@pytest.mark.parametrize(("body", "status", "scim_type"), BODIES)
async def test_wrong_groups_are_refused(provider: Provider, body: Any, status: int, scim_type: str | None) -> None:
    await create(provider, "Taken")

    assert_refused(await provider.send("POST", "/Groups", body), status, scim_type)
    assert (await send(provider, "GET", "/Groups"))["totalResults"] == 1


OPERATIONS: list[tuple[Any, str]] = [
    ([], "invalidSyntax"),
    ("x", "invalidSyntax"),
    ([7], "invalidSyntax"),
    ([{"op": "move"}], "invalidSyntax"),
    ([{"op": "add", "path": "members", "value": [{"value": "nobody"}]}], "invalidValue"),
    ([{"op": "add", "path": "members"}], "invalidValue"),
    ([{"op": "add", "value": [1]}], "invalidValue"),
    ([{"op": "remove"}], "noTarget"),
    ([{"op": "remove", "path": "displayName"}], "mutability"),
    ([{"op": "replace", "path": "displayName", "value": ""}], "invalidValue"),
    ([{"op": "replace", "path": "id", "value": "x"}], "mutability"),
    ([{"op": "remove", "path": "members[value eq]"}], "invalidFilter"),
    ([{"op": "remove", "path": 'members[value eq "a"'}], "invalidPath"),
    ([{"op": "remove", "path": 7}], "invalidPath"),
    ([{"op": "replace", "path": 'members[value eq "a"].display', "value": "x"}], "noTarget"),
    ([{"op": "replace", "path": "displayName", "value": "New"}, {"op": "move"}], "invalidSyntax"),
    ([{"op": "add", "path": "externalId", "value": "x"}] * 101, "invalidSyntax"),
]


@pytest.mark.parametrize(("operations", "scim_type"), OPERATIONS)
async def test_wrong_changes_are_refused_and_change_nothing(
    provider: Provider, users: list[str], operations: Any, scim_type: str
) -> None:
    made = await create(provider, "Sales", users[0])

    assert_refused(await provider.send("PATCH", f"/Groups/{made['id']}", {"Operations": operations}), 400, scim_type)
    assert await send(provider, "GET", f"/Groups/{made['id']}") == made


async def test_unknown_attributes_are_ignored(provider: Provider) -> None:
    made = await create(provider, "Sales", roles=["x"], id="mine", meta={"version": "9"})
    assert made["id"] != "mine"

    answer = await patch(provider, made["id"], {"op": "add", "path": "roles", "value": "x"})

    assert (answer.status_code, answer.json()) == (200, made)


async def test_nobody_sees_or_takes_what_another_organization_has(
    provider: Provider, users: list[str], client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    _, token = await found_organization(runtime, "quay", "quay.example")
    other = Provider(client, token)
    made = await create(provider, "Sales", users[0])
    path = f"/Groups/{made['id']}"
    theirs = await create(other, "Sales")

    assert (await send(other, "GET", "/Groups"))["Resources"] == [theirs]
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body = {"displayName": "A", "Operations": [{"op": "replace", "value": {"displayName": "A"}}]}
        assert_refused(await other.send(method, path, None if method in {"GET", "DELETE"} else body), 404)
    taken = await patch(other, theirs["id"], {"op": "add", "path": "members", "value": [{"value": users[0]}]})
    assert_refused(taken, 400, "invalidValue")
    assert await send(provider, "GET", path) == made


async def test_two_providers_at_once_lose_nothing(provider: Provider, users: list[str]) -> None:
    made = await create(provider, "Sales")
    answers = await asyncio.gather(
        *(patch(provider, made["id"], {"op": "add", "path": "members", "value": [{"value": each}]}) for each in users),
        *(patch(provider, made["id"], {"op": "add", "path": "members", "value": [{"value": each}]}) for each in users),
    )

    assert {answer.status_code for answer in answers} == {200}
    assert await members_of(provider, made["id"]) == set(users)
